//! `cargo xtask others`: programs that others wrote, each built from its Go module at an exact version and tried here.
//!
//! Each has a module of our own below `target`, with its dependencies and what replaces those that module proxies lack. A
//! trial starts the program and has it do its first useful thing. What this machine lacks for that, such as a container
//! runtime, is the error that the program ends with.

pub(crate) mod programs;
mod record;
mod apart;
mod registration;
pub(crate) mod trial;
mod helm;
pub(crate) mod example_driver;
mod kueue;
pub(crate) mod cpu_driver;
mod kubelet;
mod steps;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context as _;
use local_cluster::RELEASE;
use workspace_tools::document::write_figures;

use self::programs::{Builds, Program};
use self::record::Record;
use self::trial::Trial;

const DOCUMENT: &str = "docs/programs.md";

/// Builds programs that others wrote, and has each do its first useful thing on a local cluster. Needs Go; the first builds
/// take many minutes.
#[derive(Debug, clap::Args)]
pub(crate) struct Others {
    /// These programs; all without it.
    #[arg(long, value_enum, value_name = "NAME", value_delimiter = ',')]
    program: Vec<Program>,
    /// Builds the programs, and starts nothing.
    #[arg(long)]
    build: bool,
    /// Builds the programs again, each with an empty build cache of Go.
    #[arg(long)]
    anew: bool,
    /// Writes what is known of all programs to docs/programs.md.
    #[arg(long, conflicts_with = "build")]
    write: bool,
    /// The release of the cluster's control plane.
    #[arg(long, value_name = "VERSION", default_value = RELEASE)]
    kubernetes: String,
}

impl Others {
    #[expect(clippy::print_stdout, reason = "the rows are what the command is for")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let programs = if self.program.is_empty() { Program::ALL.to_vec() } else { self.program };
        let builds = if self.anew { Builds::Anew } else { Builds::Missing };
        for &program in &programs {
            program.build(builds).with_context(|| program.to_string())?;
        }
        if self.build {
            return Ok(());
        }
        workspace_tools::control_plane::build(&self.kubernetes)?;
        let trial = Trial::new(&self.kubernetes)?;
        for &program in &programs {
            eprintln!("{program}");
            let began = Instant::now();
            let outcome = program.attempt(&trial).with_context(|| program.to_string())?;
            eprintln!("{program}: {outcome} ({:.1} s)", began.elapsed().as_secs_f64());
            Record::tried(program, outcome)?;
        }
        let text = table(&Program::ALL)?;
        print!("{text}");
        if self.write { write_figures(DOCUMENT, "cargo xtask others --write", &text) } else { Ok(()) }
    }
}

/// helm, which is built where it is not there yet.
pub(crate) fn helm_program() -> anyhow::Result<PathBuf> {
    Program::Helm.build(Builds::Missing)?;
    Ok(Program::Helm.file())
}

/// What is known of each program.
fn table(programs: &[Program]) -> anyhow::Result<String> {
    let mut text =
        "| program | version | seconds | CPU seconds | cache | MiB | here |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    for &program in programs {
        text += &Record::read(program)?.row(program)?;
    }
    Ok(text)
}
