//! The best result when nothing is preferred.
//!
//! Each answer contributes one of its hints, and the result is the intersection. Of a family the contribution is
//! one exact mask, no mask, or *some* set of its open part. Choosing all but the latter leaves a *room*: the
//! intersection X of the exact masks and of the open parts' `within`, and the open families that still have to
//! choose. Equal rooms are kept once, so cost is bounded by the number of node sets and not by the product of the
//! answers.
//!
//! In a room without open families the result is X. Otherwise a non-empty m inside X is reachable exactly when the
//! nodes of X outside m can be shared out among the open families so that each still accepts its `within` without
//! its share: what is taken from one family's set is missing from the intersection, and open parts are closed
//! upwards, so nothing is gained by taking less away elsewhere.
//!
//! Sizes are tried in the policy's order: first the size B that the most demanding answer needs at least, then
//! smaller ones downwards, then larger ones upwards. Within a size, the tie rule.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use numa_bitmask::NodeMask;
use topology_hint::{Answer, Answers, Family};

use crate::distance::{Tie, Ties};
use crate::policy::SearchError;
use crate::sized::subsets_of_size;
use crate::work::{Exhausted, Work};

/// The best node set that can be reached; `None` if every combination ends in the empty set.
pub(crate) fn best(
    nodes: NodeMask,
    ties: Ties<'_>,
    answers: &Answers,
    work: &mut Work,
) -> Result<Option<NodeMask>, SearchError> {
    let families: Vec<_> = answers.iter().filter_map(|(_, answer)| open_family(answer)).collect();
    let rooms = rooms(nodes, answers, work)?;
    let limit = answers.iter().filter_map(|(_, answer)| narrowest(answer)).max().unwrap_or(0);
    let widest = rooms.iter().map(|room| room.nodes.len()).max().unwrap_or(0);
    for size in (1..=limit).rev().chain(limit + 1..=widest) {
        let mut tie = Tie::new(ties);
        for room in &rooms {
            let out_of_work = |_| Exhausted { best: tie.best() };
            if room.open == 0 {
                if room.nodes.len() == size {
                    work.step().map_err(out_of_work)?;
                    tie.offer(room.nodes)?;
                }
                continue;
            }
            search_room(room, size, &families, &mut tie, work)?;
        }
        if tie.best().is_some() {
            return Ok(tie.best());
        }
    }
    Ok(None)
}

/// Offers every reachable set of `size` in an open room.
fn search_room(
    room: &Room,
    size: u32,
    families: &[Family<'_>],
    tie: &mut Tie<'_>,
    work: &mut Work,
) -> Result<(), SearchError> {
    let open: Vec<_> =
        (0..families.len()).filter(|at| room.open >> at & 1 == 1).map(|at| families[at]).collect();
    let mut shares = alloc::vec![NodeMask::EMPTY; open.len()];
    for mask in subsets_of_size(room.nodes, size) {
        if tie.is_settled_by_number() && tie.best().is_some_and(|best| best <= mask) {
            break;
        }
        work.step().map_err(|_| Exhausted { best: tie.best() })?;
        shares.fill(NodeMask::EMPTY);
        let left_out = room.nodes - mask;
        if is_shareable(left_out, &open, &mut shares, work).map_err(|_| Exhausted { best: tie.best() })? {
            tie.offer(mask)?;
        }
    }
    Ok(())
}

/// Whether the nodes of `left_out` can be shared out among `open`, given the shares so far.
fn is_shareable(
    left_out: NodeMask,
    open: &[Family<'_>],
    shares: &mut [NodeMask],
    work: &mut Work,
) -> Result<bool, Exhausted> {
    let still_accepts = |at: usize, share: NodeMask| {
        let family: &Family<'_> = &open[at];
        family.within().is_some_and(|within| family.open_accepts(within - share))
    };
    // One family that can spare them all settles it, and so does a node that none can spare.
    if (0..open.len()).any(|at| still_accepts(at, shares[at] | left_out)) {
        return Ok(true);
    }
    let Some(node) = left_out.first() else { return Ok(false) };
    for at in 0..open.len() {
        work.step()?;
        let share = shares[at];
        if still_accepts(at, share.with(node)) {
            shares[at] = share.with(node);
            if is_shareable(left_out.without(node), open, shares, work)? {
                return Ok(true);
            }
            shares[at] = share;
        }
    }
    Ok(false)
}

/// What is left after every answer has chosen an exact mask, no mask, or its open part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Room {
    /// Bit *i*: the *i*-th open family has still to choose.
    open: u64,
    nodes: NodeMask,
}

/// Every distinct room; those without nodes lead nowhere and are left out.
fn rooms(nodes: NodeMask, answers: &Answers, work: &mut Work) -> Result<BTreeSet<Room>, Exhausted> {
    let mut rooms = BTreeSet::from([Room { open: 0, nodes }]);
    let mut family_bit = 1_u64;
    for (_, answer) in answers.iter() {
        let open = open_family(answer);
        let mut masks = Vec::new();
        let leaves_all = match answer {
            Answer::NoOpinion | Answer::Impossible => true,
            Answer::List(list) => {
                masks.extend(list.iter().filter_map(|listed| listed.hint.affinity.nodes()));
                masks.len() < list.len()
            }
            Answer::Family(family) => {
                masks.extend(family.masks().iter().map(|(mask, _)| *mask));
                family.any().is_some() || family.accepts_nothing()
            }
        };
        masks.sort_unstable();
        masks.dedup();
        let mut next = BTreeSet::new();
        for room in &rooms {
            let chosen = masks.iter().map(|mask| Room { nodes: room.nodes & *mask, ..*room });
            let opened = open
                .and_then(Family::within)
                .map(|within| Room { open: room.open | family_bit, nodes: room.nodes & within });
            let unchanged = leaves_all.then_some(*room);
            for choice in chosen.chain(opened).chain(unchanged) {
                if !choice.nodes.is_empty() && next.insert(choice) {
                    work.step()?;
                }
            }
        }
        rooms = next;
        if open.is_some() {
            family_bit = family_bit.wrapping_shl(1);
        }
    }
    Ok(rooms)
}

/// The family behind `answer` if its open part accepts anything.
fn open_family(answer: Answer<'_>) -> Option<Family<'_>> {
    match answer {
        Answer::Family(family) if family.open_accepts(family.within()?) => Some(family),
        _ => None,
    }
}

/// The size of the smallest node set that the answer offers.
fn narrowest(answer: Answer<'_>) -> Option<u32> {
    match answer {
        Answer::NoOpinion | Answer::Impossible => None,
        Answer::Family(family) => family.narrowest(),
        Answer::List(list) => list.iter().filter_map(|listed| listed.width()).min(),
    }
}
