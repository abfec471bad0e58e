//! What the files have of a pod.

use alloc::collections::BTreeMap;

use pod_spec::{ContainerName, ResourceList};

/// What a pod was admitted with, or runs with.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodAllocation {
    /// Of its containers and restartable init containers.
    pub containers: BTreeMap<ContainerName, Allocation>,
    /// At pod level; `None`: nothing. Releases up to 1.34 do not read it.
    pub pod: Option<Allocation>,
}

/// Requests and limits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Allocation {
    /// What is asked for.
    pub requests: ResourceList,
    /// What may be used.
    pub limits: ResourceList,
}
