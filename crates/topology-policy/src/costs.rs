//! What the nodes of a room cost each other, prepared for the search for the closest.

use numa_bitmask::{NodeIndex, NodeMask};
use smallvec::SmallVec;

use crate::distance::Distances;
use crate::zone::Zone;

/// Distances in both directions between the nodes of a room.
pub(crate) struct Costs {
    /// By two positions; a node with itself counts once.
    pub(crate) pairs: [[u32; NodeIndex::LIMIT]; NodeIndex::LIMIT],
    /// By position: the other nodes, nearest first.
    pub(crate) nearest: SmallVec<[SmallVec<[NodeIndex; NodeIndex::LIMIT]>; NodeIndex::LIMIT]>,
    /// By position: nodes with the same distances that serve no better.
    pub(crate) worse: [NodeMask; NodeIndex::LIMIT],
    /// Sums of equally many nodes differ by multiples of it; 0 if all are equal.
    pub(crate) grain: u64,
}

impl Costs {
    /// `None` where a distance is missing or so large that sums of floats could round.
    pub(crate) fn new(zone: &Zone<'_, '_>, distances: &Distances) -> Option<Self> {
        let mut pairs = [[0; NodeIndex::LIMIT]; NodeIndex::LIMIT];
        for from in zone.room {
            for to in zone.room {
                let there = distances.small(from, to)?;
                let both = if from == to { there } else { there + distances.small(to, from)? };
                pairs[from.get()][to.get()] = both;
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
                    row[node.get()] == own[other.get()]
                        && zone.is_as_good(node, *other)
                        && (node < *other || !zone.is_as_good(*other, node))
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
