//! The best result when nothing is preferred.
//!
//! Each answer contributes one of its hints, and the result is the intersection. Of a family the contribution is
//! one exact mask, no mask, or *some* set of its open part. Choosing all but the latter leaves a *room*: the
//! intersection X of the exact masks and of the open parts' `within`, and the open parts that still have to
//! choose. Equal rooms are kept once, so cost is bounded by the number of node sets and not by the product of the
//! answers.
//!
//! In a room without open parts the result is X. Otherwise a non-empty m inside X is reachable exactly when the
//! nodes of X outside m can be shared out among the open parts so that each still accepts its `within` without
//! its share: what is taken from one part's set is missing from the intersection, and open parts are closed
//! upwards, so nothing is gained by taking less away elsewhere.
//!
//! Sizes are tried in the policy's order: first the size B that the most demanding answer needs at least, then
//! smaller ones downwards, then larger ones upwards. Since X itself is always reachable, and what is reachable in
//! an open room can be filled up, the largest smaller size is that of a whole room.

use node_cover::{Cover, OutOfSteps, Steps};
use numa_bitmask::NodeMask;
use smallvec::SmallVec;

use crate::closest::closest;
use crate::dense;
use crate::distance::{Tie, Ties};
use crate::lowest::lowest;
use crate::part::{Part, Parts};
use crate::several::several;
use crate::work::Stop;
use crate::zone::Zone;

/// Offers the best node sets that can be reached to `tie`, which holds none yet; nothing if every combination ends
/// in the empty set.
pub(crate) fn best(
    nodes: NodeMask,
    parts: &Parts<'_>,
    tie: &mut Tie<'_>,
    steps: &mut Steps,
) -> Result<(), Stop> {
    let limit = limit(parts, steps)?;
    let rooms = rooms(nodes, parts, steps)?;
    best_of_size(&rooms, parts, limit, tie, steps)?;
    if tie.best().is_some() {
        return Ok(());
    }
    let below = rooms.iter().map(|room| room.nodes.len()).filter(|size| *size < limit).max();
    if let Some(size) = below {
        for room in rooms.iter().filter(|room| room.nodes.len() == size) {
            tie.offer(room.nodes)?;
        }
        return Ok(());
    }
    let widest = rooms.iter().map(|room| room.nodes.len()).max().unwrap_or(0);
    for size in limit + 1..=widest {
        best_of_size(&rooms, parts, size, tie, steps)?;
        if tie.best().is_some() {
            break;
        }
    }
    Ok(())
}

/// The size that the most demanding answer needs at least.
pub(crate) fn limit(parts: &Parts<'_>, steps: &mut Steps) -> Result<u32, OutOfSteps> {
    let mut limit = 0;
    for part in parts {
        limit = limit.max(part.narrowest(steps)?.unwrap_or(0));
    }
    Ok(limit)
}

fn best_of_size(
    rooms: &[Room],
    parts: &Parts<'_>,
    size: u32,
    tie: &mut Tie<'_>,
    steps: &mut Steps,
) -> Result<(), Stop> {
    if size == 0 {
        return Ok(());
    }
    for room in rooms.iter().filter(|room| room.nodes.len() >= size) {
        if room.nodes.len() == size {
            tie.offer(room.nodes)?;
        } else if room.open != 0 {
            offer_best(&room.zone(parts), size, tie, steps)?;
        }
    }
    Ok(())
}

/// Offers the best set of one size in a zone.
pub(crate) fn offer_best(
    zone: &Zone<'_, '_>,
    size: u32,
    tie: &mut Tie<'_>,
    steps: &mut Steps,
) -> Result<(), Stop> {
    if let Some(wanted) = tie.wanted() {
        for mask in several(zone, size, wanted, steps)? {
            tie.record(mask);
        }
    }
    match tie.ties() {
        Ties::LowestNumber => {
            if let Some(mask) = lowest(zone, size, tie.best(), steps)? {
                tie.offer(mask)?;
            }
            Ok(())
        }
        Ties::Closest(_) | Ties::Scored { .. } => closest(zone, size, tie, steps),
    }
}

/// What is left after every answer has chosen an exact mask, no mask, or its open part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Room {
    /// Bit *i*: the *i*-th open part has still to choose.
    pub(crate) open: u64,
    pub(crate) nodes: NodeMask,
}

/// How many open parts a room can tell apart.
const OPEN_PARTS: u32 = u64::BITS;

impl Room {
    pub(crate) fn zone<'z, 'a>(self, parts: &'z Parts<'a>) -> Zone<'z, 'a> {
        let covers = parts.iter().filter_map(Part::cover).zip(0..OPEN_PARTS);
        let open = covers.filter(|(_, bit)| self.open >> bit & 1 == 1);
        Zone::of_room(self.nodes, open.map(|(cover, _): (&'z Cover<'a>, _)| cover))
    }
}

/// Every distinct room; those without nodes lead nowhere and are left out.
pub(crate) fn rooms(nodes: NodeMask, parts: &Parts<'_>, steps: &mut Steps) -> Result<Rooms, OutOfSteps> {
    let mut rooms = Rooms::new();
    if !nodes.is_empty() {
        rooms.push(Room { open: 0, nodes });
    }
    let lists = || {
        parts.iter().filter_map(|part| match part {
            Part::List(list) => Some(*list),
            Part::Free(_) | Part::Family(_) => None,
        })
    };
    // On smaller machines all lists at once.
    let folded = if lists().next().is_some() { dense::intersections(nodes, lists()) } else { None };
    if let Some(masks) = &folded {
        rooms = masks.iter().map(|nodes| Room { open: 0, nodes: *nodes }).collect();
    }
    let mut bits = 0..OPEN_PARTS;
    for part in parts.iter().filter(|part| folded.is_none() || !matches!(part, Part::List(_))) {
        let masks = masks(nodes, part);
        let open = match part.cover() {
            Some(cover) => Some((cover.within(), 1 << bits.next().ok_or(OutOfSteps)?)),
            None => None,
        };
        let mut next = Distinct::default();
        for room in &rooms {
            // Building the choices is far cheaper than looking at the sets they lead to.
            steps.take_many(1 + masks.len() as u64 / 16)?;
            let chosen = masks.iter().map(|mask| Room { nodes: room.nodes & *mask, ..*room });
            let opened = open.map(|(within, bit)| Room { open: room.open | bit, nodes: room.nodes & within });
            let unchanged = part.leaves_all().then_some(*room);
            for choice in chosen.chain(opened).chain(unchanged) {
                next.push(choice);
            }
        }
        rooms = next.finish();
    }
    Ok(rooms)
}

/// The node sets that the answer names, in the machine's nodes.
fn masks(nodes: NodeMask, part: &Part<'_>) -> SmallVec<[NodeMask; 64]> {
    let mut masks: SmallVec<[NodeMask; 64]> = SmallVec::new();
    match part {
        Part::Free(_) => {}
        Part::List(list) => {
            masks.extend(
                list.iter().filter_map(|listed| listed.hint.affinity.nodes()).map(|mask| mask & nodes),
            );
        }
        Part::Family(rule) => masks.extend(rule.masks().map(|(mask, _)| mask)),
    }
    masks.sort_unstable();
    masks.dedup();
    masks
}

/// Rooms in ascending order.
pub(crate) type Rooms = SmallVec<[Room; 64]>;

/// Collects rooms, each kept once; sorted when it has grown, so that it holds at most twice what it must.
#[derive(Default)]
struct Distinct {
    rooms: Rooms,
    sorted: usize,
}

impl Distinct {
    fn push(&mut self, room: Room) {
        if room.nodes.is_empty() || self.rooms.last() == Some(&room) {
            return;
        }
        if self.rooms.len() >= (2 * self.sorted).max(64) {
            self.sort();
        }
        self.rooms.push(room);
    }

    fn sort(&mut self) {
        self.rooms.sort_unstable();
        self.rooms.dedup();
        self.sorted = self.rooms.len();
    }

    fn finish(mut self) -> Rooms {
        self.sort();
        self.rooms
    }
}
