//! CPUs that a unit has to count before others.

use alloc::vec::Vec;
use core::fmt;

use cpuset::CpuSet;
use pod_spec::ContainerName;
use topology_admission::HandedOn;
use topology_model::NodeIds;

use crate::facts::Facts;
use crate::words::{joined, verb};

/// CPUs that finished init containers of the pod have left, which the kubelet counts before others when it
/// looks for NUMA nodes for later containers, whichever it allocates then. Shown as a clause:
/// `cpu must contain NUMA 0: init container setup left CPU 49 there, which is counted first`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HandedOnCpus {
    /// The CPUs.
    pub cpus: CpuSet,
    /// Their NUMA nodes.
    pub nodes: NodeIds,
    /// The init containers that had them; at least one.
    pub by: Vec<ContainerName>,
}

impl HandedOnCpus {
    pub(crate) fn new(facts: &Facts<'_>, handed_on: &HandedOn) -> Self {
        let HandedOn { cpus, nodes, by } = handed_on.clone();
        Self { cpus, nodes: facts.listed(nodes), by }
    }
}

impl fmt::Display for HandedOnCpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpus, nodes, by } = self;
        let containers = verb(by.len(), "container", "containers");
        let (cpu, are) = (verb(cpus.len(), "CPU", "CPUs"), verb(cpus.len(), "is", "are"));
        write!(
            f,
            "cpu must contain NUMA {nodes}: init {containers} {} left {cpu} {cpus} there, which {are} counted first",
            joined(by, " and ")
        )
    }
}
