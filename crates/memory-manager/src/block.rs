//! What one container, or one pod as a whole, has booked of one resource.

use alloc::sync::Arc;

use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::ResourceName;
use topology_model::NodeId;

/// An amount of one resource on some nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Where. More than one node is a group.
    pub nodes: NodeList,
    /// `memory`, or one size of huge pages.
    pub resource: ResourceName,
    /// Bytes. 0 for an init container whose memory a later container took over.
    pub size: u64,
}

impl Block {
    /// Whether both are of one resource on one node set.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.resource == other.resource && self.nodes.mask() == other.nodes.mask()
    }
}

/// Nodes in the order in which amounts are taken from them: ascending, unless a state file says otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeList {
    mask: NodeMask,
    /// `None`: ascending.
    listed: Option<Arc<[ListedNode]>>,
}

/// A node as a state file lists it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ListedNode {
    /// A node of the machine.
    Own(NodeIndex),
    /// One that the machine lacks. Nothing is ever booked there; it is kept to be stored again.
    Foreign(NodeId),
}

impl NodeList {
    /// Nodes as they are listed, in this order.
    #[must_use]
    pub fn listed(nodes: &[ListedNode]) -> Self {
        let own = nodes.iter().filter_map(|node| match node {
            ListedNode::Own(node) => Some(*node),
            ListedNode::Foreign(_) => None,
        });
        let mask: NodeMask = own.clone().collect();
        let ascending = nodes.len() == mask.len() as usize && own.is_sorted();
        Self { mask, listed: (!ascending).then(|| Arc::from(nodes)) }
    }

    /// The nodes as a set.
    #[must_use]
    pub const fn mask(&self) -> NodeMask {
        self.mask
    }

    /// How many are listed; a node that is listed twice counts twice.
    #[must_use]
    pub fn len(&self) -> usize {
        self.listed.as_ref().map_or(self.mask.len() as usize, |listed| listed.len())
    }

    /// Whether no node is listed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The nodes of the machine in their order.
    pub fn iter(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        self.all().filter_map(|node| match node {
            ListedNode::Own(node) => Some(node),
            ListedNode::Foreign(_) => None,
        })
    }

    /// Everything that is listed, in its order.
    pub fn all(&self) -> impl Iterator<Item = ListedNode> + '_ {
        let ascending = if self.listed.is_none() { self.mask } else { NodeMask::EMPTY };
        let listed = self.listed.iter().flat_map(|listed| listed.iter().copied());
        listed.chain(ascending.iter().map(ListedNode::Own))
    }
}

impl From<NodeMask> for NodeList {
    fn from(mask: NodeMask) -> Self {
        Self { mask, listed: None }
    }
}
