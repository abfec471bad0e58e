//! The best preferred result, if one can be reached.
//!
//! A combination is preferred when all its hints are, and all its node sets are equal *as given*. So a raw set is
//! agreed if every answer prefers it or has a preferred hint without a node set. It is enough to try the sets of
//! one answer that has no such hint; if all have, those of every answer, and all nodes.
//!
//! Example: CPUs prefer {0} or {1}, memory prefers {1}, devices have no opinion: {1}. If memory preferred {0, 1}
//! only, nothing would be agreed, although {0, 1} would hold the CPUs as well.

use numa_bitmask::NodeMask;
use topology_hint::{Affinity, Answer, Answers, Family, ForeignNodes, Preferred};

use crate::distance::{Tie, Ties};
use crate::policy::SearchError;
use crate::single::{leaves_open, prefers};
use crate::sized::subsets_of_size;
use crate::work::Work;

/// The narrowest preferred node set, ties by `ties`; `None` if nothing is agreed.
pub(crate) fn best(
    nodes: NodeMask,
    ties: Ties<'_>,
    answers: &Answers,
    work: &mut Work,
) -> Result<Option<NodeMask>, SearchError> {
    let mut search = Search { nodes, answers, winner: None, ties, work };
    let closed = answers.iter().map(|(_, answer)| answer).filter(|answer| !leaves_open(*answer));
    if let Some(demanding) = closed.min_by_key(breadth) {
        search.try_answer(demanding)?;
    } else {
        search.offer(nodes)?;
        for (_, answer) in answers.iter() {
            search.try_answer(answer)?;
        }
    }
    Ok(search.winner.and_then(|tie| tie.best()))
}

/// Answers with fewer sets to try come first.
fn breadth(answer: &Answer<'_>) -> usize {
    match answer {
        Answer::NoOpinion | Answer::Impossible => 0,
        Answer::List(list) => list.len(),
        Answer::Family(family) if family.within().is_none() => family.masks().len(),
        Answer::Family(_) => usize::MAX,
    }
}

struct Search<'a, 'w> {
    nodes: NodeMask,
    answers: &'a Answers,
    /// Agreed sets of the smallest size so far.
    winner: Option<Tie<'a>>,
    ties: Ties<'a>,
    work: &'w mut Work,
}

impl Search<'_, '_> {
    fn try_answer(&mut self, answer: Answer<'_>) -> Result<(), SearchError> {
        match answer {
            Answer::NoOpinion | Answer::Impossible => Ok(()),
            Answer::List(list) => {
                for listed in list.iter().filter(|listed| listed.hint.is_preferred()) {
                    if let Affinity::Nodes(mask) = listed.hint.affinity {
                        self.try_raw(mask, listed.foreign)?;
                    }
                }
                Ok(())
            }
            Answer::Family(family) => {
                for (mask, _) in family.masks() {
                    if prefers(family, *mask) {
                        self.try_raw(*mask, ForeignNodes::default())?;
                    }
                }
                self.try_open(family)
            }
        }
    }

    /// The open part of `family`, smallest sets first; stops at the size where something is agreed.
    fn try_open(&mut self, family: Family<'_>) -> Result<(), SearchError> {
        let Some(room) = self.common_room(family) else { return Ok(()) };
        let sizes = match family.preferred() {
            Preferred::Size(size) => size..=size,
            Preferred::SizeOrSockets { .. } => 1..=room.len(),
            Preferred::PerMask => return Ok(()),
        };
        for size in sizes {
            if !self.all_prefer_size(size) {
                continue;
            }
            for mask in subsets_of_size(room, size) {
                self.try_raw(mask, ForeignNodes::default())?;
            }
            if self.winner.as_ref().and_then(Tie::best).is_some_and(|best| best.len() <= size) {
                break;
            }
        }
        Ok(())
    }

    /// The nodes that the open part of `family` and all other families allow at all.
    fn common_room(&self, family: Family<'_>) -> Option<NodeMask> {
        let room = family.within()?;
        Some(self.answers.iter().fold(room, |room, (_, answer)| match answer {
            Answer::Family(other) if !leaves_open(answer) => {
                let exact = other.masks().iter().fold(NodeMask::EMPTY, |all, (mask, _)| all | *mask);
                room & (exact | other.within().unwrap_or_default())
            }
            _ => room,
        }))
    }

    /// Whether no family rules out every set of this size.
    fn all_prefer_size(&self, size: u32) -> bool {
        self.answers.iter().all(|(_, answer)| match answer {
            Answer::Family(family) if !leaves_open(answer) => match family.preferred() {
                Preferred::Size(own) => own == size,
                Preferred::SizeOrSockets { .. } | Preferred::PerMask => true,
            },
            _ => true,
        })
    }

    fn try_raw(&mut self, mask: NodeMask, foreign: ForeignNodes) -> Result<(), SearchError> {
        self.work.step()?;
        let agreed =
            self.answers.iter().all(|(_, answer)| leaves_open(answer) || names(answer, mask, foreign));
        if agreed { self.offer(mask & self.nodes) } else { Ok(()) }
    }

    fn offer(&mut self, mask: NodeMask) -> Result<(), SearchError> {
        if mask.is_empty() {
            return Ok(());
        }
        let narrowest = self.winner.as_ref().and_then(Tie::best).map_or(u32::MAX, NodeMask::len);
        if mask.len() < narrowest {
            self.winner = Some(Tie::new(self.ties));
        }
        if mask.len() <= narrowest
            && let Some(tie) = &mut self.winner
        {
            tie.offer(mask)?;
        }
        Ok(())
    }
}

/// Whether the answer prefers exactly this raw set.
fn names(answer: Answer<'_>, mask: NodeMask, foreign: ForeignNodes) -> bool {
    match answer {
        Answer::NoOpinion | Answer::Impossible => false,
        Answer::Family(family) => foreign == ForeignNodes::default() && prefers(family, mask),
        Answer::List(list) => list.iter().any(|listed| {
            listed.hint.is_preferred()
                && listed.hint.affinity == Affinity::Nodes(mask)
                && listed.foreign == foreign
        }),
    }
}
