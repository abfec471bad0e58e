//! The run of promises as a program; `cargo xtask kubelet-node --promises` builds the kubelet's own code and runs it.

use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser as _;
use conformance::promises::{Only, Run};

/// Says for random fillings of machines what the kubelet will do, asks its own code, and compares.
///
/// Exits with 1 if the kubelet did something else than was predicted, or if more than one in 50 answers was not decided.
#[derive(Debug, clap::Parser)]
#[command(name = "cargo xtask kubelet-node --promises", bin_name = "promises")]
struct Promises {
    /// The program `admission` of crates/workspace-tools/kubelet.
    #[arg(long, value_name = "PROGRAM")]
    program: PathBuf,
    /// The release of the kubelet that it is built with.
    #[arg(long, value_name = "VERSION", default_value = "1.36.3")]
    kubelet: String,
    /// Machines: a folder of sysfs archives, or of what cAdvisor prints.
    #[arg(long, value_name = "DIR", default_value = "fixtures/cadvisor")]
    machines: PathBuf,
    /// Where all draws come from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Configurations on each machine.
    #[arg(long, value_name = "N", default_value_t = 12)]
    configurations: u64,
    /// Fillings with each configuration.
    #[arg(long, value_name = "N", default_value_t = 40)]
    fillings: u64,
    /// Only this machine.
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Only the configuration of this number.
    #[arg(long, value_name = "N")]
    configuration: Option<u64>,
    /// Only the filling of this number.
    #[arg(long, value_name = "N")]
    filling: Option<u64>,
    /// End after so many configurations, taken from all machines in turn.
    #[arg(long, value_name = "N")]
    most: Option<u64>,
    /// Seconds to wait where no answer is foretold.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    patience: u64,
    /// Seconds to wait where an answer is foretold.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    hang: u64,
    /// Configurations to play at the same time [default: one on each CPU].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Write what went otherwise to this file, a case on a line.
    #[arg(long, value_name = "FILE")]
    exceptions: Option<PathBuf>,
}

fn main() -> ExitCode {
    match Promises::parse().run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Promises {
    /// Whether every promise was kept.
    fn run(self) -> anyhow::Result<bool> {
        let minor = self.kubelet.rsplit_once('.').map_or(self.kubelet.as_str(), |(minor, _)| minor);
        let run = Run {
            machines: self.machines,
            program: self.program,
            release: minor.parse().with_context(|| format!("kubelet {} is not known", self.kubelet))?,
            seed: self.seed,
            configurations: self.configurations,
            fillings: self.fillings,
            patience: Duration::from_secs(self.patience),
            hang: Duration::from_secs(self.hang),
            only: Only {
                machine: self.machine,
                configuration: self.configuration,
                filling: self.filling,
                most: self.most,
            },
            jobs: self.jobs.or_else(|| available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN),
        };
        let progress = std::io::stderr().is_terminal();
        let mut file = self.exceptions.as_deref().map(made).transpose()?;
        let mut shown = 0;
        let tally = run.play(|tally, machine| {
            for exception in &tally.exceptions[shown..] {
                println!(
                    "{} --configuration {} --filling {} step {}: {}",
                    exception.machine,
                    exception.configuration,
                    exception.filling,
                    exception.step,
                    exception.how
                );
                if let Some(file) = &mut file {
                    writeln!(file, "{}", serde_json::to_string(exception)?)?;
                }
            }
            shown = tally.exceptions.len();
            if progress {
                eprint!(
                    "\r{} configurations, {} fillings, {shown} exceptions; {machine}    ",
                    tally.configurations, tally.fillings
                );
            }
            Ok(())
        })?;
        if progress {
            eprintln!();
        }
        println!("{tally}");
        Ok(tally.is_kept())
    }
}

fn made(path: &Path) -> anyhow::Result<File> {
    File::create(path).with_context(|| format!("failed to make {}", path.display()))
}
