//! `topolet status`: a node on one screen.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use node_input::{DeviceText, IdentitySource, LIVE, LoadedMachine, LoadedNode, Resident};
use node_output::{Document, NodeStatus, Usage};
use node_state::{Problem, Quarantine};
use topology_admission::Compat;

use crate::arguments::{MachineArguments, OutputArguments, ResidentsArguments, RulesArguments};
use crate::client::SOCKET;
use crate::command::agent;
use crate::outcome::Outcome;
use crate::render::Screen;

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
        return agent::status(socket, &arguments.output, screen);
    }
    let status = read(arguments, screen)?;
    match Document::new("NodeStatus", &status).of(&status.node.rules_of).text(arguments.output.output)? {
        Some(text) => screen.print(&text)?,
        None => screen.show(&status.text(screen.page))?,
    }
    if !status.problems.is_empty() {
        screen.warn("`topolet state check` with the same --state and --machine says what helps");
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
    let node = LoadedNode::on(&machine, &rules, devices.clone())?;
    for warning in &node.warnings {
        screen.warn(warning);
    }
    let mut status = NodeStatus::new(node.line.clone());
    let resident = given.of_node(packed)?;
    if let Some(resident) = &resident {
        status.problems = findings(resident, &LoadedNode::with(&machine, &rules, devices, strict())?)?;
    }
    match node.residents(&given) {
        Ok(residents) => {
            status.usage = Some(Usage::new(&node.node, &node.cpus, &residents.ledger));
            status.notes = residents.notes;
            if let Some(resident) = resident {
                status.source = Some(resident.from);
                status.names_from = resident.names_from;
            }
        }
        // What is wrong with the files is said.
        Err(_) if !status.problems.is_empty() => {
            status.notes =
                vec!["what is free is not known: a kubelet does not start from these files".to_owned()];
        }
        Err(error) => status.problems.push(format!("{error:#}")),
    }
    Ok(status)
}

/// As the kubelet looks at state files, but for its limit on nodes.
fn strict() -> Compat {
    Compat { node_limit: Compat::default().node_limit, ..Compat::KUBELET }
}

/// What is wrong with the files, each in one sentence.
fn findings(resident: &Resident, node: &LoadedNode) -> anyhow::Result<Vec<String>> {
    let Resident { folder, names, root, .. } = resident;
    let quarantine = root.as_deref().map_or_else(
        || Ok(Quarantine::default()),
        |root| node_input::still_quarantined(root, folder, names),
    )?;
    let findings = folder.check(&node.node, names, &quarantine).into_iter();
    let wrong = findings.filter(|finding| finding.problem != Problem::Odd);
    Ok(wrong.map(|finding| format!("{}: {}", finding.file, finding.what)).collect())
}
