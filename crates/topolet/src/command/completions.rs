//! `topolet completions`: what a shell needs to complete a command line of topolet's.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Outcome;
use crate::arguments::Arguments;
use crate::render::Screen;

#[derive(Args, Debug)]
pub(crate) struct CompletionsArguments {
    /// For which shell; `source <(topolet completions bash)` in ~/.bashrc is enough.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(arguments: &CompletionsArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "topolet", &mut script);
    screen.print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
