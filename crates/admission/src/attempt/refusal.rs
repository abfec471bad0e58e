//! Why a pod was refused: the kubelet's reason and message, and the cause behind them as a value.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use pod_spec::{ContainerName, ResourceName};
use topology_hint::Refusal;
use topology_policy::{MergeError, Merged};

use crate::attempt::not_linked::NotLinked;
use crate::attempt::preempt::NobodyToPreempt;
use crate::node::choice_error::ChoiceError;
use crate::node::fit::Shortage;
use crate::node::identity::Mismatch;

/// The admission reason, as the pod's status shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The merged hint does not satisfy the policy.
    TopologyAffinity,
    /// An allocation failed.
    UnexpectedAdmission,
    /// Whole cores were asked for and cannot be given.
    SmtAlignment,
    /// The node has not enough of a resource, wherever it is.
    OutOf(ResourceName),
    /// The pod leaves nothing for those of its containers that share.
    EmptyPodSharedPool,
    /// The node is not what the pod demands.
    Mismatch(Mismatch),
    /// An annotation by which the pod chooses its rules is wrong, or not allowed here.
    PodPolicy,
    /// Devices cannot be given as the option `devices.links` requires.
    DeviceLinks,
    /// What a provider of your own calls it.
    Other(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::OutOf(resource) => return f.pad(&format!("OutOf{resource}")),
            Self::TopologyAffinity => "TopologyAffinityError",
            Self::UnexpectedAdmission => "UnexpectedAdmissionError",
            Self::SmtAlignment => "SMTAlignmentError",
            Self::EmptyPodSharedPool => "EmptyPodSharedPoolError",
            Self::Mismatch(mismatch) => mismatch.reason(),
            Self::PodPolicy => "PodPolicyError",
            Self::DeviceLinks => "DeviceLinkError",
            Self::Other(reason) => reason,
        })
    }
}

/// What led to the refusal.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The policy does not accept the merged hint.
    NotAligned(Merged),
    /// The merge was cut before it had an exact answer.
    MergeFailed(MergeError),
    /// The CPU manager could not allocate.
    Cpus(cpu_manager::AllocateError),
    /// The memory manager could not allocate.
    Memory(memory_manager::AllocateError),
    /// The device manager could not allocate.
    Devices(device_manager::AllocateError),
    /// The node has not enough: every resource of which it lacks something, the one that is reported first.
    Shortage(Vec<Shortage>),
    /// The node is not what the pod demands.
    Mismatch(Mismatch),
    /// The pod chooses rules that it may not choose. The kubelet knows no such refusal.
    PodPolicy(ChoiceError),
    /// Devices cannot be given as the option `devices.links` requires. The kubelet knows no such refusal.
    NotLinked(Box<NotLinked>),
    /// The pod is critical, and ending other pods would not help.
    NobodyToPreempt(NobodyToPreempt),
    /// A provider of your own could not serve.
    Provider {
        /// Its name.
        name: String,
        /// Its refusal.
        refusal: Refusal,
    },
}

/// A pod that may not run, and why.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Refused {
    /// The kubelet's reason.
    pub reason: Reason,
    /// The kubelet's message, without the `Pod was rejected: ` that the pod's status puts before it.
    pub message: String,
    /// The container that could not be served; `None` when the pod as a whole could not.
    pub container: Option<ContainerName>,
    /// What was behind it.
    pub cause: Cause,
}

/// What a unit that could not be aligned was.
#[derive(Clone, Copy)]
pub(crate) enum AlignedAs {
    /// A container, or the containers of a pod together.
    Containers,
    /// A container of a pod whose resources at pod level are managed.
    PodByContainers,
    /// Such a pod.
    Pod,
}

impl Refused {
    pub(crate) fn not_aligned(container: Option<&ContainerName>, cause: Cause, aligned: AlignedAs) -> Self {
        let message = match aligned {
            AlignedAs::Containers => "Resources cannot be allocated with Topology locality",
            AlignedAs::PodByContainers => {
                "Pod Scope pod with pod-level resources failed admission with a container-level topology manager"
            }
            AlignedAs::Pod => {
                "Pod Scope pod with pod-level resources failed admission under pod-scope topology manager"
            }
        };
        Self {
            reason: Reason::TopologyAffinity,
            message: message.into(),
            container: container.cloned(),
            cause,
        }
    }

    pub(crate) fn new(container: Option<&ContainerName>, cause: Cause) -> Self {
        let (reason, message) = match &cause {
            Cause::NotAligned(_) | Cause::MergeFailed(_) => {
                return Self::not_aligned(container, cause, AlignedAs::Containers);
            }
            Cause::Cpus(cpu_manager::AllocateError::WholeCores(error)) => {
                (Reason::SmtAlignment, error.to_string())
            }
            Cause::Cpus(cpu_manager::AllocateError::EmptySharedPool(error)) => {
                (Reason::EmptyPodSharedPool, error.to_string())
            }
            Cause::Cpus(error) => unexpected(error),
            Cause::Memory(memory_manager::AllocateError::EmptySharedPool(error)) => {
                (Reason::EmptyPodSharedPool, error.to_string())
            }
            Cause::Memory(error) => unexpected(error),
            Cause::Devices(error) => unexpected(error),
            Cause::Shortage(shortages) => match shortages.first() {
                Some(shortage) => (Reason::OutOf(shortage.resource.clone()), shortage.to_string()),
                None => unexpected(&"node has enough of everything"),
            },
            Cause::Mismatch(mismatch) => (Reason::Mismatch(*mismatch), mismatch.to_string()),
            Cause::PodPolicy(error) => (Reason::PodPolicy, error.to_string()),
            Cause::NotLinked(error) => (Reason::DeviceLinks, error.to_string()),
            Cause::NobodyToPreempt(error) => (Reason::UnexpectedAdmission, error.to_string()),
            Cause::Provider { refusal, .. } => match &refusal.reason {
                Some(reason) => (Reason::Other(reason.clone()), refusal.message.clone()),
                None => unexpected(&refusal.message),
            },
        };
        Self { reason, message, container: container.cloned(), cause }
    }
}

/// An error without a specific reason.
fn unexpected(error: &impl ToString) -> (Reason, String) {
    let message = format!("Allocate failed due to {}, which is unexpected", error.to_string());
    (Reason::UnexpectedAdmission, message)
}
