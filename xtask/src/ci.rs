//! `cargo xtask ci`: everything that has to hold before a change lands.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use workspace_tools::commands::Program;
use workspace_tools::workspace::{cargo, run, target};

use crate::codegen::Codegen;
use crate::first_minutes::{FirstMinutes, small_program};
use crate::fixtures::Fixtures;
use crate::guide::Guide;
use crate::hwloc::Hwloc;
use crate::instructions::Instructions;
use crate::licences::Licences;
use crate::package::Package;
use crate::recorded::Recorded;
use crate::test;
use crate::tidy::Tidy;

/// The machines that are booted as guests: two nodes with virtual functions, four with memory-only ones.
const GUESTS: &[&str] = &["xeon-2s-96cpu-sriov", "xeon-cxl-4node"];

/// Structure, format, lints, documentation, packages, conformance, tests; ends with the summary of the tests.
#[derive(Debug, clap::Args)]
pub(crate) struct Ci {
    /// Installs what is missing for the other steps than the tests, which do so by themselves: with apt-get, pip and cargo.
    #[arg(long)]
    install: bool,
    /// A folder of captured machines and recorded answers (`machines`, `oracle`, `oracle-1.37`, `oracle-dra`), which are tested
    /// and played besides those that are committed.
    #[arg(long, value_name = "FOLDER")]
    recorded: Option<PathBuf>,
}

impl Ci {
    /// What takes seconds comes first. The tests come last, since their summary is what a reader looks for.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let Self { install, recorded } = self;
        let recorded = recorded
            .map(|folder| {
                folder.canonicalize().with_context(|| format!("there is no folder {}", folder.display()))
            })
            .transpose()?;
        let install_there = install.then_some("--install");
        run(&mut cargo(&["fmt", "--all", "--check"]))?;
        Tidy {}.run()?;
        Fixtures { check: true }.run()?;
        Codegen { check: true }.run()?;
        Licences { write: false }.run()?;
        run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))?;
        first_minutes()?;
        fuzz_targets()?;
        run(cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "--deny warnings"))?;
        Package { alone: false }.run()?;
        Guide { install }.run()?;
        // With a folder of recorded answers its test is one of those on that.
        let hwloc = Hwloc { install };
        if recorded.is_some() { hwloc.lints() } else { hwloc.run() }?;
        Instructions { write: false, install }.run()?;
        conformance(recorded.as_deref())?;
        chaos()?;
        page(install_there)?;
        guests(install_there)?;
        if let Some(folder) = recorded {
            Recorded { folder }.run()?;
        }
        test::in_ci()
    }
}

/// Plays the committed answers of kubelets, which all have to be ours; and all answers of a folder that is given, of which no
/// kind may pass fewer than the baseline says, nor more as listed differences.
fn conformance(recorded: Option<&Path>) -> anyhow::Result<()> {
    let play = ["run", "--release", "--quiet", "--package", "conformance", "--"];
    let written = ["--written", "fixtures/kubelet-written.json"];
    run(cargo(&play).arg("fixtures/kubelet").args(written))?;
    let Some(folder) = recorded else {
        eprintln!("skipped: all recorded answers, whose folder --recorded names");
        return Ok(());
    };
    let answers = ["oracle", "oracle-1.37", "oracle-dra"].map(|part| folder.join(part));
    for part in &answers {
        ensure!(
            part.is_dir(),
            "{} has no recorded answers: there is no {}",
            folder.display(),
            part.display()
        );
    }
    run(cargo(&play).args(answers).args(["--baseline", "fixtures/kubelet-baseline.json"]).args(written))
}

/// Builds the small program, within its bars, and has it answer the commands of the guide.
fn first_minutes() -> anyhow::Result<()> {
    FirstMinutes::of_ci().run()?;
    let lint = ["clippy", "--package", "topolet", "--no-default-features", "--", "--deny", "warnings"];
    run(&mut cargo(&lint))?;
    let guide = ["test", "--quiet", "--package", "topolet", "--test", "guide"];
    run(cargo(&guide).env("TOPOLET_PROGRAM", small_program()))
}

/// Whether all fuzz targets still compile: the toolchain that is pinned will do for that, and no engine is needed.
fn fuzz_targets() -> anyhow::Result<()> {
    let mut check = cargo(&["check", "--quiet", "--manifest-path", "fuzz/Cargo.toml", "--target-dir"]);
    run(check.arg(target().join("fuzz-check")).env("RUSTFLAGS", "--cfg fuzzing --deny warnings"))
}

/// Kills a daemon a few times, and fills its disk.
fn chaos() -> anyhow::Result<()> {
    run(Program::Campaigns.start().args(["chaos", "--kills", "6", "--profile", "debug"]))
}

/// The page in a browser, where there is one; `install` is what has it installed where it is missing.
fn page(install: Option<&str>) -> anyhow::Result<()> {
    run(Program::Campaigns.start().args(["page", "--quick"]).args(install))
}

/// Boots guests and runs their tests.
fn guests(install: Option<&str>) -> anyhow::Result<()> {
    for machine in GUESTS {
        let mut boot = Program::Guest.start();
        boot.args(["vm", "--machine", machine]).args(install);
        run(&mut boot).with_context(|| format!("guest {machine}"))?;
    }
    Ok(())
}
