//! `topolet status`: a node on one screen.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, ValueHint};
use node_input::{IdentitySource, NodeSources};
use node_output::Document;

use crate::answer;
use crate::arguments::{MachineArguments, OutputArguments, ResidentsArguments, RulesArguments};
use crate::claim_arguments::ClaimsBesideArguments;
use crate::client::SOCKET;
use crate::given::Typed;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    typed: Typed,
    /// Asks the topolet that listens there. Without it that of the environment variable, or one that listens at
    /// /var/lib/topolet/topolet.sock, is asked if nothing else says which node is meant; else a kubelet's files are read.
    #[arg(long, value_name = "PATH", env = "TOPOLET_SOCKET", value_hint = ValueHint::FilePath)]
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

/// What names a node that is read. A running node is what it is.
const READ: [(&str, &str); 7] = [
    ("machine", "--machine"),
    ("state", "--state"),
    ("config", "--config"),
    ("pods", "--pods"),
    ("empty", "--empty"),
    ("claims", "--claims"),
    ("kubelet_pid", "--kubelet-pid"),
];

/// What decides on a node that is read.
const RULES: [(&str, &str); 12] = [
    ("hugepages", "--hugepages"),
    ("memory", "--memory"),
    ("kubelet_flags", "--kubelet-flags"),
    ("base", "--base"),
    ("kubelet", "--kubelet"),
    ("decided_by", "--for"),
    ("topolet_config", "--topolet-config"),
    ("policy", "--policy"),
    ("scope", "--scope"),
    ("devices", "--devices"),
    ("selected", "--device"),
    ("node_name", "--node-name"),
];

pub(super) fn run(arguments: &StatusArguments, screen: Screen) -> anyhow::Result<Outcome> {
    if let Some(socket) = asked(arguments)? {
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
        let options = sources.as_options();
        screen.warn(match status.restart {
            Some(_) => format!("`topolet state check{options}` says what helps"),
            None => format!("`topolet config check{options}` says what to change"),
        });
    }
    Ok(if status.is_wrong() { Outcome::SomethingWrong } else { Outcome::Done })
}

/// The daemon that is meant, if one is: a typed --socket, else what nothing else contradicts.
fn asked(arguments: &StatusArguments) -> anyhow::Result<Option<&Path>> {
    let StatusArguments { typed, socket, .. } = arguments;
    let (read, rule) = (typed.first(&READ), typed.first(&RULES));
    if typed.has("socket") {
        if let Some(read) = read {
            bail!("--socket asks a running node, {read} reads another: give one");
        }
        if let Some(rule) = rule {
            bail!("--socket asks a running node, on which {rule} changes nothing: leave one of them out");
        }
    } else if read.or(rule).is_some() {
        return Ok(None);
    }
    let own = Path::new(SOCKET);
    Ok(socket.as_deref().or_else(|| own.exists().then_some(own)))
}
