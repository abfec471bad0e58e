//! `topolet status`: a node on one screen.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use node_input::{
    DeviceText, IdentitySource, Known, LIVE, LoadedMachine, LoadedNode, MissingMemory, Resident, Residents,
    RulesSource,
};
use node_output::{Document, JudgedBy, NodeStatus, NumaNodes, Usage};
use node_state::{Problem, Quarantine};

use crate::answer;
use crate::arguments::{MachineArguments, OutputArguments, ResidentsArguments, RulesArguments};
use crate::client::SOCKET;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct StatusArguments {
    /// Asks the topolet that listens there. Without it one that listens at /var/lib/topolet/topolet.sock is asked, if
    /// nothing else says which node is meant; else a kubelet's files are read.
    #[arg(
        long,
        value_name = "PATH",
        env = "TOPOLET_SOCKET",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["hugepages", "memory", "config", "policy", "scope", "state", "pods", "empty"]
    )]
    socket: Option<PathBuf>,
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    rules: RulesArguments,
    #[command(flatten)]
    residents: ResidentsArguments,
    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(arguments: &StatusArguments, screen: Screen) -> anyhow::Result<Outcome> {
    if let Some(socket) = asked(arguments) {
        return answer::get(socket, "/v1/status", &arguments.output, screen);
    }
    let status = read(arguments, screen)?;
    match Document::new("NodeStatus", &status).of(status.node.rules_of()).text(arguments.output.output)? {
        Some(text) => screen.print(&text)?,
        None => screen.show(&status.text(screen.page))?,
    }
    if !status.problems.is_empty() {
        // Without state on disk what is wrong is the configuration on this machine.
        screen.warn(match status.restart {
            Some(_) => "`topolet state check` with the same --state and --machine says what helps",
            None => "`topolet config check` with the same --config and --machine says what to change",
        });
    }
    Ok(if status.problems.is_empty() { Outcome::Done } else { Outcome::SomethingWrong })
}

/// The daemon that is meant, if one is.
fn asked(arguments: &StatusArguments) -> Option<&Path> {
    let StatusArguments { socket, machine, rules, residents, .. } = arguments;
    let own = Path::new(SOCKET);
    let is_this_node = machine.machine == LIVE
        && rules.config.is_none()
        && residents.state.is_none()
        && residents.pods.is_none()
        && !residents.empty;
    socket.as_deref().or_else(|| (is_this_node && own.exists()).then_some(own))
}

/// What a kubelet's files say.
fn read(arguments: &StatusArguments, screen: Screen) -> anyhow::Result<NodeStatus> {
    let (source, given) = (arguments.machine.source(), arguments.residents.source());
    let machine = LoadedMachine::load_node(&source)?;
    let packed = machine.packed.as_deref();
    let rules = arguments.rules.source().of_node(&IdentitySource::default(), &given, packed)?;
    let devices = DeviceText::on(&rules, &source, &given)?;
    let resident = given.of_node(packed)?;
    let Some(resident) = resident else { return unserved(&machine, arguments, &rules, devices, screen) };
    let judged = machine.judge(&source, &resident, &rules, devices.clone())?;
    for warning in judged.warnings() {
        screen.warn(warning);
    }
    let mut status = NodeStatus::new(judged.by.clone());
    let findings = judged.findings(&resident, &quarantine(&resident)?);
    let missing = machine.missing_memory(&source.machine).filter(|_| judged.by.has_machine());
    let at_another_boot = judged.node.at_another_boot(&resident.folder);
    let wrong = findings.into_iter().filter(|finding| finding.problem != Problem::Odd);
    status.problems = wrong.map(|finding| format!("{}: {}", finding.file, finding.what)).collect();
    let restart = judged.next_restart(&resident);
    status.problems.extend(restart.sentences());
    status.restart = Some(restart);
    // What runs is counted by the product, which goes on where a kubelet would not.
    let node =
        if judged.by.is_configured() { LoadedNode::on(&machine, &rules, devices)? } else { judged.node };
    match Residents::new(&node, &given, &resident) {
        Ok(residents) => {
            let usage = Usage::new(&node.node, &node.cpus, &residents.ledger);
            let nodes = if status.node.has_machine() { NumaNodes::Known } else { NumaNodes::NotKnown };
            let is_configured = status.node.is_configured();
            status.usage = Some(if is_configured { usage } else { usage.of_holdings(nodes) });
            status.notes = residents.notes;
            status.source = Some(resident.from);
            status.names_from = resident.names_from;
        }
        // What is wrong with the files is said.
        Err(_) if !status.problems.is_empty() => {
            status.notes =
                vec!["what is free is not known: a kubelet does not start from these files".to_owned()];
        }
        Err(error) => status.problems.push(format!("{error:#}")),
    }
    add_missing_memory(&mut status, missing, &node);
    status.notes.extend(at_another_boot.filter(|_| status.problems.is_empty()).map(str::to_owned));
    Ok(status)
}

/// Adds memory that the NUMA nodes of the machine do not have: a problem where policy Static depends on it.
fn add_missing_memory(status: &mut NodeStatus, missing: Option<MissingMemory>, node: &LoadedNode) {
    match missing {
        Some(missing) if node.compares_node_totals() => status.problems.push(missing.with_static()),
        Some(missing) => status.notes.push(missing.to_string()),
        None => {}
    }
}

/// A node of which no state is known.
fn unserved(
    machine: &LoadedMachine,
    arguments: &StatusArguments,
    rules: &RulesSource,
    devices: Option<DeviceText>,
    screen: Screen,
) -> anyhow::Result<NodeStatus> {
    let node = LoadedNode::on(machine, rules, devices)?;
    let missing = machine.missing_memory(&arguments.machine.machine);
    if !machine.has_configuration(rules) {
        let mut status = NodeStatus::new(JudgedBy::files_and_machine(&node.line));
        status.notes = node.resident_gaps();
        status.notes.extend(machine.config_gaps().into_iter().map(|gap| gap.text));
        status.notes.push(
            "what is free is not known: neither a configuration of the kubelet (--config) nor state of it (--state) was given \
             or found"
                .to_owned(),
        );
        status.notes.extend(missing.map(|missing| missing.to_string()));
        return Ok(status);
    }
    for warning in &node.warnings {
        screen.warn(warning);
    }
    let residents = node.residents(&arguments.residents.source())?;
    let mut status = NodeStatus::new(node.line.clone().into());
    // What is free is not known where what runs is not.
    let is_known = residents.known != Known::Nothing;
    status.usage = is_known.then(|| Usage::new(&node.node, &node.cpus, &residents.ledger));
    status.notes = residents.notes;
    if let Some(why) = &node.kubelet_stops {
        status.problems.push(format!("the kubelet does not start: {why}"));
    }
    add_missing_memory(&mut status, missing, &node);
    Ok(status)
}

/// The pods that a repair has quarantined; a node file says nothing of that.
fn quarantine(resident: &Resident) -> anyhow::Result<Quarantine> {
    let Resident { folder, names, root, .. } = resident;
    root.as_deref()
        .map_or_else(|| Ok(Quarantine::default()), |root| node_input::still_quarantined(root, folder, names))
}
