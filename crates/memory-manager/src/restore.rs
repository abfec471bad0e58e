//! Whether stored holdings belong to this machine and configuration.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::{ContainerName, PodUid};
use thiserror::Error;
use topology_model::NodeId;

use crate::books::Books;
use crate::{
    Amounts, Block, Holdings, ListedNode, NodeList, PodLevel, Static, Stored, StoredBlock, StoredNode,
    UnevenGroup, UnevenPages,
};

/// Why stored holdings do not fit. The texts are the kubelet's, where it has one.
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
    /// Everything is as it should be, and the kubelet crashes while it compares; see [`UnevenGroup`].
    #[error(transparent)]
    UnevenPages(UnevenPages),
}

/// Stored blocks that are booked together.
struct Booking<'a> {
    pod: &'a PodUid,
    /// Empty for the pod as a whole.
    container: ContainerName,
    of: Of,
    blocks: &'a [StoredBlock],
}

/// Whose blocks these are.
#[derive(Clone, Copy)]
enum Of {
    Container,
    Pod,
}

impl Static {
    /// The holdings with which a node starts that had `stored`: an empty machine state is a new node, any other
    /// must be what the blocks of all pods give on this machine. Inside a group only sums are compared.
    pub fn restore(&self, stored: &Stored) -> Result<Holdings, StateError> {
        self.restore_ranked(stored, |_, _| ())
    }

    /// The same with the blocks of the lowest rank booked first; those of a pod that is booked as a whole have an
    /// empty container name. The kubelet walks its pods, and the containers of each, in no certain order, and on
    /// odd states (a node whose blocks name different groups) that decides whether it starts.
    pub fn restore_ranked<K: Ord>(
        &self,
        stored: &Stored,
        rank: impl Fn(&PodUid, &ContainerName) -> K,
    ) -> Result<Holdings, StateError> {
        if stored.nodes.is_empty() {
            if !stored.entries.is_empty() {
                return Err(StateError::NoMachineState);
            }
            let mut held = self.initial();
            self.put_blocks(&mut held, stored);
            return Ok(held);
        }
        let mut bookings = self.bookings(stored);
        bookings.sort_by_key(|booking| rank(booking.pod, &booking.container));
        let expected = self.rebooked_in(stored, &bookings)?;
        if !self.is_same(&expected.books, stored) {
            let expected = Stored { nodes: self.stored_nodes(&expected.books), ..stored.clone() };
            return Err(StateError::OtherMachine { expected });
        }
        let mut held = self.initial();
        self.put_nodes(held.books_mut(), stored);
        self.put_blocks(&mut held, &sorted_by_comparison(stored, &bookings));
        match (self.uneven_group, self.uneven_pages(&held)) {
            (UnevenGroup::Crash, Some(uneven)) => Err(StateError::UnevenPages(uneven)),
            (UnevenGroup::Crash, None) | (UnevenGroup::Start, _) => Ok(held),
        }
    }

    /// What is booked anew to check a state: whole pods where these are managed, else containers, by name.
    fn bookings<'a>(&self, stored: &'a Stored) -> Vec<Booking<'a>> {
        let mut bookings = Vec::new();
        for (pod, containers) in &stored.entries {
            let whole = stored.pod_entries.get(pod).filter(|blocks| !blocks.is_empty());
            match (self.pod_level, whole) {
                (PodLevel::Managed, Some(blocks)) => {
                    bookings.push(Booking { pod, container: ContainerName::new(""), of: Of::Pod, blocks });
                }
                _ => bookings.extend(containers.iter().map(|(name, blocks)| Booking {
                    pod,
                    container: name.clone(),
                    of: Of::Container,
                    blocks,
                })),
            }
        }
        bookings
    }

    /// The holdings that the stored blocks give on this machine, whatever the stored machine state says.
    pub(crate) fn rebooked(&self, stored: &Stored) -> Result<Holdings, StateError> {
        self.rebooked_in(stored, &self.bookings(stored))
    }

    fn rebooked_in(&self, stored: &Stored, bookings: &[Booking<'_>]) -> Result<Holdings, StateError> {
        let mut held = self.initial();
        let books = held.books_mut();
        for Booking { pod, container, blocks, .. } in bookings {
            self.rebook(books, pod, container, blocks)?;
        }
        self.put_blocks(&mut held, stored);
        Ok(held)
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

/// The kubelet compares groups in ascending order, and sorts for that the very list of the block that bound a node
/// last.
fn sorted_by_comparison(stored: &Stored, bookings: &[Booking<'_>]) -> Stored {
    let mut sorted = stored.clone();
    let mut last = BTreeMap::new();
    for booking in bookings {
        for (at, block) in booking.blocks.iter().enumerate() {
            last.extend(block.nodes.iter().map(|node| (*node, (booking, at))));
        }
    }
    for (Booking { pod, container, of, .. }, at) in last.into_values() {
        let list = match of {
            Of::Pod => sorted.pod_entries.get_mut(*pod),
            Of::Container => {
                sorted.entries.get_mut(*pod).and_then(|containers| containers.get_mut(container))
            }
        };
        if let Some(block) = list.and_then(|blocks| blocks.get_mut(at)) {
            block.nodes.sort_unstable();
        }
    }
    sorted
}

/// What is reserved and free on `mask` together; wraps around.
pub(crate) fn sums(books: &Books, mask: NodeMask, at: usize) -> (u64, u64) {
    let reserved = mask.iter().fold(0_u64, |sum, node| sum.wrapping_add(books.amounts(node, at).reserved));
    (reserved, books.free(mask, at))
}
