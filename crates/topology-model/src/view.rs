//! The machine as the kubelet's managers see it: a pure function of what cAdvisor reports.

use alloc::vec::Vec;

use thiserror::Error;

use crate::{CpuTable, CpuTableError, HugePages, MachineInfo, MachineNode, NodeId, Nodes, TooManyNodes};

/// What the CPU, memory, device and topology managers take from a [`MachineInfo`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KubeletView {
    nodes: Nodes,
    machine_order: Vec<NodeId>,
    cpus: CpuTable,
    memory: Vec<NodeMemory>,
    memory_capacity: u64,
    hugepages: Vec<HugePages>,
}

/// Memory and distances of one node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeMemory {
    /// The node.
    pub id: NodeId,
    /// Its memory in bytes, huge pages included.
    pub memory: u64,
    /// Its huge pages; a size that is not listed does not exist on this node.
    pub hugepages: Vec<HugePages>,
    /// Its distance row; `None`: not known.
    pub distances: Option<Vec<u64>>,
}

impl NodeMemory {
    /// Memory beside the huge pages, in bytes.
    #[must_use]
    pub fn beside_hugepages(&self) -> u64 {
        let pages = self.hugepages.iter().fold(0_u64, |sum, pages| {
            sum.saturating_add(pages.page_size_kib.saturating_mul(1024).saturating_mul(pages.num_pages))
        });
        self.memory.saturating_sub(pages)
    }
}

impl From<&MachineNode> for NodeMemory {
    fn from(node: &MachineNode) -> Self {
        Self {
            id: NodeId(node.id),
            memory: node.memory,
            hugepages: node.hugepages.clone().unwrap_or_default(),
            distances: node.distances.clone(),
        }
    }
}

/// Why the kubelet's managers cannot work on a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ViewError {
    /// There is no CPU table.
    #[error(transparent)]
    Cpus(#[from] CpuTableError),
    /// The nodes do not fit a mask.
    #[error(transparent)]
    Nodes(#[from] TooManyNodes),
    /// A node is listed twice.
    #[error("NUMA node {0} is listed twice")]
    RepeatedNode(NodeId),
}

impl KubeletView {
    /// The view of a machine.
    pub fn new(info: &MachineInfo) -> Result<Self, ViewError> {
        let cpus = CpuTable::new(info)?;
        let listed = info.topology.as_deref().unwrap_or_default();
        let memory = listed.iter().map(NodeMemory::from).collect();
        Self::from_parts(cpus, memory, info.memory_capacity, info.hugepages.clone().unwrap_or_default())
    }

    /// The view that has these parts: `memory` is that of the nodes in the order in which the machine lists them, and says
    /// which there are.
    ///
    /// # Errors
    /// There are too many nodes, or one is listed twice.
    pub fn from_parts(
        cpus: CpuTable,
        memory: Vec<NodeMemory>,
        memory_capacity: u64,
        hugepages: Vec<HugePages>,
    ) -> Result<Self, ViewError> {
        let machine_order: Vec<_> = memory.iter().map(|node| node.id).collect();
        let nodes = Nodes::new(machine_order.iter().copied())?;
        let mut memory = memory;
        memory.sort_by_key(|node| node.id);
        if let Some(pair) = memory.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(ViewError::RepeatedNode(pair[0].id));
        }
        Ok(Self { nodes, machine_order, cpus, memory, memory_capacity, hugepages })
    }

    /// All NUMA nodes, those without CPUs or memory included.
    #[must_use]
    pub const fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// The node ids in the order in which cAdvisor lists them.
    #[must_use]
    pub fn machine_order(&self) -> &[NodeId] {
        &self.machine_order
    }

    /// The CPU table.
    #[must_use]
    pub const fn cpus(&self) -> &CpuTable {
        &self.cpus
    }

    /// Memory and distances of each node, by position.
    #[must_use]
    pub fn node_memory(&self) -> &[NodeMemory] {
        &self.memory
    }

    /// Memory of the whole machine in bytes. It need not be the sum of the nodes'.
    #[must_use]
    pub const fn memory_capacity(&self) -> u64 {
        self.memory_capacity
    }

    /// Huge pages of the whole machine.
    #[must_use]
    pub fn hugepages(&self) -> &[HugePages] {
        &self.hugepages
    }
}
