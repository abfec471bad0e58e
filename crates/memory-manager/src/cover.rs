//! The fewest nodes that have enough of everything.
//!
//! With one resource the richest nodes are the answer. With several this is a covering problem, so it is searched:
//! for each size, from the highest node down, first without the node and then with it, so that the first set found
//! has the smallest number. Two rules cut the search. A branch ends when the richest of the remaining nodes, taken
//! for each resource apart, would not be enough. And nodes with the same amounts are alike: of these the lowest are
//! taken. On real machines, where most nodes are alike, little remains.

use alloc::vec;
use alloc::vec::Vec;

use numa_bitmask::{NodeIndex, NodeMask};

use crate::request::Item;

/// Nodes to choose from, and what they have of each needed resource.
pub(crate) struct Cover {
    must: NodeMask,
    nodes: Vec<NodeIndex>,
    /// Still needed beyond what `must` has.
    needs: Vec<u64>,
    /// By node and need.
    amounts: Vec<u64>,
    /// By node: the nodes up to it that have the same amounts.
    alike: Vec<NodeMask>,
    /// By count of nodes, count of chosen ones, and need: what the richest chosen of the first nodes have.
    richest: Vec<u64>,
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
        let items: Vec<_> = needs.collect();
        let nodes: Vec<_> = (within - must).iter().collect();
        let given = |item: &Item| must.iter().fold(0_u64, |sum, node| sum.saturating_add(on(node, item)));
        let needs: Vec<_> = items.iter().map(|item| item.bytes.saturating_sub(given(item))).collect();
        let amounts: Vec<_> =
            nodes.iter().flat_map(|node| items.iter().map(|item| on(*node, item))).collect();
        let mut cover = Self { must, nodes, needs, amounts, alike: Vec::new(), richest: Vec::new() };
        cover.alike = (0..cover.nodes.len()).map(|at| cover.alike(at)).collect();
        cover.rank();
        cover
    }

    /// The set with the fewest nodes, at least `least`, and among those the smallest number; `None` if all nodes
    /// together have not enough.
    pub(crate) fn smallest(&self, least: u32) -> Option<NodeMask> {
        let least = least.saturating_sub(self.must.len()) as usize;
        (least..=self.nodes.len()).find_map(|size| {
            let mut search = Search {
                cover: self,
                have: vec![0; self.needs.len()],
                chosen: self.must,
                settled: NodeMask::EMPTY,
                branches: Self::BRANCHES,
            };
            search.choose(self.nodes.len(), size).then_some(search.chosen)
        })
    }

    fn amounts_of(&self, at: usize) -> &[u64] {
        &self.amounts[at * self.needs.len()..][..self.needs.len()]
    }

    fn alike(&self, at: usize) -> NodeMask {
        let own = self.amounts_of(at);
        (0..=at).filter(|other| self.amounts_of(*other) == own).map(|other| self.nodes[other]).collect()
    }

    fn rank(&mut self) {
        let (nodes, needs) = (self.nodes.len(), self.needs.len());
        let mut richest = vec![0; (nodes + 1) * (nodes + 1) * needs];
        for need in 0..needs {
            let mut sorted: Vec<u64> = Vec::with_capacity(nodes);
            for first in 1..=nodes {
                let own = self.amounts_of(first - 1)[need];
                sorted.insert(sorted.partition_point(|other| *other >= own), own);
                let mut sum = 0_u64;
                for count in 1..=nodes {
                    sum = sum.saturating_add(sorted.get(count - 1).copied().unwrap_or(0));
                    richest[(first * (nodes + 1) + count) * needs + need] = sum;
                }
            }
        }
        self.richest = richest;
    }

    fn richest(&self, first: usize, count: usize) -> &[u64] {
        &self.richest[(first * (self.nodes.len() + 1) + count) * self.needs.len()..][..self.needs.len()]
    }
}

struct Search<'a> {
    cover: &'a Cover,
    /// What the chosen nodes have together.
    have: Vec<u128>,
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
        let alike = self.cover.alike[at];
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
        let richest = self.cover.richest(first, count);
        let mut needs = self.have.iter().zip(richest).zip(&self.cover.needs);
        needs.all(|((have, more), need)| have + u128::from(*more) >= u128::from(*need))
    }

    fn count(&mut self, at: usize, change: impl Fn(u128, u128) -> u128) {
        for (have, own) in self.have.iter_mut().zip(self.cover.amounts_of(at)) {
            *have = change(*have, u128::from(*own));
        }
    }
}
