//! Node ids, and their positions in one machine.

use alloc::vec::Vec;
use core::fmt;

use numa_bitmask::{NodeIndex, NodeMask};
use thiserror::Error;

/// The number by which the kernel knows a NUMA node. Ids may have gaps and be large; without NUMA support in
/// the kernel the kubelet's "nodes" carry package ids, which can be -1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub i64);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The node ids of one machine in ascending order: the position of an id is its [`NodeIndex`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Nodes(Vec<NodeId>);

/// More nodes than a mask holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("machine has {0} NUMA nodes, more than the 64 that a node mask holds")]
pub struct TooManyNodes(pub usize);

impl Nodes {
    /// The distinct ids among `ids`, at most 64.
    pub fn new(ids: impl IntoIterator<Item = NodeId>) -> Result<Self, TooManyNodes> {
        let mut sorted: Vec<_> = ids.into_iter().collect();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() > NodeIndex::LIMIT {
            return Err(TooManyNodes(sorted.len()));
        }
        Ok(Self(sorted))
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All nodes.
    #[must_use]
    pub fn all(&self) -> NodeMask {
        NodeMask::all(self.0.len())
    }

    /// The position of `id`; `None` if the machine has no such node.
    #[must_use]
    pub fn index_of(&self, id: NodeId) -> Option<NodeIndex> {
        self.0.binary_search(&id).ok().and_then(|at| NodeIndex::new(at).ok())
    }

    /// The id at position `index`; `None` past the last node.
    #[must_use]
    pub fn id(&self, index: NodeIndex) -> Option<NodeId> {
        self.0.get(index.get()).copied()
    }

    /// The ids in ascending order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = NodeId> + '_ {
        self.0.iter().copied()
    }

    /// Every node with its position, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (NodeIndex, NodeId)> + '_ {
        self.all().iter().zip(self.ids())
    }

    /// The ids of `mask` in ascending order; positions past the last node are left out.
    pub fn ids_of(&self, mask: NodeMask) -> impl Iterator<Item = NodeId> + '_ {
        mask.iter().filter_map(|index| self.id(index))
    }

    /// The same as a value that knows its ids.
    #[must_use]
    pub fn listed(&self, mask: NodeMask) -> NodeIds {
        NodeIds(self.ids_of(mask).collect())
    }

    /// The mask of those of `ids` that the machine has.
    pub fn mask_of(&self, ids: impl IntoIterator<Item = NodeId>) -> NodeMask {
        ids.into_iter().filter_map(|id| self.index_of(id)).collect()
    }

    /// The mask in node ids, in list format: `0,8,250-252`.
    #[must_use]
    pub fn show(&self, mask: NodeMask) -> ShowNodes<'_> {
        ShowNodes { nodes: self, mask }
    }
}

/// A mask in node ids; see [`Nodes::show`].
#[derive(Clone, Copy, Debug)]
pub struct ShowNodes<'a> {
    nodes: &'a Nodes,
    mask: NodeMask,
}

impl fmt::Display for ShowNodes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_runs(f, self.nodes.ids_of(self.mask))
    }
}

/// Node ids in ascending order, without their machine; shown in list format: `0,8,250-252`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeIds(Vec<NodeId>);

impl NodeIds {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The only one; `None` if there are several, or none.
    #[must_use]
    pub fn single(&self) -> Option<NodeId> {
        match *self.0 {
            [id] => Some(id),
            _ => None,
        }
    }

    /// The ids in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = NodeId> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<NodeId> for NodeIds {
    fn from_iter<I: IntoIterator<Item = NodeId>>(ids: I) -> Self {
        let mut ids = Vec::from_iter(ids);
        ids.sort_unstable();
        ids.dedup();
        Self(ids)
    }
}

impl fmt::Display for NodeIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_runs(f, self.iter())
    }
}

/// Ascending ids, each run of consecutive ones as its first and last.
fn write_runs(f: &mut fmt::Formatter<'_>, ids: impl Iterator<Item = NodeId>) -> fmt::Result {
    let mut ids = ids.peekable();
    let mut separator = "";
    while let Some(NodeId(first)) = ids.next() {
        let mut last = first;
        while let Some(NodeId(next)) = ids.next_if(|id| last.checked_add(1) == Some(id.0)) {
            last = next;
        }
        write!(f, "{separator}{first}")?;
        if last > first {
            write!(f, "-{last}")?;
        }
        separator = ",";
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn ids_are_listed_in_runs() {
        for (ids, shown) in [
            (&[][..], ""),
            (&[5], "5"),
            (&[8, 1, 0, 2, 1], "0-2,8"),
            (&[-1, 0], "-1-0"),
            (&[i64::MAX], "9223372036854775807"),
        ] {
            let ids: NodeIds = ids.iter().copied().map(NodeId).collect();
            assert_eq!(ids.to_string(), shown);
        }
    }
}
