//! The best preferred result, if one can be reached.
//!
//! A combination is preferred when all its hints are, and all its node sets are equal *as given*. So a raw set is
//! agreed if every answer prefers it or has a preferred hint without a node set, and at least one answer names it;
//! if every answer has such a hint, all nodes are agreed too.
//!
//! The answers without such a hint are the *demanding* ones. Where one of them names its preferred sets one by one,
//! it is enough to try these. Else all are families: a set is agreed if it is an exact mask of one of them and the
//! others prefer it, or if the open parts of all accept it and its shape is preferred by all. The latter is a search
//! over sets of the sizes that are preferred by all.
//!
//! Example: CPUs prefer {0} or {1}, memory prefers {1}, devices have no opinion: {1}. If memory preferred {0, 1}
//! only, nothing would be agreed, although {0, 1} would hold the CPUs as well.

use node_cover::{Cover, Row, Steps};
use numa_bitmask::NodeMask;
use smallvec::SmallVec;
use topology_hint::{Affinity, ForeignNodes, ListedHint, Preferred};

use crate::distance::Tie;
use crate::part::{Part, Parts, Rule};
use crate::rooms::offer_best;
use crate::work::Stop;
use crate::zone::{Reach, Zone};

/// Offers the narrowest preferred node sets to `tie`, which holds none yet.
pub(crate) fn best(
    nodes: NodeMask,
    parts: &Parts<'_>,
    tie: &mut Tie<'_>,
    steps: &mut Steps,
) -> Result<(), Stop> {
    let demanding: SmallVec<[&Part<'_>; 8]> = parts.iter().filter(|part| !part.leaves_open()).collect();
    if demanding.iter().any(|part| matches!(part, Part::Free(_))) {
        return Ok(());
    }
    if demanding.is_empty() {
        tie.offer_narrower(nodes)?;
        for part in parts {
            try_all(nodes, &[part], tie, steps)?;
        }
        return Ok(());
    }
    try_all(nodes, &demanding, tie, steps)
}

/// Offers what all of `parts`, at least one, prefer.
fn try_all(nodes: NodeMask, parts: &[&Part<'_>], tie: &mut Tie<'_>, steps: &mut Steps) -> Result<(), Stop> {
    let shortest =
        parts.iter().filter_map(|part| Some((named(part)?, *part))).min_by_key(|(count, _)| *count);
    if let Some((_, part)) = shortest {
        for raw in agreed(part, parts, steps)? {
            tie.offer_narrower(raw.nodes & nodes)?;
        }
        return Ok(());
    }
    let rules: SmallVec<[&Rule<'_>; 8]> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Family(rule) => Some(rule),
            Part::Free(_) | Part::List(_) => None,
        })
        .collect();
    for rule in &rules {
        for (mask, _) in rule.masks() {
            steps.take()?;
            if rules.iter().all(|rule| rule.prefers(mask)) {
                tie.offer_narrower(mask)?;
            }
        }
    }
    try_open(nodes, &rules, tie, steps)
}

/// How many sets a part names, if its preferred sets are all named.
fn named(part: &Part<'_>) -> Option<usize> {
    match part {
        Part::Free(_) => Some(0),
        Part::List(list) => Some(list.len()),
        Part::Family(rule) if rule.prefers_open() => None,
        Part::Family(rule) => Some(rule.masks().count()),
    }
}

/// A set as a hint names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Raw {
    nodes: NodeMask,
    foreign: ForeignNodes,
}

type Raws = SmallVec<[Raw; 64]>;

/// The sets that `part` names and all of `parts` prefer.
fn agreed<'a>(part: &Part<'a>, parts: &[&Part<'a>], steps: &mut Steps) -> Result<Raws, Stop> {
    let mut agreed = preferred_of(part);
    for other in parts.iter().filter(|other| !core::ptr::eq(**other, part)) {
        steps.take_many(1 + agreed.len() as u64)?;
        match other {
            Part::Free(_) => agreed.clear(),
            Part::Family(rule) => {
                agreed.retain(|raw| raw.foreign == ForeignNodes::default() && rule.prefers(raw.nodes));
            }
            Part::List(_) => {
                let own = preferred_of(other);
                agreed.retain(|raw| own.binary_search(raw).is_ok());
            }
        }
    }
    Ok(agreed)
}

/// The sets that a part names and prefers, in order.
fn preferred_of(part: &Part<'_>) -> Raws {
    let named = |listed: &ListedHint| match listed.hint.affinity {
        Affinity::Nodes(nodes) if listed.hint.is_preferred() => Some(Raw { nodes, foreign: listed.foreign }),
        _ => None,
    };
    let mut raws = Raws::new();
    match part {
        Part::Free(_) => {}
        Part::List(list) => raws.extend(list.iter().filter_map(named)),
        Part::Family(rule) => {
            let masks = rule.masks().map(|(mask, _)| mask).filter(|mask| rule.prefers(*mask));
            raws.extend(masks.map(|nodes| Raw { nodes, foreign: ForeignNodes::default() }));
        }
    }
    raws.sort_unstable();
    raws.dedup();
    raws
}

/// The sets that the open parts of all accept in a shape that all prefer, smallest first.
fn try_open(nodes: NodeMask, rules: &[&Rule<'_>], tie: &mut Tie<'_>, steps: &mut Steps) -> Result<(), Stop> {
    let covers: SmallVec<[&Cover<'_>; 8]> = rules.iter().filter_map(|rule| rule.cover.as_ref()).collect();
    if covers.len() < rules.len() {
        return Ok(());
    }
    let zone = Zone::of_all(nodes, &covers);
    let stated = rules.iter().filter_map(|rule| match rule.family.preferred() {
        Preferred::Size(size) => Some(size),
        Preferred::SizeOrSockets { .. } | Preferred::PerMask => None,
    });
    let (from, to) = (stated.clone().max().unwrap_or(1), stated.min().unwrap_or(zone.room.len()));
    for size in from..=to.min(zone.room.len()) {
        let narrowest = tie.best().map_or(u32::MAX, NodeMask::len);
        if narrowest < size {
            break;
        }
        let mut own = tie.clone();
        if narrowest != size {
            own.forget();
        }
        let meetings = rules.iter().filter_map(|rule| Meeting::of(rule.family.preferred(), size)).collect();
        let mut search = Sockets { zone: &zone, size, meetings, touched: SmallVec::new(), steps };
        let searched = search.choose(zone.room, 0, &mut own);
        if own.best().is_some() {
            *tie = own;
        }
        searched?;
    }
    Ok(())
}

/// Sets must meet exactly `count` of `sockets`.
struct Meeting<'p> {
    count: u32,
    sockets: &'p [NodeMask],
}

impl<'p> Meeting<'p> {
    /// What sets of `size` must meet to be preferred, if it is not their size that makes them so.
    fn of(preferred: Preferred<'p>, size: u32) -> Option<Self> {
        match preferred {
            Preferred::SizeOrSockets { size: own, sockets, nodes_of } if own != size => {
                Some(Self { count: sockets, sockets: nodes_of })
            }
            Preferred::Size(_) | Preferred::SizeOrSockets { .. } | Preferred::PerMask => None,
        }
    }
}

/// Tries every choice of sockets to meet: the others' nodes are out, and each chosen one is touched.
struct Sockets<'s, 'z, 'a, 'p> {
    zone: &'s Zone<'z, 'a>,
    size: u32,
    meetings: SmallVec<[Meeting<'p>; 2]>,
    touched: SmallVec<[NodeMask; 8]>,
    steps: &'s mut Steps,
}

impl Sockets<'_, '_, '_, '_> {
    /// Decides on the sockets of the conditions from the `meeting`-th on.
    fn choose(&mut self, room: NodeMask, meeting: usize, tie: &mut Tie<'_>) -> Result<(), Stop> {
        match self.meetings.get(meeting) {
            Some(Meeting { count, sockets }) => {
                let (count, sockets) = (*count, *sockets);
                self.choose_socket(room, count, sockets, meeting, tie)
            }
            None => self.search(room, tie),
        }
    }

    /// Meets `count` of `sockets`.
    fn choose_socket(
        &mut self,
        room: NodeMask,
        count: u32,
        sockets: &[NodeMask],
        meeting: usize,
        tie: &mut Tie<'_>,
    ) -> Result<(), Stop> {
        self.steps.take()?;
        let is_possible = sockets.len() >= count as usize
            && self.zone.may_find(NodeMask::EMPTY, self.zone.room - room, self.size);
        if !is_possible {
            return Ok(());
        }
        let Some((socket, others)) = sockets.split_first() else {
            return self.choose(room, meeting + 1, tie);
        };
        if let Some(count) = count.checked_sub(1)
            && socket.meets(room)
        {
            self.touched.push(*socket);
            self.choose_socket(room, count, others, meeting, tie)?;
            self.touched.pop();
        }
        self.choose_socket(room - *socket, count, others, meeting, tie)
    }

    fn search(&mut self, room: NodeMask, tie: &mut Tie<'_>) -> Result<(), Stop> {
        let Reach::Rows { rows, must, base } = &self.zone.reach else { return Ok(()) };
        let touches: SmallVec<[Row<'_>; 4]> = self.touched.iter().map(|nodes| Row::touch(*nodes)).collect();
        let rows = rows.iter().copied().chain(&touches).collect();
        let zone = Zone { room, reach: Reach::Rows { rows, must: *must, base: *base } };
        offer_best(&zone, self.size, tie, self.steps)
    }
}
