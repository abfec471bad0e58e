//! `topolet completions`: what a shell needs to complete a command line of topolet's.

use clap::builder::PossibleValue;
use clap::{Args, Command, ValueEnum};
use clap_complete::Shell;

use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct CompletionsArguments {
    /// For which shell; `source <(topolet completions bash)` in ~/.bashrc is enough. `kubectl` prints a script that
    /// completes `kubectl topolet` once it is in PATH as kubectl_complete-topolet, and can be executed.
    #[arg(value_name = "SHELL")]
    completed: Completed,
}

/// Who completes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Completed {
    /// A shell.
    By(Shell),
    /// kubectl, the words of its plugin, whatever the shell is.
    ByKubectl,
}

/// All of them; the last one is not a shell.
const ALL: &[Completed] = &[
    Completed::By(Shell::Bash),
    Completed::By(Shell::Elvish),
    Completed::By(Shell::Fish),
    Completed::By(Shell::PowerShell),
    Completed::By(Shell::Zsh),
    Completed::ByKubectl,
];

impl ValueEnum for Completed {
    fn value_variants<'a>() -> &'a [Self] {
        let shells = ALL.split_last().map_or(ALL, |(_, shells)| shells);
        if cfg!(feature = "serve") { ALL } else { shells }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::By(shell) => shell.to_possible_value(),
            Self::ByKubectl => Some(PossibleValue::new("kubectl")),
        }
    }
}

/// What kubectl executes.
const SCRIPT: &str = "\
#!/bin/sh
# Completes the words of `kubectl topolet`: kubectl executes this by its name, kubectl_complete-topolet.
exec kubectl-topolet __complete \"$@\"
";

impl Completed {
    /// The script that is to be installed.
    fn script(self, mut command: Command) -> String {
        match self {
            Self::By(shell) => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut command, "topolet", &mut script);
                String::from_utf8_lossy(&script).into_owned()
            }
            Self::ByKubectl => SCRIPT.to_owned(),
        }
    }
}

pub(super) fn run(
    arguments: &CompletionsArguments,
    command: Command,
    screen: Screen,
) -> anyhow::Result<Outcome> {
    screen.print(&arguments.completed.script(command))?;
    Ok(Outcome::Done)
}
