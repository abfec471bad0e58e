//! Groups that no running pod needs.
//!
//! A request that one node cannot hold binds several nodes, and from then on every small request that comes to them
//! is booked on all of them as well. When the large one leaves, the small ones keep the group alive, and requests
//! for a single node are refused beside free memory. The kubelet knows no way out.
//!
//! Here a group is dissolved when each of its containers would do with one node, and all of them can be placed
//! that way: the largest first, each on the node where it leaves least. Their memory has to follow, so the
//! result lists which containers now belong where.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::{ContainerName, PodUid};

use crate::books::Books;
use crate::restore::sums;
use crate::{Block, Holdings, Static};

/// Holdings whose unneeded groups are dissolved, not yet kept.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Regrouped {
    /// The holdings without these groups.
    pub after: Holdings,
    /// The containers whose memory moves, and the node that it moves to.
    pub moved: Vec<Moved>,
}

/// A container whose memory moves to one node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moved {
    /// Its pod.
    pub pod: PodUid,
    /// Its name.
    pub container: ContainerName,
    /// Where it was.
    pub from: NodeMask,
    /// Where it is now.
    pub to: NodeIndex,
}

/// The blocks that one container has in a group.
struct Tenant {
    pod: PodUid,
    container: ContainerName,
    blocks: Vec<Block>,
}

impl Static {
    /// Dissolves every group that none of its containers needs. Groups of which a pod that is booked as a whole has
    /// a part stay.
    pub fn regroup(&self, held: &Holdings) -> Regrouped {
        let mut regrouped = Regrouped { after: held.clone(), moved: Vec::new() };
        let groups: BTreeSet<u64> = self.all().iter().map(|node| held.group(node).mask().to_bits()).collect();
        for group in groups.into_iter().map(NodeMask::from_bits).filter(|group| group.len() > 1) {
            if let Some(tenants) = tenants(held, group) {
                self.dissolve(&mut regrouped, group, tenants);
            }
        }
        regrouped
    }

    fn dissolve(&self, regrouped: &mut Regrouped, group: NodeMask, mut tenants: Vec<Tenant>) {
        let mut after = regrouped.after.clone();
        let books = after.books_mut();
        self.unbook(books, group);
        tenants.sort_by_key(|tenant| core::cmp::Reverse(largest(&tenant.blocks)));
        let mut moved = Vec::new();
        for Tenant { pod, container, blocks } in tenants {
            let books = after.books_mut();
            let Some(to) = narrowest(books, group, &blocks) else { return };
            let blocks: Vec<_> = blocks
                .into_iter()
                .map(|block| Block { nodes: NodeMask::single(to).into(), ..block })
                .collect();
            for block in &blocks {
                books.book(&block.nodes, &block.resource, block.size);
            }
            after.set(&pod, &container, blocks.into());
            moved.push(Moved { pod, container, from: group, to });
        }
        if books_same_sums(&regrouped.after, &after, group) {
            after.forget_reusable_on(group);
            regrouped.after = after;
            regrouped.moved.extend(moved);
        }
    }

    /// The nodes of `group` as they are when nothing is booked there.
    fn unbook(&self, books: &mut Books, group: NodeMask) {
        let fresh = self.initial();
        for node in group {
            let (Some(own), Some(empty)) = (books.node_mut(node), fresh.books.node(node)) else { continue };
            *own = empty.clone();
            for at in 0..self.resources.len() {
                if let Some(amounts) = books.amounts_mut(node, at) {
                    *amounts = fresh.books.amounts(node, at);
                }
            }
        }
    }
}

/// The containers of a group; `None` if something is booked there in another way.
fn tenants(held: &Holdings, group: NodeMask) -> Option<Vec<Tenant>> {
    let is_bound = |node| held.group(node).mask() == group;
    let meets = |block: &Block| block.nodes.mask().meets(group);
    if !group.iter().all(is_bound) || held.whole_pods().any(|(_, blocks)| blocks.iter().any(meets)) {
        return None;
    }
    let mut tenants = Vec::new();
    for (pod, container, blocks) in held.iter().filter(|(_, _, blocks)| blocks.iter().any(meets)) {
        if !blocks.iter().all(|block| block.nodes.mask() == group) {
            return None;
        }
        tenants.push(Tenant { pod: pod.clone(), container: container.clone(), blocks: blocks.to_vec() });
    }
    Some(tenants)
}

fn largest(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| block.size).max().unwrap_or(0)
}

/// The node of `group` with room for all of `blocks` where they leave least; `None` if there is none.
fn narrowest(books: &Books, group: NodeMask, blocks: &[Block]) -> Option<NodeIndex> {
    let left = |node| {
        let each = blocks.iter().map(|block| {
            let at = books.position(&block.resource)?;
            books.amounts(node, at).free.checked_sub(block.size)
        });
        each.collect::<Option<Vec<u64>>>().map(|left| left.into_iter().min())
    };
    group.iter().filter_map(|node| Some((left(node)?, node))).min().map(|(_, node)| node)
}

/// Whether as much is booked on `group` as before: memory that containers share with init containers is not.
fn books_same_sums(before: &Holdings, after: &Holdings, group: NodeMask) -> bool {
    let mut resources = 0..before.books.resources.len();
    resources.all(|at| sums(&before.books, group, at) == sums(&after.books, group, at))
}
