//! `topolet state`: what a kubelet has written of its node, what is wrong with it, and its repair.

mod repair;

use std::path::Path;

use admission_report::Notice;
use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand, ValueHint};
use node_input::{IdentitySource, LIVE, LoadedMachine, Packed, Resident, ResidentsSource};
use node_output::{Document, StateCheck};
use node_state::Problem;

use self::repair::StateRepairArguments;
use crate::arguments::{FolderArguments, MachineArguments, OutputArguments, RulesArguments};
use crate::examples;
use crate::help_forms;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct StateArguments {
    #[command(subcommand)]
    pub(crate) command: StateCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum StateCommand {
    /// Prints what each container holds.
    #[command(after_help = examples::STATE_SHOW)]
    Show(StateShowArguments),
    /// Finds what is wrong, most harmful first, and what the kubelet would say. Exit status 2 if anything is.
    #[command(after_help = examples::STATE_CHECK)]
    Check(StateCheckArguments),
    /// Says what would put the files in order, and with --apply does it and keeps the old ones beside them. If a running
    /// pod may lose what it holds, it writes only with --force as well. Exit status 2 if something is left to do.
    #[command(after_help = examples::STATE_REPAIR)]
    Repair(StateRepairArguments),
}

#[derive(Args, Debug)]
pub(crate) struct StateShowArguments {
    #[command(flatten)]
    pub(crate) folder: FolderArguments,
    /// The machine whose state is shown.
    #[arg(
        short,
        long,
        value_name = "MACHINE",
        conflicts_with = "state",
        value_hint = ValueHint::AnyPath,
        long_help = help_forms::MACHINE
    )]
    pub(crate) machine: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Args, Debug)]
pub(crate) struct StateCheckArguments {
    #[command(flatten)]
    pub(crate) folder: FolderArguments,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    #[command(flatten)]
    pub(crate) rules: RulesArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

pub(super) fn run(arguments: &StateArguments, screen: Screen) -> anyhow::Result<Outcome> {
    match &arguments.command {
        StateCommand::Show(arguments) => show(arguments, screen),
        StateCommand::Check(arguments) => check(arguments, screen),
        StateCommand::Repair(arguments) => repair::run(arguments, screen),
    }
}

/// The state that is given, else the machine's own; of this machine, where there is none, what is missing.
fn read(arguments: &FolderArguments, machine: &str, packed: Option<&Packed>) -> anyhow::Result<Resident> {
    let is_packed = packed.is_some_and(|packed| packed.state.is_some());
    let own = (!is_packed && machine == LIVE).then(|| Path::new(node_input::OWN));
    let state = arguments.state.as_deref().or(own);
    let way_out = "--state DIR names the root folder of a kubelet, or a copy of it";
    let found = node_input::of_node(state, arguments.pods.as_deref(), packed);
    let found = if arguments.state.is_none() {
        found.map_err(|error| anyhow!("{error:#}; {way_out}"))
    } else {
        found
    };
    found?.with_context(|| match packed.and_then(|packed| packed.resident_gaps().next()) {
        Some(gap) => gap.to_owned(),
        None => format!("{machine} has no state of a kubelet; {way_out}"),
    })
}

fn show(arguments: &StateShowArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let name = arguments.machine.as_deref().unwrap_or(LIVE);
    let machine = arguments.machine.as_deref().map(LoadedMachine::named_node).transpose()?;
    let packed = machine.as_ref().and_then(|machine| machine.packed.as_deref());
    let resident = read(&arguments.folder, name, packed)?;
    let mut shown = node_output::shown(&resident.folder.contents_of_any(), &resident.names);
    shown.quarantined = resident.quarantine()?.pods;
    let is_right = shown.files.iter().all(|line| line.readable) && shown.quarantined.is_empty();
    let outcome = if is_right { Outcome::Done } else { Outcome::SomethingWrong };
    match Document::new("State", &shown).text(arguments.output.output)? {
        Some(text) => screen.print(&text)?,
        None => screen.show(&node_output::shown_text(&shown, screen.page))?,
    }
    Ok(outcome)
}

fn check(arguments: &StateCheckArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let source = arguments.machine.source();
    let machine = LoadedMachine::load_node(&source)?;
    let resident = read(&arguments.folder, &arguments.machine.machine, machine.packed.as_deref())?;
    let state = ResidentsSource { state: resident.root.clone(), ..ResidentsSource::default() };
    let rules = arguments.rules.source();
    let rules = rules.of_node(&IdentitySource::default(), &state, machine.packed.as_deref())?;
    let judged = machine.judge(&source, &resident, &rules, None)?;
    for warning in judged.warnings() {
        screen.warn(warning);
    }
    let pods = resident.names.specs().values().map(AsRef::as_ref);
    if let Some(other) = judged.node.why_not_its_pods(pods).filter(|_| judged.by.has_machine()) {
        screen.warn(Notice::warning(other));
    }
    let mut findings = judged.findings(&resident, &resident.quarantine()?);
    let missing = machine.missing_memory(&source.machine).filter(|_| judged.by.has_machine());
    match missing {
        Some(missing) if judged.node.compares_node_totals() => {
            let finding = missing.of_state();
            let at = findings.partition_point(|own| own.problem <= finding.problem);
            findings.insert(at, finding);
        }
        Some(missing) => screen.warn(Notice::warning(missing.to_string())),
        None => {}
    }
    let restart = judged.next_restart(&resident);
    let is_wrong = restart.is_wrong() || findings.iter().any(|finding| finding.problem != Problem::Odd);
    let at_another_boot = judged.node.at_another_boot(&resident.folder).filter(|_| !is_wrong);
    let notes: Vec<&str> = at_another_boot.into_iter().collect();
    let checked = StateCheck::new(&judged.by, &findings, &restart, &notes);
    let document = Document::new("StateCheck", checked).of(judged.by.rules_of());
    if let Some(text) = document.text(arguments.output.output)? {
        screen.print(&text)?;
    } else {
        let told = node_output::checked(&findings, &restart, screen.page);
        let notes: String = notes.iter().map(|note| screen.page.wrapped(&format!("! {note}"), 2)).collect();
        screen.show(&format!("{}\n{told}{notes}", judged.by.headline(screen.page)))?;
    }
    Ok(if is_wrong { Outcome::SomethingWrong } else { Outcome::Done })
}
