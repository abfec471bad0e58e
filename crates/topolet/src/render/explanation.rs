//! A decision with its whole way: every unit, what each node could give, what was answered, and how it was merged.

use super::decision::{self, Columns, line};
use crate::decision::{CandidateView, Decision, MergeView, UnitView};
use crate::render::{Glyphs, columns, ranges};

/// The lines of one explanation, ending in a newline. `node` names the node and its rules.
pub(crate) fn explanation(explained: &Decision, node: &str, glyphs: Glyphs) -> String {
    let mut text = decision::verdict(explained, glyphs);
    text.push_str(&line("node", node));
    text.push_str(&line("class", explained.qos_class));
    if let Some(refusal) = &explained.refusal {
        text.push_str(&decision::reasons(refusal, glyphs));
    }
    text.push_str(&decision::notes(explained, glyphs));
    let many = explained.units.len();
    for (at, unit) in explained.units.iter().enumerate() {
        let is_refused = !explained.admitted && at + 1 == many;
        text.push_str(&self::unit(unit, is_refused, glyphs));
    }
    if many == 0 {
        text.push_str(&line("merge", "none: under policy none nobody is asked where resources are"));
    }
    text
}

fn unit(unit: &UnitView, is_refused: bool, glyphs: Glyphs) -> String {
    let whose = unit
        .container
        .as_ref()
        .map_or_else(|| "the pod as a whole".to_owned(), |name| format!("container {name}"));
    let mark = if is_refused { glyphs.no() } else { glyphs.yes() };
    let mut text = format!("\n  {mark} {whose}\n");
    text.push_str(&decision::resources(unit, Columns::All, glyphs));
    text.extend(unit.bound_memory.as_ref().map(|bound| line("bound", bound)));
    let Some(merge) = &unit.merge else { return text };
    text.push_str(&listed("answers", answers(merge)));
    text.push_str(&listed("node sets", candidates(merge, glyphs)));
    text.push_str(&line("merged", &merged(unit, merge)));
    text
}

fn merged(unit: &UnitView, merge: &MergeView) -> String {
    let preferred = if unit.preferred { "preferred" } else { "not preferred" };
    match (&unit.nodes, merge.accepted) {
        (Some(nodes), true) => format!("NUMA {nodes}, {preferred}: {}", merge.why),
        (None, true) => format!("any NUMA node, {preferred}: {}", merge.why),
        (Some(nodes), false) => {
            format!("refused: the best there is is NUMA {nodes}, {preferred} ({})", merge.why)
        }
        (None, false) => format!("refused: {}", merge.why),
    }
}

/// Under one head.
fn listed(head: &str, rows: Vec<Vec<String>>) -> String {
    let lines = columns(rows, "");
    lines.lines().enumerate().map(|(at, told)| line(if at == 0 { head } else { "" }, told)).collect()
}

fn answers(merge: &MergeView) -> Vec<Vec<String>> {
    let counted = |count: u32| format!("{count} NUMA node{}", if count == 1 { "" } else { "s" });
    let rows = merge.answers.iter().map(|answer| {
        let told = match answer.node_sets {
            "any" => "any NUMA node will do".to_owned(),
            "none" => "no set of NUMA nodes will do".to_owned(),
            _ => {
                let mut parts = Vec::new();
                parts.extend(
                    answer.narrowest.map(|narrowest| format!("needs {} at least", counted(narrowest))),
                );
                parts.push(match answer.preferred {
                    Some(size) => format!("prefers {}", counted(size)),
                    None => "prefers none".to_owned(),
                });
                parts.push(match &answer.alone {
                    Some(nodes) => format!("could be on NUMA {nodes} alone"),
                    None => "could be on no NUMA node alone".to_owned(),
                });
                parts.join(", ")
            }
        };
        vec![answer.resource.clone(), told]
    });
    rows.collect()
}

/// One row for each, in their order; single nodes that are alike share one.
fn candidates(merge: &MergeView, glyphs: Glyphs) -> Vec<Vec<String>> {
    let mut rows: Vec<(bool, Vec<i64>, String, String)> = Vec::new();
    for (at, candidate) in merge.candidates.iter().enumerate() {
        let won = at == 0 && merge.accepted;
        let told = suits(candidate);
        let single: Option<i64> = candidate.nodes.parse().ok();
        match (rows.last_mut(), single) {
            (Some((false, ids, _, same)), Some(id)) if !ids.is_empty() && *same == told => ids.push(id),
            _ => rows.push((won, single.into_iter().collect(), candidate.nodes.clone(), told)),
        }
    }
    let row = |(won, mut ids, nodes, told): (bool, Vec<i64>, String, String)| {
        ids.sort_unstable();
        let nodes = match ids.as_slice() {
            [] | [_] => format!("NUMA {nodes}"),
            _ => format!("NUMA {} each", ranges(ids)),
        };
        vec![if won { glyphs.arrow() } else { "" }.to_owned(), nodes, told]
    };
    rows.into_iter().map(row).collect()
}

fn suits(candidate: &CandidateView) -> String {
    let CandidateView { not_preferred_by, not_offered_by, distance, .. } = candidate;
    let mut parts = Vec::new();
    for (words, names) in [("cannot have", not_offered_by), ("not preferred for", not_preferred_by)] {
        if !names.is_empty() {
            parts.push(format!("{words} {}", names.join(", ")));
        }
    }
    if parts.is_empty() {
        parts.push("preferred for all".to_owned());
    }
    parts.extend(distance.map(|distance| format!("average distance {distance:.1}")));
    parts.join("; ")
}
