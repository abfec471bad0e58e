//! A pod that runs and is to have other amounts of CPU and memory.
//!
//! [`Node::resize`] works it out on a copy of the ledger, all containers or none: first the kubelet's own checks, then
//! what the managers say, then the kubelet's chain of admission on the new amounts. [`Ledger::resized`] makes it so.
//! A refusal says whether the pod can have these amounts later (`Deferred`) or never here (`Infeasible`), as a pod's
//! condition `PodResizePending` does.
//!
//! A kubelet refuses the pods to which its managers have given exclusive resources. The options `cpu.resize`
//! and `memory.resize` allow them, by the rules of [`cpu_manager::Static::begin_resize`] and
//! [`memory_manager::Static::resize`]. A resize preempts no pod, and allocates and releases no device.

pub(crate) mod sizes;
mod largest;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt;

use node_config::Resize;
use pod_spec::{ContainerName, Origin, Pod, PodUid, QosClass, ResourceName, Role};
use thiserror::Error;

use crate::attempt::admission::NO_REPLIES;
use crate::attempt::refusal::{Cause, Refused};
use crate::attempt::steps::Steps;
use crate::attempt::{Placement, Verdict};
use crate::ledger::{Ledger, Stale, Version};
use crate::node::Node;
use crate::resize::sizes::{SizeError, Sizes};

pub use largest::Largest;

/// A resize that has been worked out and not yet happened.
#[must_use]
#[derive(Clone, PartialEq, Debug)]
pub struct ResizeAttempt {
    /// What came out.
    pub verdict: Result<Placement, NotNow>,
    /// The pod with its new amounts.
    pub pod: Arc<Pod>,
    /// The ledger with them; after a refusal the same ledger.
    pub after: Ledger,
    made_against: Version,
}

/// A resize that is refused.
#[derive(Clone, PartialEq, Debug)]
pub struct NotNow {
    /// Whether it can be later.
    pub when: When,
    /// Why: the kubelet's message where the kubelet refuses too.
    pub message: String,
    /// The container that cannot have what it asks for; `None`: the pod as a whole cannot.
    pub container: Option<ContainerName>,
    /// The refusal by the chain of admission; `None`: it was not asked.
    pub refused: Option<Box<Refused>>,
}

/// Whether a resize that is refused can be made later. The words are those of the condition `PodResizePending`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum When {
    /// When others have gone.
    Deferred,
    /// Never on this node as it is configured.
    Infeasible,
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Deferred => "Deferred",
            Self::Infeasible => "Infeasible",
        })
    }
}

/// What cannot even be tried.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ResizeRequestError {
    /// No pod of this UID is admitted.
    #[error("no pod with uid {0} is admitted here")]
    UnknownPod(PodUid),
    /// Amounts that no pod can be resized to.
    #[error(transparent)]
    Size(#[from] SizeError),
}

impl Node {
    /// Works out a resize of an admitted pod; nothing happens yet.
    ///
    /// # Errors
    /// There is no such pod, or an API server would refuse the amounts.
    pub fn resize(
        &self,
        ledger: &Ledger,
        uid: &PodUid,
        sizes: &Sizes,
    ) -> Result<ResizeAttempt, ResizeRequestError> {
        let before = ledger.pod(uid).ok_or_else(|| ResizeRequestError::UnknownPod(uid.clone()))?;
        let pod = Arc::new(self.sized(before, sizes)?);
        let way = Way { node: self, before, pod: &pod };
        let (verdict, after) = match way.checked().map_err(Stop::from).and_then(|()| way.worked(ledger)) {
            Ok((placement, after)) => (Ok(placement), after),
            Err(refused) => (Err(way.timed(ledger, refused)), ledger.clone()),
        };
        Ok(ResizeAttempt { verdict, pod, after, made_against: ledger.version() })
    }

    /// Whether an admitted pod can have other amounts now.
    fn can_resize(&self, ledger: &Ledger, before: &Pod, sizes: &Sizes) -> bool {
        let Ok(pod) = self.sized(before, sizes).map(Arc::new) else { return false };
        let way = Way { node: self, before, pod: &pod };
        way.checked().is_ok() && way.worked(ledger).is_ok()
    }

    /// An admitted pod with other amounts.
    fn sized(&self, before: &Pod, sizes: &Sizes) -> Result<Pod, SizeError> {
        let mut resized = sizes.applied(&Self::as_written(before.clone()))?;
        resized.status_qos = None;
        let class = before.qos_class(self.pod_rules);
        let after = resized.qos_class(self.pod_rules);
        if class != after {
            return Err(SizeError::QosClass { before: class, after });
        }
        Ok(self.classified(resized))
    }
}

impl Ledger {
    /// The ledger after a resize that was worked out on it; after a refused one it is the same.
    ///
    /// # Errors
    /// The ledger has changed since.
    pub fn resized(&self, attempt: ResizeAttempt) -> Result<Self, Stale> {
        if attempt.made_against != self.version() {
            return Err(Stale { made_against: attempt.made_against, current: self.version() });
        }
        Ok(match attempt.verdict {
            Ok(_) => attempt.after.follow(self),
            Err(_) => self.clone(),
        })
    }
}

/// Why a resize stops.
enum Stop {
    /// Another pod has what it takes, or the node has too little.
    Room(NotNow),
    /// It is about devices, of which their plugin tells.
    Plugin(NotNow),
}

impl From<NotNow> for Stop {
    fn from(refused: NotNow) -> Self {
        Self::Room(refused)
    }
}

/// One resize.
#[derive(Clone, Copy)]
struct Way<'a> {
    node: &'a Node,
    before: &'a Pod,
    pod: &'a Arc<Pod>,
}

impl Way<'_> {
    /// What the kubelet looks at before its chain of admission.
    fn checked(self) -> Result<(), NotNow> {
        let Self { node, before, pod } = self;
        if pod.constraints.origin == Origin::Static {
            return Err(NotNow::infeasible("In-place resize of static-pods is not supported".into()));
        }
        let is_alone =
            pod.qos_class(node.pod_rules) == QosClass::Guaranteed || !pod.constraints.exclusive.is_empty();
        let (cpu, memory) = (node.options.cpu_resize, node.options.memory_resize);
        if is_alone && node.cpus.is_some() && cpu == Resize::Refuse && differ(before, pod, "cpu") {
            let message = "Resize is infeasible for Guaranteed Pods alongside CPU Manager policy \"static\"";
            return Err(NotNow::infeasible(message.into()));
        }
        if is_alone && node.memory.is_some() && memory == Resize::Refuse && differ(before, pod, "memory") {
            let message =
                "Resize is infeasible for Guaranteed Pods alongside Memory Manager policy \"Static\"";
            return Err(NotNow::infeasible(message.into()));
        }
        let requests = node.requests(pod);
        for resource in ["memory", "cpu"] {
            let requested =
                requests.iter().find(|(of, _)| of.as_str() == resource).map_or(0, |(_, amount)| *amount);
            let amount = node.allocatable.get(resource);
            let capacity =
                amount.map_or(0, |amount| crate::node::fit::units(&ResourceName::new(resource), amount));
            if requested > capacity {
                let message = format!(
                    "Node didn't have enough capacity: {resource}, requested: {requested}, capacity: {capacity}"
                );
                return Err(NotNow::infeasible(message));
            }
        }
        Ok(())
    }

    /// The managers' part and the chain of admission, on a copy of the ledger.
    fn worked(self, ledger: &Ledger) -> Result<(Placement, Ledger), Stop> {
        let Self { node, pod, .. } = self;
        let mut working = ledger.clone();
        working.forget_mix();
        if let Some(policy) = &node.cpus
            && let Some(begun) = working.book_cpus(|held| policy.begin_resize(held, pod))
        {
            begun.map_err(|not| NotNow {
                container: Some(not.container),
                ..NotNow::infeasible(not.error.to_string())
            })?;
        }
        if let Some(policy) = &node.memory {
            for container in &pod.containers {
                let booked = working.book_memory(|held| policy.resize(held, pod, container));
                booked.unwrap_or(Ok(())).map_err(|error| {
                    let when = match error {
                        memory_manager::ResizeError::NotEnough { .. } => When::Deferred,
                        _ => When::Infeasible,
                    };
                    let container = Some(container.name.clone());
                    NotNow { when, message: error.to_string(), container, refused: None }
                })?;
            }
        }
        let rules = node.rules_of(pod);
        let attempt = Steps::new(node, rules, working, pod, &NO_REPLIES).resizing().run();
        let mut after = attempt.after;
        match attempt.verdict {
            Verdict::Admitted(placement) => {
                let _ = after.book_cpus(cpu_manager::Holdings::end_resize);
                after.forget_mix();
                Ok((placement, after))
            }
            Verdict::Refused(refused) => {
                let is_of_devices = matches!(refused.cause, Cause::Devices(_));
                let refused = NotNow {
                    when: When::Deferred,
                    message: refused.message.clone(),
                    container: refused.container.clone(),
                    refused: Some(Box::new(refused)),
                };
                Err(if is_of_devices { Stop::Plugin(refused) } else { Stop::Room(refused) })
            }
            Verdict::NeedsPlugin(question) => {
                let message = format!("the device plugin of {} has to answer first", question.resource());
                Err(Stop::Plugin(NotNow { when: When::Deferred, ..NotNow::infeasible(message) }))
            }
        }
    }

    /// A refusal that the pod would get on a node without other pods is for ever, where the options allow a
    /// resize of exclusive CPUs or memory. For other pods the kubelet's answer stands.
    fn timed(self, ledger: &Ledger, stop: Stop) -> NotNow {
        let refused = match stop {
            // One that is away is so without other pods too, and comes back.
            Stop::Plugin(refused) => return refused,
            Stop::Room(refused) => refused,
        };
        let options = &self.node.options;
        let is_ours = options.cpu_resize == Resize::Allow || options.memory_resize == Resize::Allow;
        if refused.when == When::Infeasible || !is_ours {
            return refused;
        }
        let others = ledger.pods().filter(|other| other.uid != self.pod.uid);
        let alone = others.fold(ledger.clone(), |ledger, other| ledger.release(&other.uid));
        match self.worked(&alone) {
            Ok(_) => refused,
            Err(_) => NotNow { when: When::Infeasible, ..refused },
        }
    }
}

impl NotNow {
    const fn infeasible(message: String) -> Self {
        Self { when: When::Infeasible, message, container: None, refused: None }
    }
}

/// Whether a container that can be resized asks for another amount.
fn differ(before: &Pod, after: &Pod, resource: &str) -> bool {
    let resizable = after.containers.iter().filter(|container| container.role != Role::Init);
    resizable.into_iter().any(|container| {
        let own = before.container(&container.name);
        own.and_then(|own| own.requests.get(resource)) != container.requests.get(resource)
    })
}
