//! The reachable set of one size whose nodes are closest to each other.
//!
//! Depth first over the nodes from the highest down, leaving out before taking, so that sets come in ascending
//! number and the first of several equally close ones is the answer. A branch is left when
//!
//! - no set in it can be closer than the best so far. Each node that is still to be taken costs its distances to
//!   the nodes taken and, by halves, those to its nearest others; the cheapest such nodes bound the rest;
//! - nothing in it can be reached;
//! - it takes a node but not a lower one that nothing tells apart from it.
//!
//! Before that, sets grown from every node in turn, nearest first, give a good set to measure against.

use numa_bitmask::{NodeIndex, NodeMask};
use smallvec::SmallVec;
use topology_hint::Steps;

use crate::distance::{Distances, Tie};
use crate::work::Stop;
use crate::zone::Zone;

/// Below this number of sets nothing is prepared.
const FEW: u64 = 128;

/// Offers the closest reachable sets of `size` nodes to `tie`.
pub(crate) fn closest(
    zone: &Zone<'_, '_>,
    size: u32,
    distances: &Distances,
    tie: &mut Tie<'_>,
    steps: &mut Steps,
) -> Result<(), Stop> {
    let costs = if count_of_size(zone.room, size) > FEW { Costs::new(zone, distances) } else { None };
    let best = tie.best().and_then(|mask| distances.sum(mask));
    let mut search = Search { zone, size, costs: costs.as_ref(), distances, tie, best, is_own: false, steps };
    if let Some(costs) = &costs {
        search.grow(costs)?;
    }
    search.descend(NodeMask::EMPTY, zone.room)
}

/// Distances in both directions between the nodes of a room.
struct Costs {
    /// By two positions; a node with itself counts once.
    pairs: [[u32; NodeIndex::LIMIT]; NodeIndex::LIMIT],
    /// By position: the other nodes, nearest first.
    nearest: SmallVec<[SmallVec<[NodeIndex; NodeIndex::LIMIT]>; NodeIndex::LIMIT]>,
    /// By position: lower nodes that nothing tells apart.
    twins: [NodeMask; NodeIndex::LIMIT],
}

impl Costs {
    /// `None` where a distance is missing or so large that sums of floats could round.
    fn new(zone: &Zone<'_, '_>, distances: &Distances) -> Option<Self> {
        let mut pairs = [[0; NodeIndex::LIMIT]; NodeIndex::LIMIT];
        for from in zone.room {
            for to in zone.room {
                let there = distances.small(from, to)?;
                let both = if from == to { there } else { there + distances.small(to, from)? };
                pairs[from.get()][to.get()] = both;
            }
        }
        let mut nearest = SmallVec::new();
        let mut twins = [NodeMask::EMPTY; NodeIndex::LIMIT];
        for node in NodeMask::all(NodeIndex::LIMIT) {
            let mut others = SmallVec::new();
            if zone.room.contains(node) {
                let row = &pairs[node.get()];
                others.extend(zone.room.without(node));
                others.sort_unstable_by_key(|other: &NodeIndex| (row[other.get()], *other));
                let is_twin = |other: &NodeIndex| {
                    let own = &pairs[other.get()];
                    let rest = zone.room.without(node).without(*other);
                    row[node.get()] == own[other.get()]
                        && rest.iter().all(|third| row[third.get()] == own[third.get()])
                        && zone.is_same(node, *other)
                };
                let lower = zone.room & NodeMask::all(node.get());
                twins[node.get()] = lower.iter().filter(is_twin).collect();
            }
            nearest.push(others);
        }
        Some(Self { pairs, nearest, twins })
    }

    /// What `node` adds to `keep`.
    fn adds(&self, node: NodeIndex, keep: NodeMask) -> u64 {
        let row = &self.pairs[node.get()];
        keep.with(node).iter().map(|other| u64::from(row[other.get()])).sum()
    }

    /// Twice a lower bound of what `more` nodes of `from` add to `keep`.
    fn least(&self, keep: NodeMask, from: NodeMask, more: u32) -> u64 {
        let mut each: SmallVec<[u64; NodeIndex::LIMIT]> = SmallVec::new();
        for node in from {
            let row = &self.pairs[node.get()];
            let near = self.nearest[node.get()].iter().filter(|other| from.contains(**other));
            let halves: u64 = near.take(more as usize - 1).map(|other| u64::from(row[other.get()])).sum();
            each.push(2 * self.adds(node, keep) + halves);
        }
        let more = (more as usize).min(each.len());
        if let Some(last) = more.checked_sub(1) {
            each.select_nth_unstable(last);
        }
        each.iter().take(more).sum()
    }
}

struct Search<'s, 'z, 'a, 't> {
    zone: &'s Zone<'z, 'a>,
    size: u32,
    costs: Option<&'s Costs>,
    distances: &'s Distances,
    tie: &'s mut Tie<'t>,
    /// The sum of the distances of the best set, where it is known.
    best: Option<u64>,
    /// Whether the best set was met in this descent: a later one with the same sum has a higher number.
    is_own: bool,
    steps: &'s mut Steps,
}

impl Search<'_, '_, '_, '_> {
    /// Sets grown from each node.
    fn grow(&mut self, costs: &Costs) -> Result<(), Stop> {
        for seed in self.zone.room {
            let mut set = NodeMask::single(seed);
            while set.len() < self.size {
                self.steps.take_many(u64::from(self.zone.room.len()))?;
                let fits = |node: &NodeIndex| self.zone.may_find(set.with(*node), NodeMask::EMPTY, self.size);
                let others = (self.zone.room - set).iter().filter(fits);
                let Some(next) = others.min_by_key(|node| (costs.adds(*node, set), *node)) else { break };
                set = set.with(next);
            }
            let is_better =
                self.best.is_none_or(|best| self.distances.sum(set).is_some_and(|sum| sum < best));
            if set.len() == self.size && is_better && self.zone.reaches(set, self.steps)? {
                self.take(set)?;
            }
        }
        Ok(())
    }

    fn take(&mut self, set: NodeMask) -> Result<(), Stop> {
        self.tie.offer(set)?;
        self.best = self.tie.best().and_then(|best| self.distances.sum(best));
        Ok(())
    }

    /// Sets with all of `keep` and the rest from `from`.
    fn descend(&mut self, keep: NodeMask, from: NodeMask) -> Result<(), Stop> {
        let (mut keep, mut from) = (keep, from);
        loop {
            self.steps.take()?;
            let Some(more) = self.size.checked_sub(keep.len()) else { return Ok(()) };
            if from.len() < more {
                return Ok(());
            }
            if more == 0 || from.len() == more {
                let set = if more == 0 { keep } else { keep | from };
                if self.zone.reaches(set, self.steps)? {
                    self.take(set)?;
                    self.is_own = self.tie.best() == Some(set);
                }
                return Ok(());
            }
            if self.is_too_far(keep, from, more)
                || !self.zone.may_find(keep, self.zone.room - keep - from, self.size)
            {
                return Ok(());
            }
            let Some(highest) = highest(from) else { return Ok(()) };
            from = from.without(highest);
            self.descend(keep, from)?;
            // Lower twins come first in any set that is worth a look.
            let twins = self.costs.map_or(NodeMask::EMPTY, |costs| costs.twins[highest.get()] & from);
            keep = keep.with(highest) | twins;
            from -= twins;
        }
    }

    fn is_too_far(&self, keep: NodeMask, from: NodeMask, more: u32) -> bool {
        let (Some(costs), Some(best)) = (self.costs, self.best) else { return false };
        let taken = self.distances.sum(keep).unwrap_or(0);
        let least = 2 * taken + costs.least(keep, from, more);
        least > 2 * best || self.is_own && least == 2 * best
    }
}

/// How many subsets of `room` have `size` nodes, as far as `u64` counts.
fn count_of_size(room: NodeMask, size: u32) -> u64 {
    let (places, size) = (u64::from(room.len()), u64::from(size));
    if size > places {
        return 0;
    }
    (0..size.min(places - size)).fold(1, |count: u64, taken| {
        count.checked_mul(places - taken).map_or(u64::MAX, |product| product / (taken + 1))
    })
}

/// The highest position.
pub(crate) fn highest(mask: NodeMask) -> Option<NodeIndex> {
    let bit = 63_u32.checked_sub(mask.to_bits().leading_zeros())?;
    NodeIndex::new(bit as usize).ok()
}
