//! The most that the best node sets of each size have of one resource.
//!
//! Which sizes are enough for an amount could be found by trying all 2^n node sets. Here the most that `k` nodes can
//! have is worked out once for each `k`, when the supply changes, and an amount is looked up.
//!
//! Amounts of single nodes are easy: the richest nodes first. Amounts that count for several nodes (a device near two
//! of them) make it a maximum coverage problem, which is hard in general and easy on machines: a node whose amounts all
//! count for one other node too is never needed (the memory nodes of a GPU), and nodes that share nothing fall into
//! groups that are solved apart and put together. In a group the search tries nodes one by one and gives up a branch
//! that cannot beat what is known for any size.
//!
//! Example: devices on {0}, {0,1}, {2}, {2}. Node 1 is never needed. Groups {0} with 2 and {2} with 2: one node has
//! at most 2 devices, two have 4.
//!
//! Cost: groups of about a dozen nodes are always exact; where the steps run out the best found counts, so that no
//! supply, however contrived, keeps the caller busy. No known machine comes near it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use numa_bitmask::{NodeIndex, NodeMask};

use crate::{OutOfSteps, Solution, Steps};

/// How many entries of a supply one step covers.
const ENTRIES_OF_A_STEP: usize = 128;

/// The most that sets of each size have: `most[k - 1]` for `k` nodes. Ascending, and ends with the size at which all
/// amounts with a node count.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    most: Vec<u64>,
}

impl Coverage {
    /// An amount of `supply` counts once, whichever of its nodes a set contains; one without nodes never counts.
    ///
    /// Cut, it states for some sizes less than the best set has.
    pub fn new(supply: impl IntoIterator<Item = (NodeMask, u64)>, steps: &mut Steps) -> Solution<Self> {
        let mut amounts: BTreeMap<NodeMask, u64> = BTreeMap::new();
        for (mask, amount) in supply {
            let sum = amounts.entry(mask).or_default();
            *sum = sum.saturating_add(amount);
        }
        let mut left: Vec<(NodeMask, u64)> =
            amounts.into_iter().filter(|(mask, amount)| !mask.is_empty() && *amount > 0).collect();
        let (mut most, mut is_cut) = (Vec::new(), false);
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
            let of_group = Search::new(&inside, steps).run();
            is_cut |= of_group.is_cut();
            most = combined(&most, &of_group.into_inner());
        }
        if is_cut { Solution::Cut(Self { most }) } else { Solution::Exact(Self { most }) }
    }

    /// The size of the smallest sets that have `amount`, at least 1; `None` if all nodes together have less.
    #[must_use]
    #[inline]
    pub fn narrowest(&self, amount: u64) -> Option<u32> {
        if amount == 0 {
            return Some(1);
        }
        let size = self.most.partition_point(|most| *most < amount) + 1;
        u32::try_from(size).ok().filter(|_| size <= self.most.len())
    }
}

/// The most of two groups of nodes together.
fn combined(a: &[u64], b: &[u64]) -> Vec<u64> {
    let at = |list: &[u64], size: usize| size.checked_sub(1).map_or(0, |last| list[last]);
    let mut most = alloc::vec![0; a.len() + b.len()];
    for from_a in 0..=a.len() {
        for from_b in 0..=b.len() {
            if let Some(size) = (from_a + from_b).checked_sub(1) {
                most[size] = u64::max(most[size], at(a, from_a).saturating_add(at(b, from_b)));
            }
        }
    }
    most
}

/// The search in one group.
struct Search<'s> {
    /// Nodes that may be needed, the richest first.
    nodes: Vec<NodeIndex>,
    sets: Vec<(NodeMask, u64)>,
    most: Vec<u64>,
    steps: &'s mut Steps,
}

impl<'s> Search<'s> {
    fn new(sets: &[(NodeMask, u64)], steps: &'s mut Steps) -> Self {
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
        let gain = |node: &NodeIndex| -> u64 { sum(sets.iter().filter(|(mask, _)| mask.contains(*node))) };
        let mut nodes: Vec<NodeIndex> = needed.iter().collect();
        nodes.sort_by_key(|node| Reverse(gain(node)));
        let most = alloc::vec![0; nodes.len()];
        Self { nodes, sets: sets.to_vec(), most, steps }
    }

    fn run(mut self) -> Solution<Vec<u64>> {
        self.greedy();
        let searched = self.branch(0, 0, NodeMask::EMPTY);
        // More nodes never have less; where the steps ran out this is not yet so.
        for size in 1..self.most.len() {
            self.most[size] = self.most[size].max(self.most[size - 1]);
        }
        match searched {
            Ok(()) => Solution::Exact(self.most),
            Err(OutOfSteps) => Solution::Cut(self.most),
        }
    }

    fn covered(&self, nodes: NodeMask) -> u64 {
        sum(self.sets.iter().filter(|(mask, _)| mask.meets(nodes)))
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
    fn branch(&mut self, at: usize, size: usize, taken: NodeMask) -> Result<(), OutOfSteps> {
        let rest = self.nodes.get(at..).unwrap_or_default();
        let entries = (rest.len() + 1) * self.sets.len();
        self.steps.take_many(1 + (entries / ENTRIES_OF_A_STEP) as u64)?;
        let covered = self.covered(taken);
        if let Some(last) = size.checked_sub(1) {
            self.most[last] = self.most[last].max(covered);
        }
        let mut gains: Vec<u64> = rest.iter().map(|node| self.covered(taken.with(*node)) - covered).collect();
        gains.sort_unstable_by_key(|gain| Reverse(*gain));
        let mut bound = covered;
        let can_improve = gains.iter().enumerate().any(|(more, gain)| {
            bound = bound.saturating_add(*gain);
            self.most.get(size + more).is_some_and(|most| bound > *most)
        });
        let (true, Some(node)) = (can_improve, rest.first().copied()) else { return Ok(()) };
        self.branch(at + 1, size + 1, taken.with(node))?;
        self.branch(at + 1, size, taken)
    }
}

fn sum<'e>(entries: impl Iterator<Item = &'e (NodeMask, u64)>) -> u64 {
    entries.fold(0, |sum, (_, amount)| sum.saturating_add(*amount))
}
