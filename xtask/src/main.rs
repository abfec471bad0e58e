//! The commands of this workspace: those that CI runs are those that a person runs.

mod bump;
mod conformance;
mod ci;
mod codegen;
mod first_minutes;
mod fixtures;
mod guide;
mod hwloc;
mod instructions;
mod licences;
mod package;
mod plugins;
mod recorded;
mod schemas;
mod semver;
mod spelling;
mod test;
mod tidy;
mod tool;

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;

use anyhow::Context as _;
use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use workspace_tools::commands::{Program, exit};

/// Commands for working on topolet.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    after_help = "Campaigns are a program in crates/campaigns, and guests one in crates/guest; each is built when it is first \
                  used."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

workspace_tools::commands! {
    Bump(bump::Bump),
    Check(ci::Check),
    Ci(ci::Ci),
    Codegen(codegen::Codegen),
    Conformance(conformance::Conformance),
    FirstMinutes(first_minutes::FirstMinutes),
    Fixtures(fixtures::Fixtures),
    Guide(guide::Guide),
    Hwloc(hwloc::Hwloc),
    Instructions(instructions::Instructions),
    Licences(licences::Licences),
    Package(package::Package),
    Plugins(plugins::Plugins),
    Recorded(recorded::Recorded),
    Schemas(schemas::Schemas),
    Semver(semver::Semver),
    Spelling(spelling::Spelling),
    Test(test::Test),
    Tidy(tidy::Tidy),
}

fn main() -> std::process::ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    exit(elsewhere(&arguments).and_then(|()| parsed().run()))
}

/// Runs a command of another program in the place of this process. Returns if it is none.
fn elsewhere(arguments: &[OsString]) -> anyhow::Result<()> {
    let (asked, rest, help) = match arguments {
        [help, name, ..] if help == "help" => (name, &[][..], Some("--help")),
        [name, rest @ ..] => (name, rest, None),
        [] => return Ok(()),
    };
    let has = |program: &Program| program.commands().iter().any(|(name, _)| asked == name);
    let Some(program) = Program::ALL.into_iter().find(has) else { return Ok(()) };
    let mut program = program.start()?;
    // Where people are: paths mean what they say.
    program.arg(asked).args(rest).args(help).current_dir(env::current_dir()?);
    Err(program.exec()).context("failed to start it")
}

/// The command that was asked for, of xtask alone. Its help lists those of other programs too.
fn parsed() -> Command {
    let mut cli = Cli::command();
    for (name, about) in Program::ALL.into_iter().flat_map(Program::commands) {
        cli = cli.subcommand(clap::Command::new(*name).about(*about));
    }
    // In the order of their names.
    let matches = cli.mut_subcommands(|command| command.display_order(0)).get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()).command
}
