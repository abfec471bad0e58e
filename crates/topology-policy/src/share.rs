//! Sharing out the nodes that are left out of a set among several open parts.
//!
//! A set m of a room X is reached when every node of X outside m is missing from the choice of some open part, and
//! every open part still accepts the rest of its nodes. So: as many nodes as needed are packed into the open parts,
//! each of which can spare only so much of every amount.
//!
//! The search takes a node that must go and has the fewest places left, else the one that costs least, and packs it
//! or, where that fails, never packs it there again, nor any node that costs as much there and is no dearer
//! elsewhere. Bound: what each part could spare at most, amount by amount.

use node_cover::{Cover, OutOfSteps, Row, Steps};
use numa_bitmask::{NodeIndex, NodeMask};
use smallvec::SmallVec;

/// The nodes that stay in a set of at most `size` nodes of `room`, with all of `keep` and none of `out`.
pub(crate) fn find(
    covers: &[&Cover<'_>],
    room: NodeMask,
    keep: NodeMask,
    out: NodeMask,
    size: u32,
    steps: &mut Steps,
) -> Result<Option<NodeMask>, OutOfSteps> {
    let slack = |cover: &Cover<'_>, row: &Row<'_>| row.reach(cover.within()) - u128::from(row.need());
    let places = covers.iter().map(|cover| PartShare {
        kept: cover.within(),
        slacks: cover.rows().iter().map(|row| slack(cover, row)).collect(),
        never: cover.must(),
    });
    let places: PartShares = places.collect();
    let (undecided, may_stay) = (room - keep, size - keep.len());
    steps.take()?;
    let packed = match pack_at_once(covers, places.clone(), undecided, out, may_stay) {
        Some(stay) => Some(stay),
        None => Search { covers, out, steps }.pack(places, undecided, may_stay)?,
    };
    Ok(packed.map(|stay| stay | keep))
}

/// What one open part has spared so far.
#[derive(Clone, Debug)]
struct PartShare {
    kept: NodeMask,
    /// By row: what it could still lose.
    slacks: SmallVec<[u128; 3]>,
    /// Nodes that it is known not to spare.
    never: NodeMask,
}

type PartShares = SmallVec<[PartShare; 4]>;

/// Gives each part in turn whatever it can spare, first of the nodes that must go: mostly there is plenty.
fn pack_at_once(
    covers: &[&Cover<'_>],
    mut places: PartShares,
    undecided: NodeMask,
    out: NodeMask,
    may_stay: u32,
) -> Option<NodeMask> {
    let mut left = undecided;
    for nodes in [undecided & out, undecided - out] {
        for (place, cover) in places.iter_mut().zip(covers) {
            for node in (nodes & left) - place.never {
                let is_done = !left.meets(out) && left.len() <= may_stay;
                if !is_done && place.can_spare(cover, node) {
                    place.spare(cover, node);
                    left = left.without(node);
                }
            }
        }
    }
    (!left.meets(out) && left.len() <= may_stay).then_some(left)
}

struct Search<'s, 'c, 'a> {
    covers: &'s [&'c Cover<'a>],
    /// Nodes that must go.
    out: NodeMask,
    steps: &'s mut Steps,
}

impl Search<'_, '_, '_> {
    /// Which of the `undecided` stay, at most `may_stay` of them.
    fn pack(
        &mut self,
        mut places: PartShares,
        undecided: NodeMask,
        may_stay: u32,
    ) -> Result<Option<NodeMask>, OutOfSteps> {
        loop {
            self.steps.take()?;
            let must_go = undecided & self.out;
            if must_go.is_empty() && undecided.len() <= may_stay {
                return Ok(Some(undecided));
            }
            let (mut spared, mut movable) = (0, NodeMask::EMPTY);
            for (place, cover) in places.iter_mut().zip(self.covers) {
                place.never |=
                    (undecided - place.never).iter().filter(|node| !place.can_spare(cover, *node)).collect();
                let candidates = undecided - place.never;
                let rows = cover.rows().iter().zip(&place.slacks);
                let most = rows.map(|(row, slack)| row.most_spared(place.kept, candidates, *slack)).min();
                spared += most.unwrap_or(candidates.len());
                movable |= candidates;
            }
            let stuck = undecided - movable;
            if stuck.meets(must_go) || stuck.len() > may_stay || spared + may_stay < undecided.len() {
                return Ok(None);
            }
            let Some((node, at)) = self.cheapest(&places, undecided, must_go) else { return Ok(None) };
            let mut next = places.clone();
            next[at].spare(self.covers[at], node);
            let packed = self.pack(next, undecided.without(node), may_stay)?;
            if packed.is_some() {
                return Ok(packed);
            }
            places[at].never |= self.no_better(node, at, undecided);
        }
    }

    /// The node to pack next, and where.
    fn cheapest(
        &self,
        places: &PartShares,
        undecided: NodeMask,
        must_go: NodeMask,
    ) -> Option<(NodeIndex, usize)> {
        let homes = |node| places.iter().filter(|place| !place.never.contains(node)).count();
        let nodes = match must_go.iter().min_by_key(|node| homes(*node)) {
            Some(node) => NodeMask::single(node),
            None => undecided,
        };
        let mut best: Option<(f64, NodeIndex, usize)> = None;
        for (at, (place, cover)) in places.iter().zip(self.covers).enumerate() {
            for node in nodes - place.never {
                let cost = place.cost(cover, node);
                if best.is_none_or(|(least, ..)| cost < least) {
                    best = Some((cost, node, at));
                }
            }
        }
        best.map(|(_, node, at)| (node, at))
    }

    /// The nodes that cannot go where `node` cannot: in a solution the two could be swapped.
    fn no_better(&self, node: NodeIndex, at: usize, undecided: NodeMask) -> NodeMask {
        let elsewhere =
            || self.covers.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, cover)| cover);
        let is_no_better = |other: &NodeIndex| {
            *other == node
                || (!self.out.contains(*other) || self.out.contains(node))
                    && self.covers[at].rows().iter().all(|row| row.is_no_dearer(node, *other))
                    && elsewhere().all(|cover| {
                        (!cover.must().contains(*other) || cover.must().contains(node))
                            && cover.rows().iter().all(|row| row.is_no_dearer(*other, node))
                    })
        };
        undecided.iter().filter(is_no_better).collect()
    }
}

impl PartShare {
    fn can_spare(&self, cover: &Cover<'_>, node: NodeIndex) -> bool {
        let mut rows = cover.rows().iter().zip(&self.slacks);
        rows.all(|(row, slack)| row.loss(self.kept, node) <= *slack)
    }

    fn spare(&mut self, cover: &Cover<'_>, node: NodeIndex) {
        for (row, slack) in cover.rows().iter().zip(&mut self.slacks) {
            *slack = slack.saturating_sub(row.loss(self.kept, node));
        }
        self.kept = self.kept.without(node);
    }

    /// The largest part of a slack that `node` takes.
    #[expect(clippy::cast_precision_loss, reason = "decides only what is tried first")]
    fn cost(&self, cover: &Cover<'_>, node: NodeIndex) -> f64 {
        let rows = cover.rows().iter().zip(&self.slacks);
        rows.map(|(row, slack)| row.loss(self.kept, node) as f64 / (*slack as f64 + 1.0)).fold(0.0, f64::max)
    }
}
