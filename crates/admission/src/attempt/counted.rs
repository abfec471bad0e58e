//! What an attempt adds to the kubelet's counters.

use alloc::vec::Vec;

/// Changes of counters, to be applied when the attempt is committed, refused or not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// `kubelet_topology_manager_admission_requests_total`: 1, whatever the policy.
    pub requests: u32,
    /// `kubelet_topology_manager_admission_errors_total`: refused by the policy or by a manager; never under policy
    /// `none`.
    pub errors: u32,
    /// `kubelet_container_aligned_compute_resources_count` with boundary `numa_node`, and the scope as a label: units
    /// on one NUMA node. Only under `single-numa-node`, as the next.
    pub aligned: u32,
    /// `kubelet_container_aligned_compute_resources_failure_count` with the same labels: units that are on no single
    /// node.
    pub not_aligned: u32,
    /// The CPU manager's, in order.
    pub cpus: Vec<cpu_manager::Change>,
    /// The memory manager's.
    pub memory: memory_manager::Counted,
}

impl Counted {
    /// The same with what another attempt adds after it.
    pub(crate) fn add(&mut self, more: &Self) {
        self.requests += more.requests;
        self.errors += more.errors;
        self.aligned += more.aligned;
        self.not_aligned += more.not_aligned;
        self.cpus.extend(&more.cpus);
        self.memory += more.memory;
    }
}
