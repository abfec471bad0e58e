//! `topolet admit`: pods from manifests, one after the other, each beside those admitted before it.

use anyhow::bail;
use clap::Args;
use device_manager::Replies;
use pod_spec::Pod;
use serde::Serialize;
use topology_admission::{Detail, Ledger, Tries, Verdict};

use crate::Outcome;
use crate::arguments::{Format, OutputArguments, PodsArguments};
use crate::decision::{Decision, Facts};
use crate::document::Document;
use crate::node::{LoadedNode, NodeLine};
use crate::pods::{self, Asked, Reading, Wholeness};
use crate::render::{self, Screen};
use crate::state::Residents;

#[derive(Args, Debug)]
pub(crate) struct AdmitArguments {
    #[command(flatten)]
    pub(crate) pods: PodsArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

pub(super) fn run(arguments: &AdmitArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let (node, residents, asked) = read(&arguments.pods, screen)?;
    decide(&node, residents, &asked, Depth::Short, (arguments.output.output, screen))
}

/// Everything that the arguments name: the node, what runs on it, and the pods in question.
pub(super) fn read(
    arguments: &PodsArguments,
    screen: Screen,
) -> anyhow::Result<(LoadedNode, Residents, Asked)> {
    let node = LoadedNode::load(&arguments.machine, &arguments.rules)?;
    let reading = Reading { arguments: arguments.reading, static_pods: node.static_pods.as_deref() };
    let asked = pods::from_files(&arguments.files, reading, node.node.pod_level().counts(), screen)?;
    let residents = node.residents(&arguments.residents)?;
    Ok((node, residents, asked))
}

/// How much is told of each decision.
#[derive(Clone, Copy)]
pub(super) enum Depth {
    /// The decision.
    Short,
    /// Everything that led to it, and what would fit, with so many tries.
    Whole(Tries),
}

/// All decisions, as they are written.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are those of the document")]
struct Decisions<'a> {
    node: &'a NodeLine,
    /// What was not looked at, since it is not known; what a kubelet suffers here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    decisions: Vec<Decision>,
}

/// All explanations, as they are written.
#[derive(Debug, Serialize)]
struct Explanations<'a> {
    node: &'a NodeLine,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    pods: Vec<Decision>,
}

/// Decides on the pods in order and shows each decision.
pub(super) fn decide(
    node: &LoadedNode,
    residents: Residents,
    asked: &Asked,
    depth: Depth,
    (format, screen): (Format, Screen),
) -> anyhow::Result<Outcome> {
    for warning in &node.warnings {
        screen.warn(warning);
    }
    let mut notes = residents.not_looked_at();
    notes.extend(node.hazards.iter().cloned());
    let Residents { mut ledger, line, .. } = residents;
    let mut decisions = Vec::new();
    if format == Format::Table {
        let mut head = node.line.headline(screen.glyphs);
        head.extend(line.map(|line| format!("{line}\n")));
        head.extend(notes.iter().map(|note| format!("! {note}\n")));
        screen.show(&head)?;
    }
    for pod in &asked.pods {
        let mut decision;
        (decision, ledger) = one(node, &ledger, pod, depth)?;
        decision.owner = asked.owners.get(&pod.uid).map(ToString::to_string);
        // A person reads the first while the next is worked out.
        if format == Format::Table {
            let draw = match depth {
                Depth::Short => render::decision,
                Depth::Whole(_) => render::explanation,
            };
            let text = draw(&decision, &node.line.line(screen.glyphs), screen.glyphs);
            screen.show(&format!("\n{text}"))?;
        }
        decisions.push(decision);
    }
    let outcome = match asked.wholeness {
        Wholeness::Partial => Outcome::Partial,
        Wholeness::Whole if decisions.iter().all(|decision| decision.admitted) => Outcome::Done,
        Wholeness::Whole => Outcome::SomeRefused,
    };
    let text = match depth {
        Depth::Short => {
            Document::new("Decisions", Decisions { node: &node.line, notes, decisions }).text(format)
        }
        Depth::Whole(_) => {
            Document::new("Explanation", Explanations { node: &node.line, notes, pods: decisions })
                .text(format)
        }
    };
    if let Some(text) = text? {
        screen.print(&text)?;
    }
    Ok(outcome)
}

/// One decision and what holds after it.
fn one(node: &LoadedNode, ledger: &Ledger, pod: &Pod, depth: Depth) -> anyhow::Result<(Decision, Ledger)> {
    let (detail, tries) = match depth {
        Depth::Short => (Detail::Short, Tries::default()),
        Depth::Whole(tries) => (Detail::Merges, tries),
    };
    let replies = Replies::default();
    let (attempt, trace) = node.node.trace_with(detail, ledger, pod, &replies);
    let (verdict, moved) = (attempt.verdict.clone(), attempt.moved.clone());
    let after = ledger.commit(attempt)?;
    let facts = Facts { node, before: ledger, ledger: &after, pod, trace: &trace, moved: &moved };
    let decision = match verdict {
        Verdict::Admitted(placement) => facts.admitted(&placement),
        Verdict::Refused(refused) => {
            let explanation = node.node.explain(ledger, pod, &replies, (&refused, &trace), tries);
            facts.refused(&refused, &explanation)
        }
        Verdict::NeedsPlugin(question) => {
            bail!("the device plugin of {} would have to be asked, and there is none", question.resource())
        }
    };
    Ok((decision, after))
}
