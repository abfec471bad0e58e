//! `topolet repack`: which pods of a node have to restart so that another one fits.

use std::collections::BTreeSet;

use admission_report::{Facts, MovesReport};
use anyhow::bail;
use clap::Args;
use clap::builder::RangedU64ValueParser;
use device_manager::Replies;
use node_input::{ADVICE, Known, LoadedNode, Wholeness};
use node_output::{Document, NodeLine};
use pod_spec::{Pod, PodUid};
use serde::Serialize;
use topology_admission::{Detail, Ledger, Limits, Repack, Tries, Verdict};

use super::admit;
use crate::arguments::{OutputArguments, PodsArguments};
use crate::outcome::Outcome;
use crate::render::Screen;

#[derive(Args, Debug)]
pub(crate) struct RepackArguments {
    #[command(flatten)]
    pub(crate) pods: PodsArguments,
    /// How many pods restart at most, from 1 to 8.
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = RangedU64ValueParser::<usize>::new().range(1..=8))]
    pub(crate) moves: usize,
    /// How many attempts are made at most for each pod that is refused.
    #[arg(long, value_name = "NUMBER", default_value_t = 5000)]
    pub(crate) attempts: usize,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// All plans, as they are written.
#[derive(Debug, Serialize)]
struct Plans<'a> {
    node: &'a NodeLine,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    pods: Vec<MovesReport>,
}

/// What is said where the manifests of running pods are not known.
const NOT_KNOWN: &str =
    "not looked at: which running pods are static or critical, or have the annotation topolet.dev/move";

pub(super) fn run(arguments: &RepackArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let (node, residents, asked) = admit::read(&arguments.pods, screen)?;
    for warning in &node.warnings {
        screen.warn(warning);
    }
    let mut notes = residents.not_looked_at();
    notes.extend((residents.known == Known::Holders).then(|| NOT_KNOWN.to_owned()));
    notes.extend(node.not_looked_at(&asked.pods));
    notes.extend(node.hazards.iter().cloned());
    let quarantined = residents.quarantined;
    let mut ledger = residents.ledger;
    let mut reports = Vec::new();
    for pod in &asked.pods {
        let (report, after) = decide(&node, &ledger, pod, arguments, &quarantined)?;
        reports.push(report);
        ledger = after;
    }
    let is_admitted = reports.iter().all(MovesReport::is_admitted);
    let plans = Plans { node: &node.line, notes, pods: reports };
    let document = Document::new("RepackPlans", &plans).of(&node.line.rules_of);
    if let Some(text) = document.text(arguments.output.output)? {
        screen.print(&text)?;
    } else {
        let mut text = node.line.headline(screen.page);
        text.extend(residents.line.map(|line| screen.page.wrapped(&line, 2)));
        text.extend(plans.notes.iter().map(|note| screen.page.wrapped(&format!("! {note}"), 2)));
        for report in &plans.pods {
            text.push('\n');
            text.push_str(&node_output::moves(report, screen.page));
        }
        screen.show(&text)?;
    }
    Ok(match asked.wholeness {
        Wholeness::Partial => Outcome::Partial,
        Wholeness::Whole if is_admitted => Outcome::Done,
        Wholeness::Whole => Outcome::SomeRefused,
    })
}

/// The report on one pod, and the ledger with it and all moves, where it fits.
fn decide(
    node: &LoadedNode,
    ledger: &Ledger,
    pod: &Pod,
    arguments: &RepackArguments,
    quarantined: &BTreeSet<PodUid>,
) -> anyhow::Result<(MovesReport, Ledger)> {
    let admission = node.node.admission(ledger, pod);
    let (attempt, trace) = admission.trace(Detail::Short);
    let facts = Facts { advice: ADVICE, ..Facts::new(&node.node, ledger, pod, &attempt, &trace) };
    match &attempt.verdict {
        Verdict::Admitted(placement) => {
            let report = MovesReport::admitted(&facts, placement);
            Ok((report, ledger.commit(attempt)?))
        }
        Verdict::Refused(refused) => {
            let limits = Limits::from(Tries(arguments.attempts)).keeping(quarantined);
            let repack = admission.repack(refused, &trace, limits, arguments.moves);
            let report = MovesReport::refused(&facts, refused, &repack, arguments.moves);
            Ok((report, after(node, ledger, pod, &repack)?))
        }
        Verdict::NeedsPlugin(question) => {
            bail!("the device plugin of {} would have to be asked, and there is none", question.resource())
        }
    }
}

fn after(node: &LoadedNode, ledger: &Ledger, pod: &Pod, repack: &Repack) -> anyhow::Result<Ledger> {
    match &repack.plan {
        Some(plan) => Ok(plan.apply(&node.node, ledger, pod, &Replies::new())?),
        None => Ok(ledger.clone()),
    }
}
