//! What a container or a pod runs on once it is served.

use alloc::vec::Vec;

use cpuset::CpuSet;
use pod_spec::ContainerName;

use crate::NotPinned;

/// What a container runs on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Granted {
    /// Exclusive CPUs.
    Exclusive(CpuSet),
    /// The shared pool, and why.
    SharedPool(NotPinned),
}

impl Granted {
    /// Its own CPUs; `None` if it runs in the shared pool.
    #[must_use]
    pub const fn exclusive(&self) -> Option<&CpuSet> {
        match self {
            Self::Exclusive(cpus) => Some(cpus),
            Self::SharedPool(_) => None,
        }
    }
}

/// What a pod that is served as a whole runs on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PodGranted {
    /// Exclusive CPUs of the pod, and which container uses which, in the order in which containers are served.
    Bubble {
        /// All of them.
        cpus: CpuSet,
        /// One entry for each container.
        containers: Vec<(ContainerName, PodShare)>,
    },
    /// The node's shared pool, and why.
    SharedPool(NotPinned),
}

/// What a container uses of its pod's CPUs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PodShare {
    /// These, and no other container that runs at the same time does.
    Exclusive(CpuSet),
    /// These, together with others.
    Shared(CpuSet),
}

impl PodShare {
    /// The CPUs.
    #[must_use]
    pub const fn cpus(&self) -> &CpuSet {
        match self {
            Self::Exclusive(cpus) | Self::Shared(cpus) => cpus,
        }
    }
}
