//! `cargo xtask test`: every test and every example of the documentation, after what they need is installed and built.

mod host;
pub(crate) mod needed;
mod runner;

use std::process::{Command, Stdio};
use std::time::Instant;

use local_cluster::RELEASE;
use serde_json::Value;
use workspace_tools::workspace::{cargo, metadata, root, run};
use workspace_tools::{control_plane, kubelet, workspace};

use self::host::Host;
use self::needed::needed_in_ci;
pub(crate) use self::runner::Tests;
use crate::plugins::Plugins;

/// Runs all tests, and the examples of the documentation. What they need is installed and built first, below the target
/// folder: a test runner, and in Go and Python the programs that tests talk to.
#[derive(Debug, clap::Args)]
pub(crate) struct Test {
    /// Instead: the test programs alone, as they run on another host. Needs root, and changes nothing outside them.
    #[arg(long, value_enum, value_name = "HOST")]
    host: Vec<Host>,
}

impl Test {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let hosts = if self.host.is_empty() {
            prepare()?;
            vec![Host::This]
        } else {
            self.host
        };
        let tests = Tests::build()?;
        hosts.into_iter().try_for_each(|host| tests.run(host))
    }
}

/// Runs the tests, which see nothing beside the repository's folder where that can be hidden.
pub(crate) fn in_ci() -> anyhow::Result<()> {
    let host = if Host::Alone.is_possible() {
        Host::Alone
    } else {
        eprintln!("the tests see what lies beside the repository: hiding it needs root");
        Host::This
    };
    Tests::build()?.run(host)
}

/// Each step before the tests by what it is.
const STEPS: [&str; 5] = [
    "cargo-nextest, which runs the tests",
    "device plugins in Go and Python, which tests talk to",
    "the kubelet's own managers, which tests are compared with",
    "etcd, kube-apiserver, kube-scheduler, kube-controller-manager and kubectl, which tests talk to",
    "examples of the documentation, and example programs",
];

/// Installs and builds what tests need, and runs what is no test program: examples of the documentation, and examples.
pub(crate) fn prepare() -> anyhow::Result<()> {
    let (mut steps, began) = ((1..).zip(STEPS), Instant::now());
    let mut next = || {
        if let Some((number, what)) = steps.next() {
            eprintln!("\nstep {number} of {}, after {} s: {what}", STEPS.len(), began.elapsed().as_secs());
        }
    };
    next();
    runner::NEXTEST.find_or_install()?;
    next();
    Plugins {}.run()?;
    next();
    needed_in_ci("tests beside the kubelet's own managers", kubelet::go_build(&["admission"]).map(drop))?;
    next();
    needed_in_ci("tests with a control plane", control_plane::build(RELEASE))?;
    next();
    run(&mut cargo(&["test", "--workspace", "--doc", "--quiet"]))?;
    run_examples()
}

/// Packages and their examples that serve until they are killed: they are built and not run.
const SERVERS: [(&str, &str); 7] = [
    ("device-plugin", "plugin"),
    ("kept-socket", "echo"),
    ("bounded-http", "clock"),
    ("node-daemon", "serve"),
    ("node-guard", "guard"),
    ("nri-plugin", "pin"),
    ("nri-plugin", "scripted"),
];

/// Runs every example program that ends, each without arguments. `cargo run` would build its package again with
/// the features that it has alone.
fn run_examples() -> anyhow::Result<()> {
    run(&mut cargo(&["build", "--workspace", "--examples", "--quiet"]))?;
    let metadata = metadata(&["--no-deps"])?;
    let list = |of: &Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
    for package in list(&metadata, "packages") {
        for target in list(&package, "targets") {
            let (Some(package), Some(example)) = (package["name"].as_str(), target["name"].as_str()) else {
                continue;
            };
            if list(&target, "kind").contains(&"example".into()) && !SERVERS.contains(&(package, example)) {
                let program = workspace::target().join("debug/examples").join(example);
                // What the workspace builds without a feature that it needs is none.
                if !list(&target, "required-features").is_empty() && !program.exists() {
                    continue;
                }
                run(Command::new(program).current_dir(root()).stdin(Stdio::null()))?;
            }
        }
    }
    Ok(())
}
