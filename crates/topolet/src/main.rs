//! `topolet`: what a Kubernetes node would do with a pod, on any machine, and why.
//!
//! The commands are thin: they name what is read (`node-input`), ask the `topology-admission` crate, and show the
//! answer ([`render`]). Nothing here decides anything about a pod.
#![cfg_attr(fuzzing, no_main)]

mod outcome;
mod arguments;
mod cluster_arguments;
mod command;
mod advice;
mod repair;
mod patience;
mod pods;
mod simulation;
mod told;
mod decided;
mod drawn;
mod pod_shares;
mod render;
mod client;
#[cfg(fuzzing)]
mod fuzzing;
#[cfg(any(fuzzing, test))]
mod fuzzed_commands;

#[cfg(not(fuzzing))]
use {
    crate::{command::Arguments, outcome::Outcome, render::Screen},
    clap::Parser,
    std::process::ExitCode,
};

/// Returns the memory of an answer about many pods to the system when its thread ends. glibc's allocator keeps most of
/// it, also with one arena and with a small trim threshold: small allocations that live on are spread over its heaps.
/// Under fuzzing the sanitizer brings the allocator.
#[cfg(not(fuzzing))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(not(fuzzing))]
const SOME_REFUSED: u8 = 2;
#[cfg(not(fuzzing))]
const FAILED: u8 = 1;

#[cfg(not(fuzzing))]
fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Nothing is left to be told if the terminal is gone.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(FAILED) } else { ExitCode::SUCCESS };
        }
    };
    let screen = Screen::new(arguments.color);
    match command::run(&arguments, screen) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::SomeRefused | Outcome::SomethingWrong) => ExitCode::from(SOME_REFUSED),
        Ok(Outcome::Partial | Outcome::Failed) => ExitCode::from(FAILED),
        Err(error) => {
            screen.error(&error);
            ExitCode::from(FAILED)
        }
    }
}
