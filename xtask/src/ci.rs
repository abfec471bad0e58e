//! `cargo xtask ci`: everything that has to hold before a change lands.

use std::process::Command;

use crate::fixtures::Fixtures;
use crate::test::Test;
use crate::tidy::Tidy;
use crate::{cargo, root, run};

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
        run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))?;
        run(cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "--deny warnings"))?;
        run(&mut package())?;
        conformance()?;
        self.test.run()
    }
}

/// Builds every crate that is published from its package, on the packages of those below it.
fn package() -> Command {
    let mut command =
        cargo(&["package", "--workspace", "--quiet", "--exclude", "conformance", "--exclude", "xtask"]);
    // A person may look before committing; a clone has nothing uncommitted.
    if std::env::var_os("CI").is_none() {
        command.arg("--allow-dirty");
    }
    command
}

/// Plays the committed answers of the kubelet, which all have to be ours; and all answers where they lie beside the
/// project, of which no kind may pass fewer than the baseline says.
fn conformance() -> anyhow::Result<()> {
    let play = ["run", "--release", "--quiet", "--package", "conformance", "--"];
    run(cargo(&play).arg("fixtures/kubelet"))?;
    if root().join("../shared/oracle").is_dir() {
        run(cargo(&play).args(["../shared/oracle", "--baseline", "fixtures/kubelet-baseline.json"]))
    } else {
        eprintln!("skipped: the full set of recorded answers is not beside the project");
        Ok(())
    }
}
