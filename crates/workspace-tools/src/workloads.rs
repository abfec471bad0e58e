//! The program `workloads`: built, run, and its instructions counted by valgrind.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::workspace::{self, cargo, run, target};

/// How often the counted work is done; the mean evens out what depends on the seeds of hash tables.
const TIMES: u64 = 5;
/// The function of the program whose instructions are counted, as valgrind names it. What the program does before, reading
/// files and arguments, differs by millions of instructions from start to start.
const COUNTED: &str = "*workloads*counted*";

/// Builds the program as it is released.
pub fn build() -> anyhow::Result<PathBuf> {
    run(&mut cargo(&["build", "--release", "--quiet", "--package", "workloads", "--bin", "workloads"]))?;
    Ok(target().join("release/workloads"))
}

/// Builds the program as tests are built, which takes seconds where tests are.
pub fn build_as_tests() -> anyhow::Result<PathBuf> {
    workspace::build(&["workloads"])?;
    Ok(target().join("debug/workloads"))
}

/// What the program prints.
pub fn output(program: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("failed to start {}", program.display()))?;
    ensure!(output.status.success(), "`workloads {}` failed: {}", arguments.join(" "), output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// Counts the instructions of one program.
#[derive(Debug)]
pub struct Counter {
    program: PathBuf,
}

impl Counter {
    /// Whether valgrind is installed.
    pub fn is_possible() -> bool {
        let found =
            Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    }

    /// A counter for this program.
    ///
    /// # Errors
    /// valgrind is not installed.
    pub fn find(program: &Path) -> anyhow::Result<Self> {
        ensure!(Self::is_possible(), "valgrind is not installed");
        Ok(Self { program: program.to_owned() })
    }

    /// How many instructions the work of this name takes.
    pub fn count(&self, name: &str) -> anyhow::Result<u64> {
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(format!("--toggle-collect={COUNTED}"))
            .arg(&self.program)
            .args(["once", name, "--times", &TIMES.to_string()])
            .output()
            .context("failed to start valgrind")?;
        let report = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "valgrind failed: {}\n{report}", output.status);
        let counted = report.lines().find_map(|line| line.split("Collected :").nth(1)).map(str::trim);
        let counted: Option<u64> = counted.and_then(|count| count.parse().ok());
        let counted = counted.filter(|count| *count > 0);
        Ok(counted.with_context(|| format!("valgrind counted no instructions in {COUNTED}"))? / TIMES)
    }
}
