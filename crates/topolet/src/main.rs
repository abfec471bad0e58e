//! `topolet`: what a Kubernetes node would do with a pod, on any machine, and why.
//!
//! The commands are thin: they name what is read (`node-input`), ask the crate that knows the answer, and print what
//! `node-output` writes of it on the [`screen`]. None calls another, and nothing here decides anything about a pod.
//!
//! # Where things are
//!
//! - What a build without some features leaves out: `[features]` of `crates/topolet/Cargo.toml`; what it says when
//!   asked for it: `crates/topolet/src/smaller_build.rs`. `topolet` at the root builds and runs the smallest; what that
//!   costs: `docs/first-minutes.md`.
//! - What `kubectl topolet` does: `crates/topolet/src/command/serving/kubectl/explain.rs`; how an agent is asked through an API
//!   server: `crates/cluster-node/src/agent.rs`; what is compared where none answers:
//!   `crates/node-resource-topology/src/comparison.rs`.
//! - Which exit status a command has: `crates/topolet/src/outcome.rs`. What an option of the CPU manager changes:
//!   `crates/cpu-manager/src/config.rs`.
#![cfg_attr(fuzzing, no_main)]

mod outcome;
mod given;
mod arguments;
mod help_forms;
mod claim_arguments;
#[cfg(feature = "serve")]
mod log_arguments;
#[cfg(feature = "serve")]
mod cluster_arguments;
#[cfg(not(feature = "serve"))]
#[path = "without_cluster.rs"]
mod cluster_arguments;
mod command;
mod examples;
mod patience;
mod question;
mod bar;
#[cfg(feature = "serve")]
mod built_in;
mod shown;
mod decisions;
mod drawn;
mod screen;
mod client;
mod answer;
mod pod_words;
mod smaller_build;
#[cfg(not(fuzzing))]
mod given_value;
#[cfg(not(fuzzing))]
mod short_help;
#[cfg(fuzzing)]
mod fuzzing;
#[cfg(any(fuzzing, test))]
mod fuzzed_commands;

#[cfg(not(fuzzing))]
use {
    crate::{command::Arguments, outcome::Outcome, screen::Screen},
    clap::Parser,
    std::process::ExitCode,
};

/// Returns the memory of an answer about many pods to the system when its thread ends. glibc's allocator keeps most of
/// it, also with one arena and with a small trim threshold: small allocations that live on are spread over its heaps.
/// Under fuzzing the sanitizer brings the allocator. Commands that answer once and end do without: it takes a C compiler.
#[cfg(all(feature = "serve", not(fuzzing)))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(not(fuzzing))]
const SOME_REFUSED: u8 = 2;
#[cfg(not(fuzzing))]
const FAILED: u8 = 1;

#[cfg(not(fuzzing))]
fn main() -> ExitCode {
    let (screen, result) = match started() {
        Ok(done) => done,
        Err(error) => {
            // This fails only if the terminal is gone.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(FAILED) } else { ExitCode::SUCCESS };
        }
    };
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::SomeRefused | Outcome::SomethingWrong) => ExitCode::from(SOME_REFUSED),
        #[cfg(feature = "serve")]
        Ok(Outcome::Failed) => ExitCode::from(FAILED),
        Ok(Outcome::Partial) => ExitCode::from(FAILED),
        Err(error) => {
            screen.error(&error);
            ExitCode::from(FAILED)
        }
    }
}

/// The arguments of a command line; `path` has the words of the command that the program stands for.
#[cfg(not(fuzzing))]
fn parsed<A: Parser>(path: &str, words: impl Iterator<Item = std::ffi::OsString>) -> Result<A, clap::Error> {
    let mut command = short_help::shortened(A::command(), path);
    let words: Vec<_> = words.collect();
    let matches = command.try_get_matches_from_mut(&words);
    let matches = matches.map_err(|error| given_value::with_option(error, &command, &words))?;
    A::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Does what the command line says, by the name under which this was started.
#[cfg(not(fuzzing))]
fn started() -> Result<(Screen, anyhow::Result<Outcome>), clap::Error> {
    #[cfg(feature = "serve")]
    {
        use command::serving::kubectl::{self, Called, CompleteArguments, KubectlCommand, PluginArguments};
        let mut words = std::env::args_os();
        let called = Called::by(words.next().as_deref().map(std::path::Path::new));
        let command = match called {
            Called::Topolet => None,
            Called::Plugin => {
                let given: PluginArguments =
                    parsed("kubectl", std::env::args_os()).map_err(given_value::plain)?;
                Some((given.color, given.command))
            }
            Called::Completion => {
                let words = words.map(|word| word.to_string_lossy().into_owned()).collect();
                let command = KubectlCommand::Complete(CompleteArguments { words });
                Some((clap::ColorChoice::Never, command))
            }
        };
        if let Some((color, command)) = command {
            let screen = Screen::new(color);
            return Ok((screen, kubectl::run(&command, screen)));
        }
    }
    let arguments = parsed::<Arguments>("", std::env::args_os())
        .map_err(|error| given_value::plain(smaller_build::explained(error)))?;
    let screen = Screen::new(arguments.color);
    Ok((screen, command::run(&arguments, screen)))
}
