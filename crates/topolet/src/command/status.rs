//! `topolet status`: a node on one screen.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use node_input::{IdentitySource, LIVE, NodeSources};
use node_output::Document;

use crate::answer;
use crate::arguments::{MachineArguments, OutputArguments, ResidentsArguments, RulesArguments};
use crate::claim_arguments::ClaimsBesideArguments;
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
        conflicts_with_all = ["hugepages", "memory", "config", "policy", "scope", "state", "pods", "empty", "claims"]
    )]
    socket: Option<PathBuf>,
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    rules: RulesArguments,
    #[command(flatten)]
    residents: ResidentsArguments,
    #[command(flatten)]
    beside: ClaimsBesideArguments,
    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(arguments: &StatusArguments, screen: Screen) -> anyhow::Result<Outcome> {
    if let Some(socket) = asked(arguments) {
        return answer::get(socket, "/v1/status", &arguments.output, screen);
    }
    let sources = NodeSources {
        machine: arguments.machine.source(),
        rules: arguments.rules.source(),
        identity: IdentitySource::default(),
        residents: arguments.residents.source(),
    };
    let status = sources.status(&arguments.beside.read()?, &screen)?;
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
    Ok(if status.is_wrong() { Outcome::SomethingWrong } else { Outcome::Done })
}

/// The daemon that is meant, if one is.
fn asked(arguments: &StatusArguments) -> Option<&Path> {
    let StatusArguments { socket, machine, rules, residents, beside, .. } = arguments;
    let own = Path::new(SOCKET);
    let is_this_node = machine.machine == LIVE
        && rules.config.is_none()
        && residents.state.is_none()
        && residents.pods.is_none()
        && beside.claims.is_empty()
        && !residents.empty;
    socket.as_deref().or_else(|| (is_this_node && own.exists()).then_some(own))
}
