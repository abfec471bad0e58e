//! Free memory that a request cannot have, since the nodes are bound otherwise; and by whom.
//!
//! A node of a group serves only requests for the whole group, and a node in use joins no other. So a request can be
//! refused beside more free memory than it needs, which the kubelet does not explain.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use numa_bitmask::NodeMask;
use pod_spec::{PodUid, Unit};

use crate::fit::{Count, Fit};
use crate::{Holdings, Static};

/// Nodes that serve together, or one that serves alone, and for whom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The group; a single node stands alone.
    pub nodes: NodeMask,
    /// The pods that have something booked there, by uid.
    pub pods: Vec<PodUid>,
}

/// Nodes that have enough for a request, and why they may not serve it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldBack {
    /// Where there is enough.
    pub enough: Enough,
    /// What is in the way, by nodes; at least one.
    pub bound: Vec<Bound>,
}

/// Which nodes have enough free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enough {
    /// Each of these has enough alone.
    EachOf(NodeMask),
    /// All of these together, and no node alone.
    Together(NodeMask),
}

impl Holdings {
    /// The nodes in use that meet `nodes`: each group, and each node that serves alone.
    #[must_use]
    pub fn bound(&self, nodes: NodeMask) -> Vec<Bound> {
        let used = nodes.iter().filter(|node| self.assignments(*node) > 0);
        let groups: BTreeSet<u64> = used.map(|node| self.group(node).mask().to_bits()).collect();
        let bound = groups.into_iter().map(NodeMask::from_bits).map(|nodes| {
            let containers = self.iter().map(|(pod, _, blocks)| (pod, blocks));
            let mut pods: Vec<PodUid> = containers
                .chain(self.whole_pods())
                .filter(|(_, blocks)| blocks.iter().any(|block| block.nodes.mask().meets(nodes)))
                .map(|(pod, _)| pod.clone())
                .collect();
            pods.sort_unstable();
            pods.dedup();
            Bound { nodes, pods }
        });
        bound.collect()
    }
}

impl Static {
    /// Which nodes, all of `near` among them, would have enough free for `unit` if no node in use were bound to
    /// others or to itself; `None` if it is not that which is in the way.
    #[must_use]
    pub fn held_back(&self, held: &Holdings, unit: Unit<'_>, near: NodeMask) -> Option<HeldBack> {
        let request = self.asked(unit).ok().filter(|request| !request.is_empty())?;
        let fit = Fit::new(self, held, &unit.pod().uid, &request);
        let alone = |node| {
            let mask = NodeMask::single(node);
            near.is_subset(mask) && fit.has_enough(mask) && !fit.accepts(mask)
        };
        let each: NodeMask = self.usable.iter().filter(|node| alone(*node)).collect();
        let enough = if !each.is_empty() {
            Enough::EachOf(each)
        } else if near.is_subset(self.usable) && fit.best(near).is_none() && fit.has_enough(self.usable) {
            Enough::Together(self.usable)
        } else {
            return None;
        };
        let (Enough::EachOf(nodes) | Enough::Together(nodes)) = enough;
        let bound = held.bound(nodes);
        (!bound.is_empty()).then_some(HeldBack { enough, bound })
    }
}

impl Fit<'_> {
    /// Whether `mask` has what is asked for, bound or not.
    fn has_enough(self, mask: NodeMask) -> bool {
        self.is_allocatable(mask) && self.is_free(mask, Count::WithReusable)
    }
}
