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
    #[cfg(feature = "kubernetes")]
    ByKubectl,
}

impl ValueEnum for Completed {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::By(Shell::Bash),
            Self::By(Shell::Elvish),
            Self::By(Shell::Fish),
            Self::By(Shell::PowerShell),
            Self::By(Shell::Zsh),
            #[cfg(feature = "kubernetes")]
            Self::ByKubectl,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::By(shell) => shell.to_possible_value(),
            #[cfg(feature = "kubernetes")]
            Self::ByKubectl => Some(PossibleValue::new("kubectl")),
        }
    }
}

/// What kubectl executes.
#[cfg(feature = "kubernetes")]
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
            #[cfg(feature = "kubernetes")]
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
