//! How many CPUs a container or pod is guaranteed for itself, and why if none.

use core::fmt;

use k8s_quantity::Quantity;
use pod_spec::{Container, Pod, PodResources, QosClass, ResourceList, Role};
use thiserror::Error;

use crate::PodLevel;

/// Why a container runs in the shared pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotPinned {
    /// The pod's QoS class is not Guaranteed.
    NotGuaranteed,
    /// It asks for part of a CPU.
    FractionalCpu,
    /// The pod has resources at pod level, which keep its containers from being pinned as configured.
    PodLevel,
    /// It asks for no CPU.
    NoCpuRequest,
    /// It asks for more CPUs than the 64 bits have room for in which a kubelet counts them.
    TooManyCpus,
}

impl fmt::Display for NotPinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotGuaranteed => "its QoS class is not Guaranteed",
            Self::FractionalCpu => "it asks for part of a CPU",
            Self::PodLevel => "the pod's resources are at pod level",
            Self::NoCpuRequest => "it asks for no CPU",
            Self::TooManyCpus => "it asks for more CPUs than 64 bits can count",
        })
    }
}

/// The containers of a pod would leave nothing for those that share. The texts are the kubelet's, as is the reason
/// `EmptyPodSharedPoolError`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum EmptySharedPool {
    /// Nothing for an init container, since sidecars before it have it all.
    #[error("pod rejected, pod has shared init containers but no cpus available for them")]
    Init,
    /// Nothing for a sidecar or an app container.
    #[error(
        "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers"
    )]
    App,
}

/// What a pod is guaranteed, as the feature gates for resources at pod level are.
pub(crate) trait Guarantee: Sized {
    /// How many CPUs `container` gets for itself; at least one.
    fn exclusive_cpus(self, pod: &Pod, container: &Container) -> Result<usize, NotPinned>;

    /// How many CPUs the pod as a whole gets for itself; at least one.
    fn exclusive_cpus_of_pod(self, pod: &Pod) -> Result<usize, NotPinned>;

    /// The same where the pod is allocated as a whole whatever [`Self::allocates_whole`] says: with the gate off the
    /// kubelet's `AllocatePod`, which it does not call then, looks at the containers.
    fn cpus_allocated_to_pod(self, pod: &Pod) -> Result<usize, NotPinned>;

    /// The share of a container in such a pod.
    fn cpus_allocated_to(self, pod: &Pod, container: &Container) -> Result<usize, NotPinned>;

    /// Whether the pod's CPUs are allocated to the pod as a whole where the scope is the pod.
    fn allocates_whole(self, pod: &Pod) -> bool;

    /// Whether a pod that is allocated as a whole, with `budget` CPUs, leaves some for those of its containers that are not
    /// pinned.
    fn check_shared_pool(self, pod: &Pod, budget: usize) -> Result<(), EmptySharedPool>;
}

impl Guarantee for PodLevel {
    fn exclusive_cpus(self, pod: &Pod, container: &Container) -> Result<usize, NotPinned> {
        if pod.has_exclusive_cpus(container) {
            return whole_cpus(&container.limits);
        }
        if pod.qos_class(self.counts()) != QosClass::Guaranteed {
            return Err(NotPinned::NotGuaranteed);
        }
        if self.is_read(pod) && !(self == Self::Managed && container.is_guaranteed_equivalent()) {
            return Err(NotPinned::PodLevel);
        }
        whole_cpus(&container.requests)
    }

    fn exclusive_cpus_of_pod(self, pod: &Pod) -> Result<usize, NotPinned> {
        let has_none = pod.constraints.exclusive.is_empty();
        if has_none && pod.qos_class(self.counts()) != QosClass::Guaranteed {
            return Err(NotPinned::NotGuaranteed);
        }
        if self.is_read(pod) {
            return match (self, &pod.resources) {
                (Self::Managed, Some(PodResources { requests, .. })) => whole_cpus(requests),
                _ => Err(NotPinned::PodLevel),
            };
        }
        sum(pod, |container| self.exclusive_cpus(pod, container))
    }

    fn cpus_allocated_to_pod(self, pod: &Pod) -> Result<usize, NotPinned> {
        match self {
            Self::Managed => self.exclusive_cpus_of_pod(pod),
            _ => sum(pod, |container| self.cpus_allocated_to(pod, container)),
        }
    }

    fn cpus_allocated_to(self, pod: &Pod, container: &Container) -> Result<usize, NotPinned> {
        match self {
            Self::Managed => self.exclusive_cpus(pod, container),
            _ if pod.qos_class(self.counts()) != QosClass::Guaranteed => Err(NotPinned::NotGuaranteed),
            _ => whole_cpus(&container.requests),
        }
    }

    fn allocates_whole(self, pod: &Pod) -> bool {
        self == Self::Managed && pod.has_pod_level_resources()
    }

    fn check_shared_pool(self, pod: &Pod, budget: usize) -> Result<(), EmptySharedPool> {
        let (mut used, mut shares) = (0_usize, false);
        for container in &pod.containers {
            let cpus = self.cpus_allocated_to(pod, container).unwrap_or(0);
            match container.role {
                Role::Init if cpus == 0 && used >= budget => return Err(EmptySharedPool::Init),
                Role::Init => {}
                Role::Sidecar | Role::App => {
                    used = used.saturating_add(cpus);
                    shares |= cpus == 0;
                }
            }
        }
        if shares && used >= budget { Err(EmptySharedPool::App) } else { Ok(()) }
    }
}

/// What the containers of a pod have together at the most, if each has `cpus`; else why the first has none.
fn sum(pod: &Pod, cpus: impl Fn(&Container) -> Result<usize, NotPinned>) -> Result<usize, NotPinned> {
    let (mut staying, mut peak, mut apps) = (0_usize, 0, 0_usize);
    for container in &pod.containers {
        let cpus = cpus(container).unwrap_or(0);
        match container.role {
            Role::Sidecar => staying = staying.saturating_add(cpus),
            Role::Init => peak = peak.max(staying.saturating_add(cpus)),
            Role::App => apps = apps.saturating_add(cpus),
        }
    }
    match peak.max(staying.saturating_add(apps)) {
        0 => Err(pod.containers.iter().find_map(|it| cpus(it).err()).unwrap_or(NotPinned::NoCpuRequest)),
        cpus => Ok(cpus),
    }
}

/// The CPUs of a request, if it is for whole ones after the kubelet's rounding (`1999500u` is 2).
pub(crate) fn whole_cpus(requests: &ResourceList) -> Result<usize, NotPinned> {
    let asked = requests.get("cpu");
    let (cpus, milli) = asked.map_or((0, 0), |cpu: &Quantity| (cpu.value(), cpu.milli_value()));
    if cpus.wrapping_mul(1000) != milli {
        return Err(NotPinned::FractionalCpu);
    }
    // What does not fit in 64 bits wraps, as in the kubelet: 2^63 is below zero.
    usize::try_from(cpus).ok().filter(|cpus| *cpus > 0).ok_or_else(|| match asked {
        Some(asked) if *asked > Quantity::default() => NotPinned::TooManyCpus,
        _ => NotPinned::NoCpuRequest,
    })
}
