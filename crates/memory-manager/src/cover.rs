//! The fewest nodes that have enough of everything.
//!
//! With one resource the richest nodes are the answer. With several this is a covering problem, so it is searched:
//! for each size, from the highest node down, first without the node and then with it, so that the first set found
//! has the smallest number. Two rules cut the search. A branch ends when the richest of the remaining nodes, taken
//! for each resource apart, would not be enough. And nodes with the same amounts are alike: of these the lowest are
//! taken. On real machines, where most nodes are alike, little remains.
//!
//! An amount above what is lacking serves no better than just that, so amounts are cut to it: more nodes are alike
//! then. All of it lives on the stack, for up to four resources.

use core::cmp::Reverse;

use numa_bitmask::{NodeIndex, NodeMask};
use smallvec::SmallVec;

use crate::request::Item;

/// Nodes to choose from, and what they have of each needed resource.
pub(crate) struct Cover {
    must: NodeMask,
    nodes: SmallVec<[NodeIndex; NodeIndex::LIMIT]>,
    needs: SmallVec<[Need; 4]>,
}

/// A resource of which `must` has not enough.
struct Need {
    lacks: u64,
    /// By position in the nodes to choose from.
    amounts: [u64; NodeIndex::LIMIT],
    /// Positions, that of the largest amount first.
    richest: SmallVec<[u8; NodeIndex::LIMIT]>,
}

impl Cover {
    /// How many branches are followed for one size; then a larger set is taken. No machine of today comes near.
    const BRANCHES: u32 = 1 << 16;

    /// Sets of nodes of `within` and all of `must`, with what `needs` ask for.
    pub(crate) fn new<'a>(
        within: NodeMask,
        must: NodeMask,
        needs: impl Iterator<Item = &'a Item>,
        on: impl Fn(NodeIndex, &Item) -> u64,
    ) -> Self {
        let nodes: SmallVec<[NodeIndex; NodeIndex::LIMIT]> = (within - must).iter().collect();
        let mut cover = Self { must, nodes, needs: SmallVec::new() };
        for item in needs {
            let given = must.iter().fold(0_u64, |sum, node| sum.saturating_add(on(node, item)));
            let lacks = item.bytes.saturating_sub(given);
            if lacks > 0 {
                let need = Need::new(lacks, cover.nodes.iter().map(|node| on(*node, item)));
                cover.needs.push(need);
            }
        }
        cover
    }

    /// The set with the fewest nodes, at least `least`, and among those the smallest number; `None` if all nodes
    /// together have not enough.
    pub(crate) fn smallest(&self, least: u32) -> Option<NodeMask> {
        let least = least.saturating_sub(self.must.len()) as usize;
        (least..=self.nodes.len()).find_map(|size| {
            let mut search = Search {
                cover: self,
                have: self.needs.iter().map(|_| 0).collect(),
                chosen: self.must,
                settled: NodeMask::EMPTY,
                branches: Self::BRANCHES,
            };
            search.choose(self.nodes.len(), size).then_some(search.chosen)
        })
    }

    /// The nodes up to position `at` that have the same amounts as the one there.
    fn alike(&self, at: usize) -> NodeMask {
        let is_alike = |other: &usize| self.needs.iter().all(|need| need.amounts[*other] == need.amounts[at]);
        (0..=at).filter(is_alike).map(|other| self.nodes[other]).collect()
    }
}

impl Need {
    fn new(lacks: u64, amounts: impl Iterator<Item = u64>) -> Self {
        let mut need = Self { lacks, amounts: [0; NodeIndex::LIMIT], richest: SmallVec::new() };
        for ((at, own), amount) in (0_u8..).zip(&mut need.amounts).zip(amounts) {
            *own = amount.min(lacks);
            need.richest.push(at);
        }
        let amounts = &need.amounts;
        need.richest.sort_unstable_by_key(|at| (Reverse(amounts[usize::from(*at)]), *at));
        need
    }

    /// What the richest `count` of the first `first` nodes have.
    fn richest(&self, first: usize, count: usize) -> u128 {
        let lower = self.richest.iter().map(|at| usize::from(*at)).filter(|at| *at < first);
        lower.take(count).map(|at| u128::from(self.amounts[at])).sum()
    }
}

struct Search<'a> {
    cover: &'a Cover,
    /// What the chosen nodes have together, by need.
    have: SmallVec<[u128; 4]>,
    chosen: NodeMask,
    /// Nodes that were chosen along with a higher one like them.
    settled: NodeMask,
    branches: u32,
}

impl Search<'_> {
    /// Chooses `count` of the first `first` nodes; leaves things as they were if that cannot be done.
    fn choose(&mut self, first: usize, count: usize) -> bool {
        if count > first || self.branches == 0 || !self.is_in_reach(first, count) {
            return false;
        }
        self.branches -= 1;
        if count == 0 {
            return true;
        }
        let at = first - 1;
        let node = self.cover.nodes[at];
        if self.settled.contains(node) {
            return self.choose(at, count);
        }
        if self.choose(at, count) {
            return true;
        }
        let alike = self.cover.alike(at);
        let size = alike.len();
        let Some(rest) = count.checked_sub(size as usize) else { return false };
        let before = (self.chosen, self.settled);
        (self.chosen, self.settled) = (self.chosen | alike, self.settled | alike);
        self.count(at, |have, more| have + more * u128::from(size));
        if self.choose(at, rest) {
            return true;
        }
        self.count(at, |have, more| have - more * u128::from(size));
        (self.chosen, self.settled) = before;
        false
    }

    fn is_in_reach(&self, first: usize, count: usize) -> bool {
        let mut needs = self.have.iter().zip(&self.cover.needs);
        needs.all(|(have, need)| have + need.richest(first, count) >= u128::from(need.lacks))
    }

    fn count(&mut self, at: usize, change: impl Fn(u128, u128) -> u128) {
        for (have, need) in self.have.iter_mut().zip(&self.cover.needs) {
            *have = change(*have, u128::from(need.amounts[at]));
        }
    }
}
