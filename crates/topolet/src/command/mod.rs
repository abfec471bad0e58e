//! The commands, one file each, with what it alone takes as arguments.

mod admit;
mod agent;
mod capture;
mod completions;
mod config;
mod demo;
mod explain;
mod export;
mod man;
mod simulate;
mod serve;
mod state;
mod state_repair;
mod topology;

pub(crate) use admit::AdmitArguments;
pub(crate) use agent::{ApplyArguments, DeleteArguments, DescribeArguments, GetArguments};
pub(crate) use capture::CaptureArguments;
pub(crate) use completions::CompletionsArguments;
pub(crate) use config::{Checked, ConfigArguments};
pub(crate) use demo::DemoArguments;
pub(crate) use explain::ExplainArguments;
pub(crate) use export::ExportArguments;
pub(crate) use man::ManArguments;
pub(crate) use serve::ServeArguments;
pub(crate) use simulate::SimulateArguments;
pub(crate) use state::StateArguments;
pub(crate) use state_repair::StateRepair;
pub(crate) use topology::TopologyArguments;

use crate::Outcome;
use crate::arguments::{Arguments, Command};
use crate::render::Screen;

/// Does what the arguments say.
pub(crate) fn run(arguments: &Arguments, screen: Screen) -> anyhow::Result<Outcome> {
    match &arguments.command {
        Command::Demo(arguments) => demo::run(arguments, screen),
        Command::Topology(arguments) => topology::run(arguments, screen),
        Command::Capture(arguments) => capture::run(arguments, screen),
        Command::Admit(arguments) => admit::run(arguments, screen),
        Command::Explain(arguments) => explain::run(arguments, screen),
        Command::Export(arguments) => export::run(arguments, screen),
        Command::Simulate(arguments) => simulate::run(arguments, screen),
        Command::State(arguments) => state::run(arguments, screen),
        Command::Config(arguments) => config::run(arguments, screen),
        Command::Serve(arguments) => serve::run(arguments, screen),
        Command::Get(arguments) => agent::get(arguments, screen),
        Command::Describe(arguments) => agent::describe(arguments, screen),
        Command::Apply(arguments) => Ok(agent::apply(arguments, screen)),
        Command::Delete(arguments) => agent::delete(arguments, screen),
        Command::Completions(arguments) => completions::run(arguments, screen),
        Command::Man(arguments) => man::run(arguments, screen),
    }
}
