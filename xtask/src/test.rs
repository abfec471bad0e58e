//! `cargo xtask test`: every test and every example of the documentation.

use crate::{cargo, run};

/// The version that is installed where none is there.
const NEXTEST: &str = "0.9.151";

/// Runs all tests: with cargo-nextest where it is installed, else with cargo; documentation examples too.
#[derive(Debug, clap::Args)]
pub(crate) struct Test {
    /// Installs the pinned cargo-nextest first if none is there (takes some minutes).
    #[arg(long)]
    pub(crate) install: bool,
}

impl Test {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.install && !has_nextest() {
            run(&mut cargo(&["install", "--locked", "cargo-nextest", "--version", NEXTEST]))?;
        }
        // Examples first: the summary of the other tests is what a reader wants last.
        run(&mut cargo(&["test", "--workspace", "--doc", "--quiet"]))?;
        if has_nextest() {
            run(&mut cargo(&["nextest", "run", "--workspace", "--no-fail-fast"]))
        } else {
            run(&mut cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]))
        }
    }
}

fn has_nextest() -> bool {
    cargo(&["nextest", "--version"]).output().is_ok_and(|output| output.status.success())
}
