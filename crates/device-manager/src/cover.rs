//! How many devices the best node sets of each size have: what decides which sets are preferred.
//!
//! The kubelet finds the smallest sets with enough devices by trying all 2^n of them. Here the most devices that
//! `k` nodes can have is worked out once for each `k`, when a list arrives, and a hint looks it up.
//!
//! A device near one node is easy: the richest nodes first. Devices near several nodes make it a maximum coverage
//! problem, which is hard in general and easy on machines: a node whose devices are all near one other node too is
//! never needed (the memory nodes of a GPU), and nodes that share no device fall into groups that are solved apart
//! and put together. In a group the search tries nodes one by one and gives up a branch that cannot beat what is
//! known for any size.
//!
//! Example: devices on {0}, {0,1}, {2}, {2}. Node 1 is never needed. Groups {0} with 2 and {2} with 2: one node has
//! at most 2 devices, two have 4.
//!
//! Cost: groups of about a dozen nodes are always exact; beyond [`WORK_LIMIT`] steps a group stays with the best
//! found, so that no list, however made up, keeps the node busy. No known machine comes near it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use numa_bitmask::{NodeIndex, NodeMask};

/// How many times a set of devices is looked at for one group of nodes: some hundredths of a second's worth.
const WORK_LIMIT: usize = 1 << 24;

/// The most devices that sets of each size have: `most[k - 1]` for `k` nodes. Ascending, and ends with the size at
/// which all devices with a node are there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Cover {
    most: Vec<u64>,
}

impl Cover {
    /// From the number of devices near each set of nodes.
    pub(crate) fn new(counts: BTreeMap<NodeMask, u64>) -> Self {
        let mut left: Vec<(NodeMask, u64)> =
            counts.into_iter().filter(|(mask, _)| !mask.is_empty()).collect();
        let mut most = Vec::new();
        while let Some((first, _)) = left.first().copied() {
            let mut group = first;
            while let Some((mask, _)) =
                left.iter().find(|(mask, _)| mask.meets(group) && !mask.is_subset(group))
            {
                group |= *mask;
            }
            let (inside, outside): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|(mask, _)| mask.meets(group));
            left = outside;
            most = combined(&most, &Search::new(&inside).run());
        }
        Self { most }
    }

    pub(crate) fn narrowest(&self, count: u64) -> Option<u32> {
        if count == 0 {
            return Some(1);
        }
        let size = self.most.partition_point(|most| *most < count) + 1;
        u32::try_from(size).ok().filter(|_| size <= self.most.len())
    }
}

/// The most devices of two groups of nodes together.
fn combined(a: &[u64], b: &[u64]) -> Vec<u64> {
    let at = |list: &[u64], size: usize| size.checked_sub(1).map_or(0, |last| list[last]);
    let mut most = alloc::vec![0; a.len() + b.len()];
    for from_a in 0..=a.len() {
        for from_b in 0..=b.len() {
            if let Some(size) = (from_a + from_b).checked_sub(1) {
                most[size] = u64::max(most[size], at(a, from_a) + at(b, from_b));
            }
        }
    }
    most
}

/// The search in one group.
struct Search {
    /// Nodes that may be needed, the richest first.
    nodes: Vec<NodeIndex>,
    sets: Vec<(NodeMask, u64)>,
    most: Vec<u64>,
    work: usize,
}

impl Search {
    fn new(sets: &[(NodeMask, u64)]) -> Self {
        let all = sets.iter().fold(NodeMask::EMPTY, |all, (mask, _)| all | *mask);
        // A node is needed unless every set that it is in has a certain other node; of two alike the first stays.
        let mut needed = all;
        for node in all {
            let mut shared = needed;
            for (mask, _) in sets.iter().filter(|(mask, _)| mask.contains(node)) {
                shared &= *mask;
            }
            if !shared.without(node).is_empty() {
                needed = needed.without(node);
            }
        }
        let gain = |node: &NodeIndex| -> u64 {
            sets.iter().filter(|(mask, _)| mask.contains(*node)).map(|(_, count)| count).sum()
        };
        let mut nodes: Vec<NodeIndex> = needed.iter().collect();
        nodes.sort_by_key(|node| core::cmp::Reverse(gain(node)));
        let most = alloc::vec![0; nodes.len()];
        Self { nodes, sets: sets.to_vec(), most, work: WORK_LIMIT }
    }

    fn run(mut self) -> Vec<u64> {
        self.greedy();
        self.branch(0, 0, NodeMask::EMPTY);
        // More nodes never have fewer devices; where the work ran out this is not yet so.
        for size in 1..self.most.len() {
            self.most[size] = self.most[size].max(self.most[size - 1]);
        }
        self.most
    }

    fn covered(&self, nodes: NodeMask) -> u64 {
        self.sets.iter().filter(|(mask, _)| mask.meets(nodes)).map(|(_, count)| count).sum()
    }

    /// The richest node after another: a good beginning, so that most branches are given up.
    fn greedy(&mut self) {
        let mut taken = NodeMask::EMPTY;
        for size in 0..self.nodes.len() {
            let rest = self.nodes.iter().filter(|node| !taken.contains(**node));
            let Some(next) = rest.max_by_key(|node| self.covered(taken.with(**node))) else { break };
            taken = taken.with(*next);
            self.most[size] = self.covered(taken);
        }
    }

    /// Decides about the nodes from position `at` on, after `size` have been taken.
    fn branch(&mut self, at: usize, size: usize, taken: NodeMask) {
        let rest = self.nodes.get(at..).unwrap_or_default();
        let Some(work) = self.work.checked_sub((rest.len() + 1) * self.sets.len()) else { return };
        self.work = work;
        let covered = self.covered(taken);
        if let Some(last) = size.checked_sub(1) {
            self.most[last] = self.most[last].max(covered);
        }
        let mut gains: Vec<u64> = rest.iter().map(|node| self.covered(taken.with(*node)) - covered).collect();
        gains.sort_unstable_by_key(|gain| core::cmp::Reverse(*gain));
        let mut bound = covered;
        let can_improve = gains.iter().enumerate().any(|(more, gain)| {
            bound += gain;
            self.most.get(size + more).is_some_and(|most| bound > *most)
        });
        let (true, Some(node)) = (can_improve, rest.first().copied()) else { return };
        self.branch(at + 1, size + 1, taken.with(node));
        self.branch(at + 1, size, taken);
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use numa_bitmask::NodeMask;
    use proptest::prelude::*;

    use super::Cover;

    /// As the kubelet does it: every set of nodes.
    fn by_trying(counts: &BTreeMap<NodeMask, u64>, wanted: u64) -> Option<u32> {
        let reach = |nodes: NodeMask| -> u64 {
            counts.iter().filter(|(mask, _)| mask.meets(nodes)).map(|(_, count)| count).sum()
        };
        NodeMask::all(8).subsets().find(|nodes| reach(*nodes) >= wanted).map(NodeMask::len)
    }

    proptest! {
        #[test]
        fn agrees_with_trying_every_set(
            counts in prop::collection::btree_map((0_u64..256).prop_map(NodeMask::from_bits), 1_u64..5, 0..10),
            wanted in 0_u64..30,
        ) {
            let total: u64 = counts.iter().filter(|(mask, _)| !mask.is_empty()).map(|(_, count)| count).sum();
            let expected = by_trying(&counts, wanted).filter(|_| wanted <= total);
            prop_assert_eq!(Cover::new(counts).narrowest(wanted), expected);
        }
    }

    #[test]
    fn sixty_four_nodes_with_pairs_at_random_end() {
        let pairs = (0..200_u64).map(|n| {
            let (a, b) = (n.wrapping_mul(0x9e37_79b9) >> 7 & 63, n.wrapping_mul(0x85eb_ca6b) >> 9 & 63);
            (NodeMask::from_bits(1 << a | 1 << b), 1)
        });
        let counts: BTreeMap<_, _> = pairs.collect();
        let total = counts.len() as u64;
        let cover = Cover::new(counts);
        assert!(cover.narrowest(total).is_some());
        assert_eq!(cover.narrowest(total + 1), None);
    }
}
