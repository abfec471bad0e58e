//! What the nodes of a room cost each other, prepared for the search for the closest.
//!
//! A score is a cost of one node alone, so it stands where a node's distance to itself does. Distances decide first:
//! where there are both, a distance counts as much as more than all scores of a set.

use numa_bitmask::{NodeIndex, NodeMask};
use smallvec::SmallVec;

use crate::distance::Ties;
use crate::scores::NodeScores;
use crate::zone::Zone;

/// Distances in both directions between the nodes of a room.
pub(crate) struct Costs {
    /// By two positions; a node with itself counts once.
    pub(crate) pairs: [[u32; NodeIndex::LIMIT]; NodeIndex::LIMIT],
    /// By position: the other nodes, nearest first.
    pub(crate) nearest: SmallVec<[SmallVec<[NodeIndex; NodeIndex::LIMIT]>; NodeIndex::LIMIT]>,
    /// By position: nodes with the same distances to all others that cost as much or more alone and serve no better.
    pub(crate) worse: [NodeMask; NodeIndex::LIMIT],
    /// Sums of equally many nodes differ by multiples of it; 0 if all are equal.
    pub(crate) grain: u64,
}

impl Costs {
    /// `None` where a distance is missing or so large that sums of floats could round.
    pub(crate) fn new(zone: &Zone<'_, '_>, ties: Ties<'_>) -> Option<Self> {
        let mut pairs = [[0; NodeIndex::LIMIT]; NodeIndex::LIMIT];
        if let Some(distances) = ties.distances() {
            let weight = weight_of_distance(ties);
            for from in zone.room {
                for to in zone.room {
                    let there = distances.small(from, to)?;
                    let both = if from == to { there } else { there + distances.small(to, from)? };
                    pairs[from.get()][to.get()] = both.checked_mul(weight)?;
                }
            }
        }
        if let Some(scores) = ties.scores() {
            for node in zone.room {
                let own = &mut pairs[node.get()][node.get()];
                *own = own.checked_add(u32::from(scores.of(node)))?;
            }
        }
        let mut nearest = SmallVec::new();
        let mut worse = [NodeMask::EMPTY; NodeIndex::LIMIT];
        for node in NodeMask::all(NodeIndex::LIMIT) {
            let mut others = SmallVec::new();
            if zone.room.contains(node) {
                let row = &pairs[node.get()];
                others.extend(zone.room.without(node));
                others.sort_unstable_by_key(|other: &NodeIndex| (row[other.get()], *other));
                let is_worse = |other: &NodeIndex| {
                    let own = &pairs[other.get()];
                    let rest = zone.room.without(node).without(*other);
                    row[node.get()] <= own[other.get()]
                        && zone.is_as_good(node, *other)
                        && (row[node.get()] < own[other.get()]
                            || node < *other
                            || !zone.is_as_good(*other, node))
                        && rest.iter().all(|third| row[third.get()] == own[third.get()])
                };
                worse[node.get()] = zone.room.without(node).iter().filter(is_worse).collect();
            }
            nearest.push(others);
        }
        let grain = grain(zone.room, &pairs);
        Some(Self { pairs, nearest, worse, grain })
    }

    /// What `node` adds to the sum of `keep`.
    pub(crate) fn adds(&self, node: NodeIndex, keep: NodeMask) -> u64 {
        let row = &self.pairs[node.get()];
        keep.with(node).iter().map(|other| u64::from(row[other.get()])).sum()
    }
}

/// The sum of the costs of `mask`; `None` where [`Costs::new`] has none.
pub(crate) fn sum(mask: NodeMask, ties: Ties<'_>) -> Option<u64> {
    let distances = ties.distances().map_or(Some(0), |distances| distances.sum(mask))?;
    let scores = ties.scores().map_or(0, |scores| u64::from(scores.sum(mask)));
    Some(distances * u64::from(weight_of_distance(ties)) + scores)
}

/// What a distance of 1 counts as: more than the scores of all nodes.
const fn weight_of_distance(ties: Ties<'_>) -> u32 {
    match ties.scores() {
        None => 1,
        Some(_) => NodeScores::MAX_SUM + 1,
    }
}

/// What the distances between two nodes, and those of a node to itself, differ by.
fn grain(room: NodeMask, pairs: &[[u32; NodeIndex::LIMIT]; NodeIndex::LIMIT]) -> u64 {
    let (mut own, mut other, mut grain) = (None, None, 0);
    for from in room {
        for to in room {
            let cost = pairs[from.get()][to.get()];
            let first = *(if from == to { &mut own } else { &mut other }).get_or_insert(cost);
            grain = common_divisor(grain, cost.abs_diff(first));
        }
    }
    u64::from(grain)
}

const fn common_divisor(a: u32, b: u32) -> u32 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
