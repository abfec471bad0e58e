//! `cargo xtask ci`: everything that has to hold before a change lands.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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
use crate::test::{self, Tests};
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
        let mut steps = Steps::begin();
        check_text()?;
        steps.end("format, structure, generated files, licences");
        run(&mut cargo(&CLIPPY))?;
        steps.end("clippy");
        first_minutes()?;
        steps.end("small build");
        fuzz_targets()?;
        steps.end("fuzz targets");
        run(cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "--deny warnings"))?;
        steps.end("documentation");
        Package { alone: false }.run()?;
        steps.end("packages and their users");
        Guide { install }.run()?;
        steps.end("guide as a book");
        // With a folder of recorded answers its test is one of those on that.
        let hwloc = Hwloc { install };
        if recorded.is_some() { hwloc.lints() } else { hwloc.run() }?;
        steps.end("hwloc");
        Instructions { write: false, install }.run()?;
        steps.end("instructions");
        conformance(recorded.as_deref())?;
        steps.end("conformance");
        let tests = Tests::build()?;
        steps.end("programs of tests");
        tests.run_some("package(topolet) & binary(guide)", "TOPOLET_PROGRAM", &small_program())?;
        steps.end("guide with the small program");
        chaos()?;
        steps.end("chaos");
        page(install_there)?;
        steps.end("page in a browser");
        guests(install_there)?;
        steps.end("guests");
        if let Some(folder) = recorded {
            Recorded { folder }.run()?;
            steps.end("recorded machines and answers");
        }
        steps.print();
        test::in_ci()
    }
}

/// The steps, each with its seconds.
struct Steps {
    since: Instant,
    ended: Vec<(&'static str, Duration)>,
}

impl Steps {
    fn begin() -> Self {
        Self { since: Instant::now(), ended: Vec::new() }
    }

    fn end(&mut self, what: &'static str) {
        self.ended.push((what, self.since.elapsed()));
        self.since = Instant::now();
    }

    fn print(&self) {
        eprintln!("\nseconds of the steps before the tests:");
        for (what, took) in &self.ended {
            eprintln!("{:>6} {what}", took.as_secs());
        }
    }
}

/// Of all code, with warnings as errors.
const CLIPPY: [&str; 6] = ["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"];

/// What takes seconds.
fn check_text() -> anyhow::Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    Tidy { write: false }.run()?;
    Fixtures { check: true }.run()?;
    Codegen { check: true }.run()?;
    Licences { write: false }.run()
}

/// What a person runs before a change is sent: format, structure, lints, and the tests that need no cluster and take seconds.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {}

impl Check {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let Self {} = self;
        check_text()?;
        run(&mut cargo(&CLIPPY))?;
        Tests::build()?.run_profile("check")
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

/// Builds the small program, within its bars.
fn first_minutes() -> anyhow::Result<()> {
    FirstMinutes::of_ci().run()?;
    let lint = ["clippy", "--package", "topolet", "--no-default-features", "--", "--deny", "warnings"];
    run(&mut cargo(&lint))
}

/// Whether all fuzz targets still compile: the toolchain that is pinned will do for that, and no engine is needed.
fn fuzz_targets() -> anyhow::Result<()> {
    let mut check = cargo(&["check", "--quiet", "--manifest-path", "fuzz/Cargo.toml", "--target-dir"]);
    run(check.arg(target().join("fuzz-check")).env("RUSTFLAGS", "--cfg fuzzing --deny warnings"))
}

/// Kills a daemon a few times, and fills its disk.
fn chaos() -> anyhow::Result<()> {
    run(Program::Campaigns.start()?.args(["chaos", "--kills", "6", "--profile", "debug"]))
}

/// The page in a browser, where there is one; `install` is what has it installed where it is missing.
fn page(install: Option<&str>) -> anyhow::Result<()> {
    run(Program::Campaigns.start()?.args(["page", "--quick"]).args(install))
}

/// Boots guests and runs their tests.
fn guests(install: Option<&str>) -> anyhow::Result<()> {
    for machine in GUESTS {
        let mut boot = Program::Guest.start()?;
        boot.args(["vm", "--machine", machine]).args(install);
        run(&mut boot).with_context(|| format!("guest {machine}"))?;
    }
    Ok(())
}
