//! `topolet admit`: pods from manifests, one after the other, each beside those admitted before it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use device_manager::Replies;
use pod_spec::{Phase, Pod};
use serde::Serialize;
use topology_admission::{Ledger, Tries, Verdict};
use topology_manifest::{Source, read_pods};

use crate::Outcome;
use crate::arguments::{Format, MachineArguments, OutputArguments, RulesArguments};
use crate::decision::{Decision, Facts};
use crate::document::{self, Document};
use crate::node::{LoadedNode, NodeLine};
use crate::render::{self, Screen, manifest_style};
use crate::state::{self, PodNames, StateFolder};

#[derive(Args, Debug)]
pub(crate) struct AdmitArguments {
    /// Pods as YAML or JSON, one or many, `kind: Pod` or `List`; `-` reads standard input.
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    #[command(flatten)]
    pub(crate) rules: RulesArguments,
    /// A kubelet's root folder or a copy of it: the node goes on from what its state files say instead of empty.
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// With --state: which pods there are, as a folder like /var/log/pods or manifests with UIDs. What others hold
    /// is free.
    #[arg(long, value_name = "PATH", requires = "state")]
    pub(crate) pods: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

pub(super) fn run(arguments: &AdmitArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let mut pods = Vec::new();
    for path in &arguments.files {
        pods.extend(read(path)?);
    }
    refuse_twins(&pods)?;
    let node = LoadedNode::load(&arguments.machine, &arguments.rules)?;
    let ledger = match &arguments.state {
        None => node.empty_ledger(),
        Some(path) => {
            let names = PodNames::read(arguments.pods.as_deref(), path)?;
            state::ledger(&StateFolder::read(path)?, &node, &names)?
        }
    };
    decide(&node, ledger, pods, arguments.output.output, screen)
}

fn read(path: &Path) -> anyhow::Result<Vec<Pod>> {
    let bytes = document::read(path)?;
    let name = if path.as_os_str() == "-" { "stdin".to_owned() } else { path.display().to_string() };
    let pods = Source::from_bytes(&name, &bytes)
        .and_then(|source| read_pods(&source))
        .map_err(|error| anyhow::anyhow!(error.render(manifest_style())))?;
    Ok(pods.into_iter().map(Pod::delivered).collect())
}

/// The pods that have not ended; the others hold nothing.
fn active(pods: Vec<Pod>, screen: Screen) -> Vec<Pod> {
    let (active, ended): (Vec<Pod>, Vec<Pod>) = pods.into_iter().partition(|pod| pod.phase == Phase::Active);
    for pod in ended {
        screen.warn(format_args!("warning: pod {}/{} has ended and is left out", pod.namespace, pod.name));
    }
    active
}

/// A pod that is there twice would be admitted beside itself.
fn refuse_twins(pods: &[Pod]) -> anyhow::Result<()> {
    let mut seen = BTreeSet::new();
    for pod in pods {
        if !seen.insert(&pod.uid) {
            bail!("pod {}/{} is there twice; give one of them another name", pod.namespace, pod.name);
        }
    }
    Ok(())
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
    for pod in active(pods, screen) {
        let decision;
        (decision, ledger) = one(node, &ledger, &pod.with_defaults(node.node.pod_level().counts()))?;
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

/// One decision and what holds after it.
fn one(node: &LoadedNode, ledger: &Ledger, pod: &Pod) -> anyhow::Result<(Decision, Ledger)> {
    let replies = Replies::default();
    let (attempt, trace) = node.node.trace(ledger, pod, &replies);
    let verdict = attempt.verdict.clone();
    let after = ledger.commit(attempt)?;
    let facts = Facts { node, before: ledger, ledger: &after, pod, trace: &trace };
    let decision = match verdict {
        Verdict::Admitted(placement) => facts.admitted(&placement),
        Verdict::Refused(refused) => {
            let explanation = node.node.explain(ledger, pod, &replies, (&refused, &trace), Tries::default());
            facts.refused(&refused, &explanation)
        }
        Verdict::NeedsPlugin(question) => {
            bail!("the device plugin of {} would have to be asked, and there is none", question.resource())
        }
    };
    Ok((decision, after))
}
