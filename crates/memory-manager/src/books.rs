//! The books of the nodes: how much is reserved and free, and which nodes are bound together.

use alloc::sync::Arc;
use alloc::vec::Vec;

use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::ResourceName;

use crate::{Block, NodeList};

/// What of a resource is booked on one node, and what is not. Inside a group the figures of a single node drift.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amounts {
    /// Booked by containers, in bytes.
    pub reserved: u64,
    /// Free to be booked, in bytes.
    pub free: u64,
}

/// All nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Books {
    pub(crate) resources: Arc<[ResourceName]>,
    nodes: Vec<NodeBooks>,
    /// By node and resource, node after node.
    amounts: Vec<Amounts>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NodeBooks {
    /// How many blocks name the node.
    pub(crate) assignments: i64,
    /// The nodes that it is bound to, itself included.
    pub(crate) group: NodeList,
}

impl Books {
    /// Books without bookings, of which each resource on each node has `amounts`.
    pub(crate) fn unbooked(resources: Arc<[ResourceName]>, nodes: usize, amounts: Vec<Amounts>) -> Self {
        let alone = |node: NodeIndex| NodeBooks { assignments: 0, group: NodeMask::single(node).into() };
        Self { resources, nodes: NodeMask::all(nodes).iter().map(alone).collect(), amounts }
    }

    pub(crate) fn node(&self, node: NodeIndex) -> Option<&NodeBooks> {
        self.nodes.get(node.get())
    }

    pub(crate) fn node_mut(&mut self, node: NodeIndex) -> Option<&mut NodeBooks> {
        self.nodes.get_mut(node.get())
    }

    /// Whether any block names the node.
    pub(crate) fn is_used(&self, node: NodeIndex) -> bool {
        self.node(node).is_some_and(|books| books.assignments > 0)
    }

    pub(crate) fn position(&self, resource: &ResourceName) -> Option<usize> {
        self.resources.binary_search(resource).ok()
    }

    pub(crate) fn amounts(&self, node: NodeIndex, at: usize) -> Amounts {
        self.amounts.get(node.get() * self.resources.len() + at).copied().unwrap_or_default()
    }

    pub(crate) fn amounts_mut(&mut self, node: NodeIndex, at: usize) -> Option<&mut Amounts> {
        self.amounts.get_mut(node.get() * self.resources.len() + at)
    }

    /// What is free on `mask` together; wraps around.
    pub(crate) fn free(&self, mask: NodeMask, at: usize) -> u64 {
        mask.iter().fold(0, |sum: u64, node| sum.wrapping_add(self.amounts(node, at).free))
    }

    /// Binds `nodes` together and counts one more block on each.
    pub(crate) fn bind(&mut self, nodes: &NodeList) {
        for node in nodes.iter() {
            self.bind_one(node, nodes);
        }
    }

    pub(crate) fn bind_one(&mut self, node: NodeIndex, group: &NodeList) {
        if let Some(books) = self.node_mut(node) {
            books.assignments += 1;
            books.group = group.clone();
        }
    }

    /// Takes as much of `left` as is free on `node`, and gives what remains.
    pub(crate) fn take(&mut self, node: NodeIndex, at: usize, left: u64) -> u64 {
        let Some(amounts) = self.amounts_mut(node, at) else { return left };
        let taken = amounts.free.min(left);
        amounts.reserved = amounts.reserved.wrapping_add(taken);
        amounts.free -= taken;
        left - taken
    }

    /// Books `amount` on `nodes`, from the first on. What fits nowhere is dropped, as in the kubelet.
    pub(crate) fn book(&mut self, nodes: &NodeList, resource: &ResourceName, amount: u64) {
        self.bind(nodes);
        let Some(at) = self.position(resource) else { return };
        nodes.iter().fold(amount, |left, node| self.take(node, at, left));
    }

    /// Undoes the booking of `block`: its amount comes from the first nodes that have something reserved, which
    /// need not be where it was booked. A node that no block names stands alone again.
    pub(crate) fn give_back(&mut self, block: &Block) {
        let at = self.position(&block.resource);
        let mut left = block.size;
        for node in block.nodes.iter() {
            let Some(books) = self.node_mut(node) else { continue };
            books.assignments -= 1;
            if books.assignments == 0 {
                books.group = NodeMask::single(node).into();
            }
            let Some(amounts) = at.and_then(|at| self.amounts_mut(node, at)) else { continue };
            let given = amounts.reserved.min(left);
            amounts.free = amounts.free.wrapping_add(given);
            amounts.reserved -= given;
            left -= given;
        }
    }

    /// Books `size` instead of what `block` has, on the same nodes, which stay bound as they are.
    pub(crate) fn change(&mut self, block: &Block, size: u64) {
        let Some(at) = self.position(&block.resource) else { return };
        if let Some(more) = size.checked_sub(block.size) {
            block.nodes.iter().fold(more, |left, node| self.take(node, at, left));
            return;
        }
        let mut left = block.size - size;
        for node in block.nodes.iter() {
            let Some(amounts) = self.amounts_mut(node, at) else { continue };
            let given = amounts.reserved.min(left);
            amounts.free = amounts.free.wrapping_add(given);
            amounts.reserved -= given;
            left -= given;
        }
    }
}
