//! `topolet ui`: the page of a node without a daemon.

use std::net::SocketAddr;
use std::sync::Arc;

use clap::Args;
use node_daemon::Ui;
use node_input::{LoadedSources, NodeSources};

use crate::arguments::{
    IdentityArguments, MachineArguments, ResidentsArguments, RulesArguments, must_be_loopback,
};
use crate::built_in::BuiltIn;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct UiArguments {
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    rules: RulesArguments,
    #[command(flatten)]
    identity: IdentityArguments,
    #[command(flatten)]
    residents: ResidentsArguments,
    /// The loopback address of the page; port 0 is a free port.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    address: SocketAddr,
}

pub(super) fn run(arguments: &UiArguments, screen: Screen) -> anyhow::Result<Outcome> {
    must_be_loopback("--address", arguments.address)?;
    let sources = NodeSources {
        machine: arguments.machine.source(),
        rules: arguments.rules.source(),
        identity: arguments.identity.source(),
        residents: arguments.residents.source(),
    };
    let LoadedSources { machine, node } = sources.load()?;
    for warning in &node.warnings {
        screen.warn(warning);
    }
    let residents = node.residents(&sources.residents)?;
    let (address, simulator) = (arguments.address, Arc::new(BuiltIn));
    let arguments = node_arguments(std::env::args().skip(1));
    let ui = Ui { node, machine: &machine, sources, arguments, residents, address, simulator };
    node_daemon::ui(ui, |address| {
        screen.print(&format!("{address}\n"))?;
        screen.warn("the address has a token for this run: who has it can read the page; Ctrl-C ends it");
        Ok(())
    })?;
    Ok(Outcome::Done)
}

/// The words of a command line that name the node.
fn node_arguments(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut words = words.skip_while(|word| word != "ui").skip(1);
    let mut node = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--address" => drop(words.next()),
            word if word.starts_with("--address=") => {}
            _ => node.push(word),
        }
    }
    node
}
