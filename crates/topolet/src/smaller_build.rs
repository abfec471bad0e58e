//! What a build without some features lacks, and how to get it.

#[cfg(not(fuzzing))]
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Builds the whole program.
const WHOLE: &str = "cargo install --path crates/topolet";

/// Commands and options that come with a feature, and whether this build has it.
const PARTS: [(&[&str], bool); 3] = [
    (&["diagnose"], cfg!(feature = "bundles")),
    (
        &[
            "serve",
            "ui",
            "schema",
            "fleet",
            "guard",
            "scheduler",
            "kubectl",
            "--kubeconfig",
            "--context",
            "--in-cluster",
            "--simulate-containers",
            "--publish-nrt",
            "--publish-state",
            "--kubelet-url",
        ],
        cfg!(feature = "serve"),
    ),
    (&["completions", "man"], cfg!(feature = "terminal")),
];

/// The commands and options that this build lacks.
fn lacking() -> impl Iterator<Item = &'static str> {
    PARTS.iter().filter(|(_, is_there)| !is_there).flat_map(|(words, _)| words.iter().copied())
}

/// What is not in this build, and how to get it.
#[cfg(any(not(fuzzing), not(feature = "bundles")))]
pub(crate) fn lacks(what: &str) -> String {
    format!("this build has no {what}: `{WHOLE}` builds the whole program")
}

/// The last line of the help: what a smaller build lacks.
pub(crate) fn help() -> String {
    let commands: Vec<&str> = lacking().filter(|word| !word.starts_with('-')).collect();
    if commands.is_empty() {
        return String::new();
    }
    format!("This build has no {}.\n`{WHOLE}` builds the whole program.", commands.join(", "))
}

/// The error of a command line that asks for what this build lacks says so; any other stays.
#[cfg(not(fuzzing))]
pub(crate) fn explained(error: clap::Error) -> clap::Error {
    let asked = match error.kind() {
        ErrorKind::InvalidSubcommand => error.get(ContextKind::InvalidSubcommand),
        ErrorKind::UnknownArgument => error.get(ContextKind::InvalidArg),
        _ => None,
    };
    let Some(ContextValue::String(asked)) = asked else { return error };
    let Some(lacking) = lacking().find(|word| asked.split(['=', ' ']).next() == Some(word)) else {
        return error;
    };
    clap::Error::raw(error.kind(), lacks(&format!("`{lacking}`")) + "\n")
}
