//! Holdings as they are stored, and whether they belong to this machine and configuration.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::{ContainerName, PodUid, ResourceName};
use thiserror::Error;
use topology_model::NodeId;

use crate::books::Books;
use crate::{Amounts, Block, Holdings, ListedNode, NodeList, PodLevel, Static};

/// What a state file holds, in node ids and unchecked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stored {
    /// The machine state; empty before the first start.
    pub nodes: BTreeMap<NodeId, StoredNode>,
    /// Blocks by pod and container.
    pub entries: BTreeMap<PodUid, BTreeMap<ContainerName, Vec<StoredBlock>>>,
    /// Blocks of pods that are booked as a whole.
    pub pod_entries: BTreeMap<PodUid, Vec<StoredBlock>>,
}

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

/// Why stored holdings do not fit. The texts are the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum StateError {
    /// Blocks without a machine.
    #[error("[memorymanager] machine state can not be empty when it has memory assignments")]
    NoMachineState,
    /// A block names a node that the machine lacks.
    #[error(
        "[memorymanager] (pod: {pod}, container: {container}) the memory assignment uses the NUMA that does not exist"
    )]
    UnknownNode {
        /// Whose block.
        pod: PodUid,
        /// Whose block; empty for the pod as a whole.
        container: ContainerName,
    },
    /// A block is of a resource that its node lacks.
    #[error(
        "[memorymanager] (pod: {pod}, container: {container}) the memory assignment uses memory resource that does not exist"
    )]
    UnknownResource {
        /// Whose block.
        pod: PodUid,
        /// Whose block; empty for the pod as a whole.
        container: ContainerName,
    },
    /// The machine, the reservations or the books are other than the blocks say.
    #[error("[memorymanager] the expected machine state is different from the real one")]
    OtherMachine {
        /// What the machine and the blocks would give.
        expected: Stored,
    },
}

impl Static {
    /// The holdings with which a node starts that had `stored`: an empty machine state is a new node, any other
    /// must be what the blocks of all pods give on this machine. Inside a group only sums are compared.
    pub fn restore(&self, stored: &Stored) -> Result<Holdings, StateError> {
        if stored.nodes.is_empty() {
            if !stored.entries.is_empty() {
                return Err(StateError::NoMachineState);
            }
            let mut held = self.initial();
            self.put_blocks(&mut held, stored);
            return Ok(held);
        }
        let expected = self.rebooked(stored)?;
        if !self.is_same(&expected.books, stored) {
            let expected = Stored { nodes: self.stored_nodes(&expected.books), ..stored.clone() };
            return Err(StateError::OtherMachine { expected });
        }
        let mut held = self.initial();
        self.put_nodes(held.books_mut(), stored);
        self.put_blocks(&mut held, &self.sorted_by_comparison(stored));
        Ok(held)
    }

    /// The kubelet compares groups in ascending order, and sorts for that the very list of the block that bound a
    /// node last.
    fn sorted_by_comparison(&self, stored: &Stored) -> Stored {
        let mut sorted = stored.clone();
        let mut last = BTreeMap::new();
        for (pod, containers) in &stored.entries {
            let whole = stored.pod_entries.get(pod).filter(|blocks| !blocks.is_empty());
            let lists: Vec<_> = match (self.pod_level, whole) {
                (PodLevel::Managed, Some(whole)) => vec![(None, whole)],
                _ => containers.iter().map(|(name, blocks)| (Some(name), blocks)).collect(),
            };
            for (container, blocks) in lists {
                for (at, block) in blocks.iter().enumerate() {
                    last.extend(block.nodes.iter().map(|node| (*node, (pod, container, at))));
                }
            }
        }
        for (pod, container, at) in last.into_values() {
            let list = match container {
                None => sorted.pod_entries.get_mut(pod),
                Some(name) => sorted.entries.get_mut(pod).and_then(|containers| containers.get_mut(name)),
            };
            if let Some(block) = list.and_then(|blocks| blocks.get_mut(at)) {
                block.nodes.sort_unstable();
            }
        }
        sorted
    }

    /// The holdings that the stored blocks give on this machine, whatever the stored machine state says.
    pub(crate) fn rebooked(&self, stored: &Stored) -> Result<Holdings, StateError> {
        let mut held = self.initial();
        let books = held.books_mut();
        for (pod, containers) in &stored.entries {
            let whole = stored.pod_entries.get(pod).filter(|blocks| !blocks.is_empty());
            match (self.pod_level, whole) {
                (PodLevel::Managed, Some(whole)) => {
                    self.rebook(books, pod, &ContainerName::new(""), whole)?;
                }
                _ => {
                    for (container, blocks) in containers {
                        self.rebook(books, pod, container, blocks)?;
                    }
                }
            }
        }
        self.put_blocks(&mut held, stored);
        Ok(held)
    }

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

    /// Books stored blocks on a machine on which they are not yet.
    fn rebook(
        &self,
        books: &mut Books,
        pod: &PodUid,
        container: &ContainerName,
        blocks: &[StoredBlock],
    ) -> Result<(), StateError> {
        let owner = || (pod.clone(), container.clone());
        for block in blocks {
            let mut left = block.size;
            let group = self.list(&block.nodes);
            for id in &block.nodes {
                let Some(node) = self.nodes.index_of(*id) else {
                    let (pod, container) = owner();
                    return Err(StateError::UnknownNode { pod, container });
                };
                books.bind_one(node, &group);
                let at = self.position(block.resource.as_str());
                let Some(at) = at.filter(|at| self.installed(node, *at).is_some()) else {
                    let (pod, container) = owner();
                    return Err(StateError::UnknownResource { pod, container });
                };
                left = books.take(node, at, left);
            }
        }
        Ok(())
    }

    pub(crate) fn list(&self, ids: &[NodeId]) -> NodeList {
        let listed = |id: &NodeId| self.nodes.index_of(*id).map_or(ListedNode::Foreign(*id), ListedNode::Own);
        let nodes: Vec<_> = ids.iter().map(listed).collect();
        NodeList::listed(&nodes)
    }

    /// Whether the stored machine state is the expected one.
    fn is_same(&self, expected: &Books, stored: &Stored) -> bool {
        let mut real = expected.clone();
        self.put_nodes(&mut real, stored);
        let same_node = |(node, id): (NodeIndex, NodeId)| {
            let (Some(stored), Some(expected_node)) = (stored.nodes.get(&id), expected.node(node)) else {
                return false;
            };
            let group = expected_node.group.mask();
            let has_group = stored.cells.iter().all(|id| self.nodes.index_of(*id).is_some())
                && self.list(&stored.cells).mask() == group;
            stored.assignments == expected_node.assignments
                && has_group
                && self.has_same_tables(node, stored)
                && (0..self.resources.len()).all(|at| sums(&real, group, at) == sums(expected, group, at))
        };
        stored.nodes.len() == self.nodes.len() && self.nodes.iter().all(same_node)
    }

    fn has_same_tables(&self, node: NodeIndex, stored: &StoredNode) -> bool {
        let installed = self
            .resources
            .iter()
            .enumerate()
            .filter_map(|(at, resource)| self.installed(node, at).map(|installed| (resource, installed)));
        installed.clone().count() == stored.memory.len()
            && installed.into_iter().all(|(resource, installed)| {
                stored.memory.get(resource).is_some_and(|table| {
                    table.total == installed.total
                        && table.system_reserved == installed.system_reserved
                        && table.allocatable == installed.allocatable
                })
            })
    }

    fn put_nodes(&self, books: &mut Books, stored: &Stored) {
        for (node, id) in self.nodes.iter() {
            let Some(stored) = stored.nodes.get(&id) else { continue };
            if let Some(books) = books.node_mut(node) {
                books.assignments = stored.assignments;
                books.group = self.list(&stored.cells);
            }
            for (at, resource) in self.resources.iter().enumerate() {
                let table = stored.memory.get(resource).copied().unwrap_or_default();
                if let Some(amounts) = books.amounts_mut(node, at) {
                    *amounts = Amounts { reserved: table.reserved, free: table.free };
                }
            }
        }
    }

    fn put_blocks(&self, held: &mut Holdings, stored: &Stored) {
        let block = |block: &StoredBlock| Block {
            nodes: self.list(&block.nodes),
            resource: block.resource.clone(),
            size: block.size,
        };
        for (pod, containers) in &stored.entries {
            for (container, blocks) in containers {
                held.set(pod, container, blocks.iter().map(block).collect());
            }
        }
        for (pod, blocks) in &stored.pod_entries {
            held.set_whole(pod, blocks.iter().map(block).collect());
        }
    }
}

/// What is reserved and free on `mask` together; wraps around.
pub(crate) fn sums(books: &Books, mask: NodeMask, at: usize) -> (u64, u64) {
    let reserved = mask.iter().fold(0_u64, |sum, node| sum.wrapping_add(books.amounts(node, at).reserved));
    (reserved, books.free(mask, at))
}
