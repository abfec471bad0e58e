//! `cargo xtask ci`: everything that has to hold before a change lands.

use local_cluster::RELEASE;

use crate::codegen::Codegen;
use crate::first_minutes::{FirstMinutes, small_program};
use crate::fixtures::Fixtures;
use crate::guide::Guide;
use crate::hwloc::Hwloc;
use crate::instructions::Instructions;
use crate::licences::Licences;
use crate::package::Package;
use crate::page::Page;
use crate::plugins::Plugins;
use crate::test::Test;
use crate::tidy::Tidy;
use crate::{cargo, cluster, fuzz, kubelet, root, run, vm};

/// Structure, format, lints, documentation, packages, conformance, tests; ends with the summary of the tests.
#[derive(Debug, clap::Args)]
pub(crate) struct Ci {
    #[command(flatten)]
    test: Test,
}

impl Ci {
    /// What takes seconds comes first. The tests come last, since their summary is what a reader looks for.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        run(&mut cargo(&["fmt", "--all", "--check"]))?;
        Tidy {}.run()?;
        Fixtures { check: true }.run()?;
        Codegen { check: true }.run()?;
        Licences { write: false }.run()?;
        Plugins {}.run()?;
        run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))?;
        first_minutes()?;
        fuzz::check()?;
        run(cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "--deny warnings"))?;
        Package { alone: false }.run()?;
        Guide { install: self.test.install }.run()?;
        Hwloc { install: self.test.install }.run()?;
        Instructions { write: false, install: self.test.install }.run()?;
        conformance()?;
        chaos()?;
        Page::of_ci(self.test.install).run()?;
        vm::ci(self.test.install)?;
        kubelet::build_for_tests()?;
        cluster::build(RELEASE)?;
        self.test.run()
    }
}

/// Plays the committed answers of kubelets, which all have to be ours; and all answers where they lie beside the project,
/// of which no kind may pass fewer than the baseline says, nor more as listed differences.
fn conformance() -> anyhow::Result<()> {
    let play = ["run", "--release", "--quiet", "--package", "conformance", "--"];
    let written = ["--written", "fixtures/kubelet-written.json"];
    run(cargo(&play).arg("fixtures/kubelet").args(written))?;
    if root().join("../shared/oracle").is_dir() {
        let changed = Some("../shared/oracle-1.37").filter(|folder| root().join(folder).is_dir());
        let baseline = ["../shared/oracle", "--baseline", "fixtures/kubelet-baseline.json"];
        run(cargo(&play).args(baseline).args(changed).args(written))
    } else {
        eprintln!("skipped: the full set of recorded answers is not beside the project");
        Ok(())
    }
}

/// Builds the small program, within its bars, and has it answer the commands of the guide.
fn first_minutes() -> anyhow::Result<()> {
    FirstMinutes::of_ci().run()?;
    let lint = ["clippy", "--package", "topolet", "--no-default-features", "--", "--deny", "warnings"];
    run(&mut cargo(&lint))?;
    let guide = ["test", "--quiet", "--package", "topolet", "--test", "guide"];
    run(cargo(&guide).env("TOPOLET_PROGRAM", small_program()))
}

/// Kills a daemon a few times, and fills its disk. It is a process of its own, since it runs itself again with its own
/// mounts where it may. Cargo starts it: the steps before may have replaced the file of this program.
fn chaos() -> anyhow::Result<()> {
    run(&mut cargo(&[
        "run",
        "--quiet",
        "--package",
        "xtask",
        "--",
        "chaos",
        "--kills",
        "6",
        "--profile",
        "debug",
    ]))
}
