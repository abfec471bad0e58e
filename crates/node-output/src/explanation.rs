//! A decision with its whole way: every unit, what each node could give, what was answered, and how it was merged.

use admission_report::{Conclusion, DecidedClaims, MergeReport, Undecided, UnitReport};
use terminal_text::Page;
use topology_model::{NodeId, NodeIds};

use crate::decision::{self, Columns};
use crate::explained_claims::explained;
use crate::pod_group::PodGroup;
use crate::rows::{line, listed};

/// The lines of the explanation of a group of pods, ending in a newline: of the first of them. `node` names the node and
/// its rules, where nothing above does.
#[must_use]
pub fn explanation(pods: &PodGroup, node: Option<&str>, page: Page) -> String {
    let report = &pods.first;
    let mut text = decision::verdict(pods, page);
    text.extend(node.map(|node| line(page, "node", node)));
    text.push_str(&line(page, "class", report.qos_class.name()));
    if let Some(refusal) = report.refusal() {
        text.extend(report.rules.as_ref().map(|rules| line(page, "rules", &rules.to_string())));
        text.push_str(&decision::reasons(refusal, page));
    }
    text.push_str(&decision::ways_out(pods, page));
    text.extend(report.unschedulable().map(|why| explained(why, page)));
    text.push_str(&decision::claims(report, page));
    text.push_str(&decision::kubelet_said(report, page));
    text.push_str(&decision::notes(pods, page));
    let many = report.units.len();
    for (at, unit) in report.units.iter().enumerate() {
        let is_last = at + 1 == many;
        let mark = match report.conclusion {
            Conclusion::Refused(_) | Conclusion::Deferred(_) | Conclusion::Undecided(Undecided::Plugin)
                if is_last =>
            {
                page.no()
            }
            _ => page.yes(),
        };
        text.push_str(&self::unit(unit, report.claims.as_ref(), mark, page));
    }
    if many == 0 && report.unschedulable().is_none() {
        text.push_str(&line(page, "merge", "none: policy none does not ask the managers for hints"));
    }
    text
}

fn unit(unit: &UnitReport, claims: Option<&DecidedClaims>, mark: &str, page: Page) -> String {
    let whose = unit
        .container
        .as_ref()
        .map_or_else(|| "the pod as a whole".to_owned(), |name| format!("container {name}"));
    let mut text = format!("\n  {mark} {whose}\n");
    text.push_str(&decision::resources(unit, claims, Columns::All, page));
    text.extend(unit.handed_on.as_ref().map(|cpus| line(page, "first", &cpus.to_string())));
    text.extend(unit.bound_memory.as_ref().map(|bound| line(page, "bound", &bound.to_string())));
    if let Some(merge) = &unit.merge {
        text.push_str(&listed(page, "answers", answers(merge)));
        text.push_str(&listed(page, "node sets", candidates(merge)));
    }
    text.extend(unit.outcome().map(|outcome| line(page, "merged", &outcome)));
    text
}

fn answers(merge: &MergeReport) -> Vec<Vec<String>> {
    let rows = merge.answers.iter();
    rows.map(|answer| vec![answer.resource.to_string(), answer.node_sets.to_string()]).collect()
}

/// Node sets in question that share a row.
struct Row<'a> {
    is_winner: bool,
    /// The first of them.
    nodes: &'a NodeIds,
    /// Single nodes; none if it is a set of several.
    single: Vec<NodeId>,
    suitability: String,
}

/// One row for each, in their order; single nodes that are alike share one.
fn candidates(merge: &MergeReport) -> Vec<Vec<String>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (at, candidate) in merge.candidates.iter().enumerate() {
        let is_winner = at == 0 && merge.accepted;
        let suitability = candidate.suitability();
        let single = candidate.nodes.single();
        match (rows.last_mut(), single) {
            (Some(row), Some(id))
                if !row.is_winner && !row.single.is_empty() && row.suitability == suitability =>
            {
                row.single.push(id);
            }
            _ => {
                let (nodes, single) = (&candidate.nodes, single.into_iter().collect());
                rows.push(Row { is_winner, nodes, single, suitability });
            }
        }
    }
    let cells = rows.into_iter().map(|Row { is_winner, nodes, single, suitability }| {
        let nodes = match single.as_slice() {
            [] | [_] => format!("NUMA {nodes}"),
            _ => format!("NUMA {} each", single.into_iter().collect::<NodeIds>()),
        };
        let mut cells = vec![nodes, suitability];
        cells.extend(is_winner.then(|| "chosen".to_owned()));
        cells
    });
    let left_out =
        (merge.left_out > 0).then(|| vec![format!("{} more", merge.left_out), "left out here".to_owned()]);
    cells.chain(left_out).collect()
}
