//! A merge with its reasons: what each answer says, which node sets were in question, and why the winner won.
//!
//! Made only when asked for: [`KubeletPolicy::merge`] keeps nothing of it.

mod text;

use alloc::vec::Vec;
use core::cmp::Ordering;

use node_cover::Steps;
use numa_bitmask::NodeMask;
use pod_spec::ResourceName;
use topology_hint::{Affinity, Answer, Answers};

use crate::distance::{Tie, Ties};
use crate::options::MergeOptions;
use crate::outcome::{MergeError, Merged};
use crate::part::{Part, Parts, parts};
use crate::policy::KubeletPolicy;
use crate::{preferred, rooms};

/// How many candidates a trace has at most.
const CANDIDATES: usize = 8;

/// A merge with its reasons.
#[derive(Clone, PartialEq, Debug)]
pub struct MergeTrace {
    /// What came out, the same as without a trace.
    pub merged: Result<Merged, MergeError>,
    /// What each answer says, in their order.
    pub answers: Vec<AnswerSummary>,
    /// Node sets in question, the best first; at most eight, and none under policy `none`.
    pub candidates: Vec<Candidate>,
    /// How many node sets are left out where the list is cut: single nodes under policy `single-numa-node`, else all sets of
    /// nodes; 0 where it is not cut.
    pub left_out: u64,
    /// Why the first candidate won.
    pub why: MergeReason,
}

/// Where one resource can be served, by the answer of its provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnswerSummary {
    /// The resource that was asked for.
    pub resource: ResourceName,
    /// The node sets on which it can be served.
    pub places: ServableSets,
}

/// Where a resource can be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServableSets {
    /// Any node will do.
    NoOpinion,
    /// No node set will do.
    Nowhere,
    /// Some node sets will do.
    Sets {
        /// The nodes that will do alone.
        alone: NodeMask,
        /// The size of the smallest set; `None` if only "any node" is offered.
        narrowest: Option<u32>,
        /// The preferred size; `None` if nothing is preferred.
        preferred: Option<u32>,
    },
}

/// A node set in question.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// The node set that was considered.
    pub nodes: NodeMask,
    /// What each answer makes of exactly these nodes, in the order of the answers.
    pub fits: Vec<Suitability>,
    /// The average distance, where it decides ties and is known.
    pub distance: Option<f64>,
    /// The sum of its nodes' scores, where a placement strategy decides ties.
    pub score: Option<u32>,
}

/// What an answer makes of a node set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Suitability {
    /// As narrow as can be, or the answer leaves it open.
    Preferred,
    /// The answer names it, and not as preferred.
    Acceptable,
    /// The answer does not name it: it comes about only together with others.
    NotNamed,
}

/// Why the winner won.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeReason {
    /// The policy looks at no answer.
    NotLookedAt,
    /// No answer asks for certain nodes: all of them.
    AllOpen,
    /// Every combination of the answers ends without a node: all of them, not preferred.
    NothingInCommon,
    /// No single node is preferred by all: refused.
    NoNodeSuitsAll,
    /// Nothing else was in question.
    OnlyCandidate,
    /// Every answer prefers it, and no other.
    OnlyPreferred,
    /// Equally preferred, but fewer nodes.
    FewerNodes,
    /// Nothing is preferred by all, and its size is the nearest to what the most demanding answer needs at least.
    Size {
        /// What that answer needs.
        needed: u32,
    },
    /// Of equally many nodes these are the closest.
    Closest,
    /// Of equally many nodes, equally close, these have the lowest score of the placement strategy.
    LowestScore,
    /// Of equally good node sets the one with the lowest nodes.
    LowestNumber,
    /// There is no answer, as the error says.
    NoAnswer,
}

impl KubeletPolicy {
    /// The same decision as [`merge`](Self::merge), with its reasons.
    #[must_use]
    pub fn trace(self, nodes: NodeMask, answers: &Answers) -> MergeTrace {
        self.trace_with(nodes, answers, MergeOptions::default())
    }

    /// The same with other ties, or with another limit to the search.
    #[must_use]
    pub fn trace_with(self, nodes: NodeMask, answers: &Answers, options: MergeOptions<'_>) -> MergeTrace {
        let MergeOptions { ties, limit } = options;
        let merged = self.merge_with(nodes, answers, options);
        let parts = parts(nodes, answers);
        let mut steps = limit.start();
        let said = answers.iter().zip(&parts).map(|((resource, answer), part)| AnswerSummary {
            resource: resource.clone(),
            places: ServableSets::of(nodes, answer, part, &mut steps),
        });
        let said = said.collect();
        let (mut candidates, why) = match self {
            Self::None => (Vec::new(), MergeReason::NotLookedAt),
            Self::SingleNumaNode => single(nodes, ties, &parts, &merged),
            Self::BestEffort | Self::Restricted => ranked(nodes, ties, &parts, &merged, &mut steps),
        };
        let all = match self {
            Self::SingleNumaNode => u64::from(nodes.len()),
            _ => 1_u64.checked_shl(nodes.len()).map_or(u64::MAX, |sets| sets - 1),
        };
        let is_cut = candidates.len() >= CANDIDATES;
        candidates.truncate(CANDIDATES);
        let left_out = if is_cut { all - candidates.len() as u64 } else { 0 };
        MergeTrace { merged, answers: said, candidates, left_out, why }
    }
}

impl ServableSets {
    fn of(nodes: NodeMask, answer: Answer<'_>, part: &Part<'_>, steps: &mut Steps) -> Self {
        let alone = nodes.iter().filter(|node| fit(part, (*node).into()) != Suitability::NotNamed).collect();
        match (answer, part) {
            (Answer::NoOpinion, _) => Self::NoOpinion,
            (_, Part::Free(_)) => Self::Nowhere,
            (_, Part::List(list)) => {
                let preferred = list.iter().filter(|listed| listed.hint.is_preferred());
                Self::Sets {
                    alone,
                    narrowest: list.iter().filter_map(|listed| listed.width()).min(),
                    preferred: preferred.filter_map(|listed| listed.width()).min(),
                }
            }
            (_, Part::Family(rule)) => Self::Sets {
                alone,
                narrowest: part.narrowest(steps).ok().flatten(),
                preferred: rule.family.preferred_size(),
            },
        }
    }
}

/// What the answer makes of exactly this set.
fn fit(part: &Part<'_>, mask: NodeMask) -> Suitability {
    if part.leaves_open() || part.prefers(mask) {
        return Suitability::Preferred;
    }
    let named = match part {
        Part::Free(_) => false,
        Part::List(list) => list.iter().any(|listed| listed.hint.affinity == Affinity::Nodes(mask)),
        Part::Family(rule) => rule.accepts(mask),
    };
    if named || part.leaves_all() { Suitability::Acceptable } else { Suitability::NotNamed }
}

fn candidate(nodes: NodeMask, ties: Ties<'_>, parts: &Parts<'_>) -> Candidate {
    Candidate {
        nodes,
        fits: parts.iter().map(|part| fit(part, nodes)).collect(),
        distance: ties.distances().and_then(|distances| distances.average(nodes).ok()),
        score: ties.scores().map(|scores| scores.sum(nodes)),
    }
}

/// Each node alone, those first that miss the fewest preferences.
fn single(
    nodes: NodeMask,
    ties: Ties<'_>,
    parts: &Parts<'_>,
    merged: &Result<Merged, MergeError>,
) -> (Vec<Candidate>, MergeReason) {
    // A distance does not decide between single nodes.
    let ties = ties.scores().map_or(Ties::LowestNumber, |scores| Ties::Scored { distances: None, scores });
    let mut candidates: Vec<_> = nodes.iter().map(|node| candidate(node.into(), ties, parts)).collect();
    let missed =
        |candidate: &Candidate| candidate.fits.iter().filter(|fit| **fit != Suitability::Preferred).count();
    let winner =
        merged.as_ref().ok().and_then(|merged| merged.admitted()).and_then(|hint| hint.affinity.nodes());
    // Where an answer takes any node the merge looks at the nodes that it prefers by name first.
    candidates.sort_by_key(|candidate| {
        (Some(candidate.nodes) != winner, missed(candidate), candidate.score, candidate.nodes)
    });
    let all_open =
        parts.iter().all(|part| part.leaves_open() && nodes.iter().all(|node| !part.prefers(node.into())));
    let suitable = candidates.iter().filter(|candidate| missed(candidate) == 0).count();
    let why = match merged {
        _ if all_open && !nodes.is_empty() => MergeReason::AllOpen,
        Ok(merged) if merged.admitted().is_none() => MergeReason::NoNodeSuitsAll,
        _ if suitable == 1 => MergeReason::OnlyPreferred,
        _ => match candidates.as_slice() {
            [first, second, ..] if first.score < second.score => MergeReason::LowestScore,
            _ => MergeReason::LowestNumber,
        },
    };
    (candidates, why)
}

/// Node sets in the order of the policy; the winner is the first.
fn ranked(
    nodes: NodeMask,
    ties: Ties<'_>,
    parts: &Parts<'_>,
    merged: &Result<Merged, MergeError>,
    steps: &mut Steps,
) -> (Vec<Candidate>, MergeReason) {
    let Ok(merged) = merged else { return (Vec::new(), MergeReason::NoAnswer) };
    let Some(winner) = merged.hint.affinity.nodes() else { return (Vec::new(), MergeReason::NoAnswer) };
    // A search that is cut here only shows fewer candidates: the winner is known.
    let needed = rooms::limit(parts, steps).unwrap_or(0);
    let (mut agreed, mut reached) = (Tie::recording(ties, CANDIDATES), Tie::recording(ties, CANDIDATES));
    let _ = preferred::best(nodes, parts, &mut agreed, steps);
    let _ = rooms::best(nodes, parts, &mut reached, steps);
    let mut seen: Vec<(bool, Candidate)> = Vec::new();
    for (is_agreed, masks) in [(true, agreed.seen()), (false, reached.seen())] {
        for mask in masks.iter().chain([&winner]) {
            if seen.iter().all(|(_, candidate)| candidate.nodes != *mask) {
                let is_preferred = if *mask == winner { merged.hint.is_preferred() } else { is_agreed };
                seen.push((is_preferred, candidate(*mask, ties, parts)));
            }
        }
    }
    let rank = |(is_preferred, candidate): &(bool, Candidate)| {
        let size = candidate.nodes.len();
        match is_preferred {
            true => (0, size),
            false if size <= needed => (1, needed - size),
            false => (2, size),
        }
    };
    let by_distance = |a: &Candidate, b: &Candidate| {
        let far = f64::INFINITY;
        a.distance.unwrap_or(far).total_cmp(&b.distance.unwrap_or(far))
    };
    seen.sort_by(|a, b| {
        let first = |own: &(bool, Candidate)| own.1.nodes != winner;
        let same_rank = || {
            let by_score = || a.1.score.cmp(&b.1.score);
            rank(a).cmp(&rank(b)).then_with(|| by_distance(&a.1, &b.1)).then_with(by_score)
        };
        first(a).cmp(&first(b)).then_with(same_rank).then_with(|| a.1.nodes.cmp(&b.1.nodes))
    });
    let why = match seen.as_slice() {
        _ if agreed.best().is_none() && reached.best().is_none() => MergeReason::NothingInCommon,
        _ if parts.iter().all(|part| matches!(part, Part::Free(_))) => MergeReason::AllOpen,
        [(true, _), (false, _), ..] => MergeReason::OnlyPreferred,
        [(true, first), (_, second), ..] if first.nodes.len() < second.nodes.len() => MergeReason::FewerNodes,
        [(_, first), (_, second), ..] if first.nodes.len() != second.nodes.len() => {
            MergeReason::Size { needed }
        }
        [first, second, ..] if by_distance(&first.1, &second.1) == Ordering::Less => MergeReason::Closest,
        [(_, first), (_, second), ..] if first.score < second.score => MergeReason::LowestScore,
        [_, _, ..] => MergeReason::LowestNumber,
        [(false, _)] => MergeReason::Size { needed },
        [_] | [] => MergeReason::OnlyCandidate,
    };
    (seen.into_iter().map(|(_, candidate)| candidate).collect(), why)
}
