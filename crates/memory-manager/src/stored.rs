//! Holdings as they are stored.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use numa_bitmask::NodeIndex;
use pod_spec::{ContainerName, PodUid, ResourceName};
use topology_model::NodeId;

use crate::books::Books;
use crate::{Amounts, Block, Holdings, ListedNode, NodeList, Static};

/// What a state file holds, in node ids and unchecked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stored {
    /// The machine state; empty before the first start.
    pub nodes: BTreeMap<NodeId, StoredNode>,
    /// Blocks by pod and container.
    pub entries: BTreeMap<PodUid, StoredContainers>,
    /// Blocks of pods that are booked as a whole.
    pub pod_entries: BTreeMap<PodUid, Vec<StoredBlock>>,
}

/// Blocks by container.
pub type StoredContainers = BTreeMap<ContainerName, Vec<StoredBlock>>;

/// One node of a machine state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StoredNode {
    /// How many blocks name it.
    pub assignments: i64,
    /// The nodes that it is bound to.
    pub cells: Vec<NodeId>,
    /// Its tables.
    pub memory: BTreeMap<ResourceName, StoredTable>,
}

/// One resource on one node, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StoredTable {
    /// Installed.
    pub total: u64,
    /// Kept for the system.
    pub system_reserved: u64,
    /// What containers can book.
    pub allocatable: u64,
    /// What they have booked.
    pub reserved: u64,
    /// What is left.
    pub free: u64,
}

/// An amount of one resource on some nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredBlock {
    /// In the order in which amounts are taken.
    pub nodes: Vec<NodeId>,
    /// Of this.
    pub resource: ResourceName,
    /// Bytes.
    pub size: u64,
}

impl Static {
    /// What a state file of `held` holds.
    #[must_use]
    pub fn stored(&self, held: &Holdings) -> Stored {
        let mut stored = Stored { nodes: self.stored_nodes(&held.books), ..Stored::default() };
        for (pod, container, blocks) in held.iter() {
            let blocks = blocks.iter().map(|block| self.stored_block(block)).collect();
            stored.entries.entry(pod.clone()).or_default().insert(container.clone(), blocks);
        }
        for (pod, blocks) in held.whole_pods() {
            let blocks = blocks.iter().map(|block| self.stored_block(block)).collect();
            stored.pod_entries.insert(pod.clone(), blocks);
        }
        stored
    }

    /// What a state file has of one pod: the blocks of its containers, and those of the pod as a whole.
    #[must_use]
    pub fn stored_of(&self, held: &Holdings, pod: &PodUid) -> (StoredContainers, Option<Vec<StoredBlock>>) {
        let stored = |blocks: &[Block]| blocks.iter().map(|block| self.stored_block(block)).collect();
        let containers = held.of_pod(pod).map(|(name, blocks)| (name.clone(), stored(blocks)));
        (containers.collect(), held.whole_pod(pod).map(stored))
    }

    pub(crate) fn stored_nodes(&self, books: &Books) -> BTreeMap<NodeId, StoredNode> {
        let node = |(node, id): (NodeIndex, NodeId)| {
            let tables = self.resources.iter().enumerate().filter_map(|(at, resource)| {
                let installed = self.installed(node, at)?;
                let Amounts { reserved, free } = books.amounts(node, at);
                let table = StoredTable {
                    total: installed.total,
                    system_reserved: installed.system_reserved,
                    allocatable: installed.allocatable,
                    reserved,
                    free,
                };
                Some((resource.clone(), table))
            });
            let memory = tables.collect();
            let books = books.node(node);
            let cells = books.map(|books| self.ids(&books.group)).unwrap_or_default();
            (id, StoredNode { assignments: books.map_or(0, |books| books.assignments), cells, memory })
        };
        self.nodes.iter().map(node).collect()
    }

    fn stored_block(&self, block: &Block) -> StoredBlock {
        StoredBlock { nodes: self.ids(&block.nodes), resource: block.resource.clone(), size: block.size }
    }

    fn ids(&self, nodes: &NodeList) -> Vec<NodeId> {
        let id = |node| match node {
            ListedNode::Own(node) => self.nodes.id(node),
            ListedNode::Foreign(id) => Some(id),
        };
        nodes.all().filter_map(id).collect()
    }
}
