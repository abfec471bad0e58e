//! `topolet admit`: pods from manifests, one after the other, each beside those admitted before it.

use anyhow::bail;
use clap::Args;
use device_manager::Replies;
use pod_spec::Pod;
use serde::Serialize;
use topology_admission::{Detail, Ledger, Tries, Verdict};

use crate::arguments::{Format, OutputArguments, PodsArguments};
use crate::decision::{Decision, Facts};
use crate::document::Document;
use crate::node::{LoadedNode, NodeLine};
use crate::render::{self, Screen};
use crate::{Outcome, pods};

#[derive(Args, Debug)]
pub(crate) struct AdmitArguments {
    #[command(flatten)]
    pub(crate) pods: PodsArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

pub(super) fn run(arguments: &AdmitArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let (node, ledger, pods) = read(&arguments.pods)?;
    decide(&node, ledger, pods, arguments.output.output, screen)
}

/// Everything that the arguments name: the node, what runs on it, and the pods in question.
pub(super) fn read(arguments: &PodsArguments) -> anyhow::Result<(LoadedNode, Ledger, Vec<Pod>)> {
    let pods = pods::from_files(&arguments.files)?;
    let node = LoadedNode::load(&arguments.machine, &arguments.rules)?;
    let ledger = node.ledger(arguments.state.as_deref(), arguments.pods.as_deref())?;
    Ok((node, ledger, pods))
}

/// All decisions, as they are written.
#[derive(Debug, Serialize)]
struct Decisions<'a> {
    node: &'a NodeLine,
    decisions: Vec<Decision>,
}

/// Decides on the pods in order and shows each decision.
pub(super) fn decide(
    node: &LoadedNode,
    mut ledger: Ledger,
    pods: Vec<Pod>,
    format: Format,
    screen: Screen,
) -> anyhow::Result<Outcome> {
    for warning in &node.warnings {
        screen.warn(warning);
    }
    let mut decisions = Vec::new();
    let mut outcome = Outcome::Done;
    if format == Format::Table {
        screen.show(&node.line.headline(screen.glyphs))?;
    }
    for pod in pods::active(pods, screen) {
        let decision;
        (decision, ledger) = one(node, &ledger, &pod, Depth::default())?;
        if !decision.admitted {
            outcome = Outcome::SomeRefused;
        }
        match format {
            // A person reads the first while the next is worked out.
            Format::Table => {
                let text = render::decision(&decision, &node.line.line(screen.glyphs), screen.glyphs);
                screen.show(&format!("\n{text}"))?;
            }
            Format::Json | Format::Yaml => decisions.push(decision),
        }
    }
    let document = Document::new("Decisions", Decisions { node: &node.line, decisions });
    if let Some(text) = document.text(format)? {
        screen.print(&text)?;
    }
    Ok(outcome)
}

/// How much is looked at for one decision.
#[derive(Clone, Copy, Default)]
pub(super) struct Depth {
    pub(super) detail: Detail,
    pub(super) tries: Tries,
}

/// One decision and what holds after it.
pub(super) fn one(
    node: &LoadedNode,
    ledger: &Ledger,
    pod: &Pod,
    depth: Depth,
) -> anyhow::Result<(Decision, Ledger)> {
    let pod = &pod.clone().with_defaults(node.node.pod_level().counts());
    let replies = Replies::default();
    let (attempt, trace) = node.node.trace_with(depth.detail, ledger, pod, &replies);
    let (verdict, moved) = (attempt.verdict.clone(), attempt.moved.clone());
    let after = ledger.commit(attempt)?;
    let facts = Facts { node, before: ledger, ledger: &after, pod, trace: &trace, moved: &moved };
    let decision = match verdict {
        Verdict::Admitted(placement) => facts.admitted(&placement),
        Verdict::Refused(refused) => {
            let explanation = node.node.explain(ledger, pod, &replies, (&refused, &trace), depth.tries);
            facts.refused(&refused, &explanation)
        }
        Verdict::NeedsPlugin(question) => {
            bail!("the device plugin of {} would have to be asked, and there is none", question.resource())
        }
    };
    Ok((decision, after))
}
