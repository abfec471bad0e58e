//! `topolet completions`: what a shell needs to complete a command line of topolet's.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::outcome::Outcome;
use crate::render::Screen;

#[derive(Args, Debug)]
pub(crate) struct CompletionsArguments {
    /// For which shell; `source <(topolet completions bash)` in ~/.bashrc is enough.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(
    arguments: &CompletionsArguments,
    mut command: Command,
    screen: Screen,
) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "topolet", &mut script);
    screen.print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
