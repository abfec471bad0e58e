//! Who shares CPUs with whom, and what follows for CPU quotas.

use pod_spec::{Container, Pod};

use crate::guaranteed::whole_cpus;
use crate::{Holdings, Static};

/// With whom a container shares its CPUs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Isolation {
    /// With the node's containers that have no exclusive CPUs.
    Host,
    /// With containers of its pod.
    Pod,
    /// With no other container.
    Container,
}

impl Isolation {
    /// The kubelet's word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Pod => "pod",
            Self::Container => "container",
        }
    }
}

/// The feature gate `DisableCPUQuotaWithExclusiveCPUs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum QuotaWithExclusiveCpus {
    /// On: containers with exclusive CPUs are not throttled.
    #[default]
    Disabled,
    /// Off: limits are enforced by quota everywhere.
    Enforced,
}

/// What is written as a cgroup's CPU quota. The period and the weight are written either way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CpuQuota {
    /// What the CPU limit says.
    ByLimit,
    /// None (`-1`, `max`).
    Unlimited,
}

impl Static {
    /// With whom `container` shares its CPUs.
    #[must_use]
    pub fn isolation(&self, held: &Holdings, pod: &Pod, container: &Container) -> Isolation {
        if held.assigned(&pod.uid, &container.name).is_none() {
            return Isolation::Host;
        }
        let is_alone = || container.is_guaranteed_equivalent() && whole_cpus(&container.limits).is_ok();
        if self.allocates_whole(pod) && !is_alone() { Isolation::Pod } else { Isolation::Container }
    }

    /// The quota of a container's cgroup.
    #[must_use]
    pub fn quota(
        &self,
        held: &Holdings,
        pod: &Pod,
        container: &Container,
        gate: QuotaWithExclusiveCpus,
    ) -> CpuQuota {
        match gate {
            QuotaWithExclusiveCpus::Disabled if self.has_exclusive_cpus(held, pod, container) => {
                CpuQuota::Unlimited
            }
            QuotaWithExclusiveCpus::Disabled | QuotaWithExclusiveCpus::Enforced => CpuQuota::ByLimit,
        }
    }

    /// The quota of the pod's cgroup and of its sandbox: that of a container of which the pod has one; in a pod that
    /// is served as a whole, that of all of them.
    #[must_use]
    pub fn pod_quota(&self, held: &Holdings, pod: &Pod, gate: QuotaWithExclusiveCpus) -> CpuQuota {
        let is_unlimited =
            |container: &Container| self.quota(held, pod, container, gate) == CpuQuota::Unlimited;
        let mut containers = pod.containers.iter();
        let is_pod_unlimited = if self.allocates_whole(pod) {
            containers.all(is_unlimited)
        } else {
            containers.any(is_unlimited)
        };
        if is_pod_unlimited { CpuQuota::Unlimited } else { CpuQuota::ByLimit }
    }

    /// Whether a container has CPUs that no other container may use, not even one of its pod.
    #[must_use]
    pub fn has_exclusive_cpus(&self, held: &Holdings, pod: &Pod, container: &Container) -> bool {
        held.assigned(&pod.uid, &container.name).is_some_and(|cpus| !cpus.is_empty())
            && self.isolation(held, pod, container) == Isolation::Container
    }
}
