//! `cargo xtask test`: every test and every example of the documentation.

use std::process::Stdio;

use serde_json::Value;

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
        run_examples()?;
        if has_nextest() {
            run(&mut cargo(&["nextest", "run", "--workspace", "--no-fail-fast"]))
        } else {
            run(&mut cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]))
        }
    }
}

/// Packages and their examples that serve until they are killed: they are built and not run.
const SERVERS: [(&str, &str); 4] = [
    ("device-plugin", "plugin"),
    ("kept-socket", "echo"),
    ("bounded-http", "clock"),
    ("node-daemon", "serve"),
];

/// Runs every example program that ends, each without arguments.
fn run_examples() -> anyhow::Result<()> {
    run(&mut cargo(&["build", "--workspace", "--examples", "--quiet"]))?;
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]).output()?;
    let metadata: Value = serde_json::from_slice(&metadata.stdout)?;
    let list = |of: &Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
    for package in list(&metadata, "packages") {
        for target in list(&package, "targets") {
            let (Some(package), Some(example)) = (package["name"].as_str(), target["name"].as_str()) else {
                continue;
            };
            if list(&target, "kind").contains(&"example".into()) && !SERVERS.contains(&(package, example)) {
                let arguments = ["run", "--quiet", "--package", package, "--example", example];
                run(cargo(&arguments).stdin(Stdio::null()))?;
            }
        }
    }
    Ok(())
}

fn has_nextest() -> bool {
    cargo(&["nextest", "--version"]).output().is_ok_and(|output| output.status.success())
}
