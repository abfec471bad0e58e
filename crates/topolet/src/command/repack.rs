//! `topolet repack`: which pods of a node have to move so that another one fits; a running `topolet serve` moves them.

use std::path::Path;

use admission_report::MovesReport;
use anyhow::ensure;
use clap::Args;
use clap::builder::RangedU64ValueParser;
use node_input::{Known, RepackLimits, Repacked, Wholeness, manifest_files, shown_name};
use node_output::{Document, RepackPlans};

use crate::answer;
use crate::arguments::{OutputArguments, PodsArguments, SocketArguments};
use crate::claim_arguments::ClaimArguments;
use crate::client::{self, Sent};
use crate::given::Typed;
use crate::help_forms;
use crate::outcome::Outcome;
use crate::question::Question;
use crate::screen::Screen;

#[derive(Args, Debug)]
#[command(mut_arg("files", |files| files.long_help(help_forms::PODS_WITHOUT_CLAIMS)))]
pub(crate) struct RepackArguments {
    #[command(flatten)]
    pub(crate) typed: Typed,
    #[command(flatten)]
    pub(crate) pods: PodsArguments,
    /// How many pods move at most, from 1 to 8.
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = RangedU64ValueParser::<usize>::new().range(1..=8))]
    pub(crate) moves: usize,
    /// How many attempts are made at most for each pod that is refused.
    #[arg(long, value_name = "NUMBER", default_value_t = 5000)]
    pub(crate) attempts: usize,
    /// Has the `topolet serve` that listens at --socket plan on its own node, carry the plan out and admit the pod, all at
    /// once. Each file has one pod then.
    #[arg(long, conflicts_with_all = NOT_SERVED)]
    pub(crate) apply: bool,
    #[command(flatten)]
    pub(crate) socket: SocketArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// What says which node is meant, and by which rules it decides: a node that is served is what it is.
const NOT_SERVED: [&str; 22] = [
    "machine",
    "kubelet_pid",
    "hugepages",
    "memory",
    "config",
    "kubelet_flags",
    "base",
    "kubelet",
    "decided_by",
    "topolet_config",
    "policy",
    "scope",
    "devices",
    "selected",
    "node",
    "node_name",
    "node_labels",
    "state",
    "pods",
    "empty",
    "strict",
    "are_static",
];

/// The note where the manifests of running pods are unknown.
const NOT_KNOWN: &str =
    "not looked at: which running pods are static or critical, or have the annotation topolet.dev/move";

pub(super) fn run(arguments: &RepackArguments, screen: Screen) -> anyhow::Result<Outcome> {
    if arguments.apply {
        ensure!(
            arguments.pods.imagined.add.is_empty(),
            "--apply moves pods of the node as it is, and --add imagines another: leave one of them out"
        );
        return applied(arguments, screen);
    }
    ensure!(
        !arguments.typed.has("socket"),
        "--socket goes with --apply: without --apply the plan is for the node of --machine"
    );
    let Question { node, residents, asked } =
        Question::read(&arguments.pods, &ClaimArguments::default(), screen)?;
    for warning in &node.warnings {
        screen.warn(warning);
    }
    let mut notes: Vec<String> = node.first_notes().chain(residents.not_looked_at()).collect();
    notes.extend((residents.known == Known::Holders).then(|| NOT_KNOWN.to_owned()));
    notes.extend(node.not_looked_at(&asked.pods).into_iter().chain(node.unchecked(&asked.pods)));
    notes.extend(asked.claims_elsewhere());
    notes.extend(node.hazards.iter().cloned());
    let quarantined = residents.quarantined;
    let mut ledger = residents.ledger;
    let limits = RepackLimits { attempts: arguments.attempts, moves: arguments.moves };
    let mut reports = Vec::new();
    for pod in &asked.pods {
        let Repacked { report, after } = node.repack(&ledger, pod, &quarantined, limits)?;
        reports.push(report);
        ledger = after;
    }
    let is_admitted = reports.iter().all(MovesReport::is_decided_for);
    let plans = RepackPlans { node: &node.line, notes, pods: reports, applied: None };
    let document = Document::new("RepackPlans", &plans).of(&node.line.rules_of);
    if let Some(text) = document.text(arguments.output.output)? {
        screen.print(&text)?;
    } else {
        let mut text = node.line.imagined_line(screen.page) + &node.line.headline(screen.page);
        text.extend(residents.line.map(|line| screen.page.wrapped(&line, 2)));
        text.push_str(&plans.draw(screen.page));
        screen.show(&text)?;
    }
    Ok(match asked.wholeness {
        Wholeness::Partial => Outcome::Partial,
        Wholeness::Whole if is_admitted => Outcome::Done,
        Wholeness::Whole => Outcome::SomeRefused,
    })
}

/// Has a running daemon do it, for the pods of one file after the other. A file that cannot be read, and a pod that the
/// daemon cannot decide on, do not keep the next from it.
fn applied(arguments: &RepackArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let RepackArguments { pods, moves, attempts, socket, output, .. } = arguments;
    let lenient = if pods.reading.lenient { "&fieldValidation=Warn" } else { "" };
    let shape = answer::shape(output, screen);
    let path = format!("/v1/repack?{shape}{lenient}&moves={moves}&attempts={attempts}");
    let apply = |file: &Path| {
        let (bytes, name) = (node_input::read(file)?, shown_name(file));
        let sent = Sent { name: Some(&name), bytes: &bytes };
        let reply = client::send(&socket.socket, "POST", &path, sent)?.good()?;
        answer::show(&reply, output.output, screen)
    };
    let mut outcome = Outcome::Done;
    for file in &manifest_files(&pods.files)? {
        outcome = outcome.max(apply(file).unwrap_or_else(|error| {
            screen.error(&error);
            Outcome::Partial
        }));
    }
    Ok(outcome)
}
