//! `topolet config`: whether a kubelet starts with a configuration on a machine, and what would be right there.

use std::collections::BTreeSet;

use admission_report::Notice;
use anyhow::{Context as _, bail, ensure};
use clap::{Args, Subcommand, ValueHint};
use config_advice::{
    Change, DecidedBy, Note, Severity, Trial, changes, check as find_faults, held_back, left_out, notes,
    propose,
};
use node_config::KubeletConfiguration;
use node_input::{
    IdentitySource, JudgedNode, KubeletVersion, LoadedMachine, LoadedNode, ReadConfiguration, Residents,
    ResidentsSource, RulesSource, Running,
};
use node_output::{Document, Format, JudgedBy};
use node_state::{RefusedAgain, Restart, RestartOutcome};
use topology_manifest::ConfigKind;
use topology_model::KubeletView;

use crate::advice::{self, Checked, Expected, Finding, Given};
use crate::arguments::{MachineArguments, OutputArguments, ResidentsArguments, programs};
use crate::examples;
use crate::outcome::Outcome;
use crate::render::{self, Screen};

#[derive(Args, Debug)]
pub(crate) struct ConfigArguments {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ConfigCommand {
    /// Checks a kubelet configuration on a machine and proposes one that pins there. Exit status 2 if anything is
    /// wrong.
    #[command(after_help = examples::CONFIG_CHECK)]
    Check(ConfigCheckArguments),
}

#[derive(Args, Debug)]
pub(crate) struct ConfigCheckArguments {
    /// `KubeletConfiguration`, `KubeletConfig` or `PerformanceProfile` of OpenShift, `NodeConfig` of EKS, settings of
    /// Bottlerocket, or a kubelet's /configz, as YAML, JSON or TOML; a folder of drop-ins (a kubelet's --config-dir).
    /// Without it that of a node file, or of `live` that of its kubelet, else `kubelet-defaults`.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) config: Option<String>,
    /// Release of the kubelet that reads it: 1.34, 1.35, 1.36, 1.37, or a version such as v1.37.2. Without it one that
    /// writes state files as the machine's are, else 1.36.
    #[arg(long, value_name = "VERSION")]
    pub(crate) kubelet: Option<KubeletVersion>,
    /// Prints nothing but the proposed configuration: the given file with the proposed fields changed in place, and
    /// everything else in it, comments too, as it was. A list that changes is written anew, and comments inside it are
    /// lost. What `/configz` answered becomes a file that a kubelet reads.
    #[arg(long, conflicts_with = "output")]
    pub(crate) propose: bool,
    /// Prints nothing but the fields that change, as a file for the kubelet's drop-in folder (`--config-dir`, names end
    /// in `.conf`). There lists replace lists, and a field that is `null` is removed. Not for a
    /// `KubeletConfig` of OpenShift.
    #[arg(long, conflicts_with_all = ["output", "propose"])]
    pub(crate) drop_in: bool,
    /// The program that is to run with the proposal.
    #[arg(long = "for", value_name = "PROGRAM", default_value = "kubelet", value_parser = programs())]
    pub(crate) target: DecidedBy,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    #[command(flatten)]
    pub(crate) residents: ResidentsArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

pub(super) fn run(arguments: &ConfigArguments, screen: Screen) -> anyhow::Result<Outcome> {
    match &arguments.command {
        ConfigCommand::Check(arguments) => check(arguments, screen),
    }
}

/// What the node's state files are to a configuration, and to the one that is proposed.
struct StateBeside {
    /// Which files, and which pods they are about.
    beside: String,
    now: Started,
    /// With what is proposed; `None`: a kubelet does not start with that on the machine.
    later: Option<Started>,
    /// What of what runs is not known, as text to be shown.
    notes: Vec<String>,
}

/// What a start of the kubelet from the files comes to: why it does not start, or what becomes of the pods.
type Started = Result<Restart, String>;

impl StateBeside {
    /// `None`: the machine has no state, or a kubelet does not get so far with the configuration.
    fn look(
        machine: &LoadedMachine,
        rules: &RulesSource,
        given: &ResidentsSource,
        config: &KubeletConfiguration,
        proposal: &KubeletConfiguration,
    ) -> anyhow::Result<Option<Self>> {
        let Some(resident) = given.of_node(machine.packed.as_deref())? else { return Ok(None) };
        let with = |config: &KubeletConfiguration| -> Option<(Started, Vec<String>)> {
            let change = |own: &mut KubeletConfiguration| own.clone_from(config);
            let node = LoadedNode::starting(machine, rules, change).ok()?;
            let residents = match Residents::new(&node, given, &resident) {
                Ok(residents) => residents,
                Err(error) => {
                    let text = error.root_cause().to_string();
                    return Some((Err(text.lines().next().unwrap_or_default().to_owned()), Vec::new()));
                }
            };
            if let Some(why) = node.pods_files_refused(&resident.folder) {
                return Some((Err(why), residents.notes));
            }
            let by = JudgedBy::Configured(node.line.clone());
            let restart = JudgedNode { node, by, notices: Vec::new() }.next_restart(&resident);
            Some((Ok(restart), residents.notes))
        };
        let Some((now, notes)) = with(config) else { return Ok(None) };
        let pods = resident.folder.holders().map_or(0, |holders| holders.len());
        let named =
            resident.names_from.as_ref().map(|place| format!(", named by {place}")).unwrap_or_default();
        let pods = if pods == 1 { "1 pod holds".to_owned() } else { format!("{pods} pods hold") };
        let again = match &now {
            Ok(restart) if restart.outcome == RestartOutcome::AdmitsAll => {
                "; a restart with this configuration keeps that, and admits every pod that runs again"
            }
            _ => "",
        };
        Ok(Some(Self {
            beside: format!("{pods} something by {}{named}{again}", resident.from),
            now,
            later: with(proposal).map(|(started, _)| started),
            notes,
        }))
    }

    /// What a start with the configuration does to what runs.
    fn findings(&self) -> Vec<Finding> {
        let finding = |severity, text: String, help: Option<&String>| Finding {
            field: STATE.to_owned(),
            file: None,
            line: None,
            severity,
            text,
            expected: help.map(|help| Expected::Text(help.clone())),
        };
        match &self.now {
            Err(why) => {
                // The line says that the kubelet does not start.
                let why = why.strip_prefix("the kubelet would not start from this state: ").unwrap_or(why);
                let text = format!("{why}; `topolet state check` says more");
                vec![finding(Severity::Refused, text, None)]
            }
            Ok(restart) => {
                let refused = restart.refused.iter().map(|again| {
                    let RefusedAgain { pod, reason, cause, help, .. } = again;
                    let text = format!("the next restart refuses {pod}, which runs ({reason}): {cause}");
                    finding(Severity::Harmful, text, Some(help))
                });
                refused.collect()
            }
        }
    }

    /// Adds [`Self::findings`]: what keeps the kubelet from starting behind the first `refused`, which do too.
    fn add_to(&self, findings: &mut Vec<Finding>, refused: usize) {
        let at = if self.now.is_err() { refused } else { findings.len() };
        findings.splice(at..at, self.findings());
    }

    fn notes(&self, changes: &[Change]) -> Vec<String> {
        let not_known = self.now.as_ref().ok().and_then(|restart| restart.not_known.as_ref());
        let not_known =
            not_known.map(|why| format!("what a restart does to all that runs is not known: {why}"));
        let later = match (&self.now, &self.later) {
            (Ok(_), Some(Err(why))) => Some(format!(
                "with what is proposed {why}: drain the node first, and remove the state files before the kubelet starts again"
            )),
            (Ok(now), Some(Ok(later))) if later.refused.len() > now.refused.len() => Some(format!(
                "with what is proposed the next restart refuses {} of the pods that run: drain the node first",
                later.refused.len()
            )),
            _ => None,
        };
        let later = later.filter(|_| !changes.is_empty());
        self.notes.iter().cloned().chain(not_known).chain(later).collect()
    }
}

/// Fields that cannot be judged where the memory that is reserved is not known.
const OPEN: [&str; 5] =
    ["memoryManagerPolicy", "reservedMemory", "systemReserved", "kubeReserved", "evictionHard"];

/// What findings on state files are about, in the place of a field.
const STATE: &str = "state";

fn check(arguments: &ConfigCheckArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let machine = LoadedMachine::load_node(&arguments.machine.source())?;
    if arguments.config.is_none() {
        warn_of_gaps(&machine, screen)?;
    }
    let view = KubeletView::new(&machine.info)
        .with_context(|| format!("the kubelet could not use machine {}", machine.name))?;
    let rules = RulesSource {
        config: arguments.config.clone(),
        kubelet: arguments.kubelet,
        decided_by: Some(arguments.target),
        ..RulesSource::default()
    };
    let unconfigured = machine.why_unconfigured(&rules);
    if let Some(why) = unconfigured {
        screen.warn(Notice::warning(format!("{why}. The kubelet's defaults are checked")));
    }
    let residents = arguments.residents.source();
    let rules = rules.of_node(&IdentitySource::default(), &residents, machine.packed.as_deref())?;
    if let Some(doubt) = rules.kubelet.and_then(|version| version.doubt("--kubelet")) {
        screen.warn(doubt);
    }
    let source = rules;
    let rules = source.kubelet_rules();
    let (read, text) =
        node_input::configuration_to_check(arguments.config.as_deref(), &machine, &view, rules)?;
    if let Some(warning) = node_input::memory_must_be_known_by(&machine, &read.config)? {
        screen.warn(warning);
    }
    if let Some(gap) = read.gap() {
        screen.warn(gap);
    }
    let target = arguments.target;
    let written = read.without_assumed();
    let proposal = read.written(propose(&read.proposed_from(), &view, target));
    let outcome = |wrong: bool| if wrong { Outcome::SomethingWrong } else { Outcome::Done };
    let state = match unconfigured {
        None => StateBeside::look(&machine, &source, &residents, &read.config, &proposal)?,
        // The files were written under another configuration.
        Some(_) => None,
    };
    let findings = findings(&read, &text, &proposal, &view, target, state.as_ref());
    let is_wrong = !findings.is_empty();
    let changes = changes(&written, &proposal);
    let given = Given { name: &read.name, text: &text, kind: read.kind };
    if arguments.propose {
        ensure!(
            read.kind != ConfigKind::PerformanceProfile,
            "--propose: {} is a PerformanceProfile, of which OpenShift's node tuning operator makes the kubelet's configuration: without --propose its fields and its annotation are listed as they should be",
            read.name
        );
        let again = |text: &str| {
            let read =
                node_input::configuration_of_text(given.name, text.as_bytes(), view.cpus().num_cpus(), rules);
            Ok(read?.config)
        };
        screen.print(&advice::whole_file(given, &proposal, &changes, again)?)?;
        return Ok(outcome(is_wrong));
    }
    if arguments.drop_in {
        ensure!(
            read.kind != ConfigKind::PerformanceProfile,
            "--drop-in: {} is a PerformanceProfile, of which OpenShift's node tuning operator makes the kubelet's configuration: without --drop-in its fields and its annotation are listed as they should be",
            read.name
        );
        ensure!(
            read.kind != ConfigKind::OpenShift,
            "--drop-in: {} is a KubeletConfig of OpenShift, whose machine config operator writes the kubelet's files: use --propose, which prints it with the changes in place",
            read.name
        );
        screen.print(&advice::drop_in(&changes)?)?;
        return Ok(outcome(is_wrong));
    }
    let snippet = snippet(&read, given, &proposal, &changes, &view)?;
    let mut notes = notes_on(&read, &proposal, &changes, &findings, &view, target, state.as_ref());
    let missing = machine.missing_memory(&arguments.machine.machine);
    let said = findings.iter().map(|finding| &finding.text).chain(&notes);
    let missing = missing.map(|missing| missing.beside(said.map(String::as_str)));
    notes.extend(missing);
    let checked = Checked {
        machine: machine.name.clone(),
        configuration: read.name.clone(),
        rules_of: format!("v{}", rules.version),
        beside: state.as_ref().map(|state| state.beside.clone()),
        target,
        findings,
        changes,
        notes,
        trial: Trial::of(&read.config, &view),
        proposal: serde_json::to_value(&proposal)?,
    };
    let format = arguments.output.output;
    if format == Format::Table {
        screen.show(&render::checked(&checked, given, &snippet, screen.page))?;
    } else if let Some(text) = Document::new("ConfigCheck", &checked).of(&checked.rules_of).text(format)? {
        screen.print(&text)?;
    }
    Ok(outcome(is_wrong))
}

/// Says what is not known of the configuration that the machine has.
///
/// # Errors
/// A kubelet runs there, and nothing of its configuration is known: the defaults are not its own.
fn warn_of_gaps(machine: &LoadedMachine, screen: Screen) -> anyhow::Result<()> {
    let gaps = machine.config_gaps();
    let runs = machine.packed.as_ref().is_some_and(|packed| packed.running == Running::Yes);
    if let Some(gap) = gaps.first().filter(|_| runs && !machine.has_configuration(&RulesSource::default())) {
        bail!("{}", gap.text);
    }
    for gap in &gaps {
        screen.warn(gap);
    }
    Ok(())
}

/// What the user of a proposal has to know beside its changes and `findings`.
fn notes_on(
    read: &ReadConfiguration,
    proposal: &KubeletConfiguration,
    changes: &[Change],
    findings: &[Finding],
    view: &KubeletView,
    target: DecidedBy,
    state: Option<&StateBeside>,
) -> Vec<String> {
    let held_back = held_back(&read.config, proposal, view, target);
    let left_out = left_out(&read.config, proposal, view, target);
    let is_found = |why: &str| findings.iter().any(|finding| why.ends_with(finding.text.as_str()));
    let left_out =
        left_out.iter().filter(|note| !matches!(note, Note::OptionLeftOut { why, .. } if is_found(why)));
    // What a finding says of the configuration needs not be said of the proposal again.
    let is_said = |note: &&Note| matches!(note, Note::AtRestart(hazard) if findings.iter().any(|own| own.text == hazard.to_string()));
    let of_proposal = notes(proposal, view, target);
    let is_open = |note: &Note| read.leaves_memory_open() && matches!(note, Note::NoStart { .. });
    let of_proposal = of_proposal.iter().filter(|note| !is_said(note) && !is_open(note));
    let mut notes: Vec<String> =
        held_back.iter().chain(left_out).chain(of_proposal).map(ToString::to_string).collect();
    notes.extend(read.written_over(proposal).filter(|_| !changes.is_empty()));
    let fields = |finding: &Finding| match &finding.expected {
        Some(Expected::Fields(fields)) => fields.keys().cloned().collect(),
        _ => vec![finding.field.clone()],
    };
    let fields: BTreeSet<String> =
        findings.iter().flat_map(fields).chain(changes.iter().map(|change| change.field.clone())).collect();
    notes.extend(read.flags_over(fields.iter().map(String::as_str)));
    notes.extend(state.iter().flat_map(|state| state.notes(changes)));
    notes
}

/// What is wrong with a configuration whose text is `text`, and with the state beside it, the worst first.
fn findings(
    read: &ReadConfiguration,
    text: &str,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
    target: DecidedBy,
    state: Option<&StateBeside>,
) -> Vec<Finding> {
    let faults = find_faults(&read.config, proposal, view, target).into_iter();
    let mut all: Vec<Finding> = faults.map(|fault| Finding::new(fault, text)).collect();
    if read.leaves_memory_open() {
        all.retain(|finding| !OPEN.contains(&finding.field.as_str()));
    }
    // After what keeps the kubelet from starting.
    let refused = all.iter().filter(|finding| finding.severity == Severity::Refused).count();
    let unread = read.unread.iter().map(|warning| Finding::not_known(warning, &read.name));
    let not_known = read.start_not_known().map(|why| Finding::start_not_known("reservedMemory", why, text));
    let without_effect = read.warnings.iter().map(|warning| Finding::without_effect(warning, &read.name));
    all.splice(refused..refused, unread.chain(not_known).chain(without_effect));
    if let Some(profile) = &read.profile {
        all.extend(advice::profile::findings(profile, proposal, view));
    }
    if let Some(state) = state {
        state.add_to(&mut all, refused);
    }
    all
}

/// What is proposed as its users write it.
fn snippet(
    read: &ReadConfiguration,
    given: Given<'_>,
    proposal: &KubeletConfiguration,
    changes: &[Change],
    view: &KubeletView,
) -> anyhow::Result<String> {
    Ok(match (read.kind, &read.profile) {
        (ConfigKind::Bottlerocket, _) => advice::settings::settings(changes),
        (_, Some(profile)) => {
            let fields = advice::profile::fields(profile, proposal, changes, view.cpus().all());
            serde_saphyr::to_string(&fields)?
        }
        _ if given.text.is_empty() => serde_saphyr::to_string(proposal)?,
        _ => advice::drop_in(changes)?,
    })
}
