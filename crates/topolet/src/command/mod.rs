//! The commands, one file each.

mod admit;
mod capture;
mod demo;
mod state;
mod topology;

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
        Command::State(arguments) => state::run(arguments, screen),
    }
}
