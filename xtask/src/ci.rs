//! `cargo xtask ci`: everything that has to hold before a change lands.

mod beside;
mod steps;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use workspace_tools::commands::Program;
use workspace_tools::debian;
use workspace_tools::workspace::{build, cargo, root, run, target};

use self::beside::Beside;
use self::steps::Steps;
use crate::codegen::Codegen;
use crate::first_minutes::{FirstMinutes, small_program};
use crate::fixtures::Fixtures;
use crate::guide::Guide;
use crate::hwloc::Hwloc;
use crate::instructions::{Build as CountedBuild, Instructions};
use crate::licences::Licences;
use crate::package::Package;
use crate::recorded::Recorded;
use crate::spelling::Spelling;
use crate::test::{self, Tests};
use crate::tidy::Tidy;

/// The machines that are booted as guests, with the parts of the names of the tests that run there; none: all. Two nodes with
/// virtual functions; and four with memory-only ones, where what depends on the machine is tested.
const GUESTS: [(&str, &str); 2] = [
    ("xeon-2s-96cpu-sriov", ""),
    ("xeon-cxl-4node", "discovery,functions,capture,containers_get,pages,power,changed_memory"),
];

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
        let mut steps = Steps::begin()?;
        let packages =
            install.then(|| Beside::start("packages", debian::installation(&packages()))).transpose()?;
        check_text()?;
        steps.end("format, structure, generated files, licences")?;
        run(&mut cargo(&CLIPPY))?;
        steps.end("clippy")?;
        first_minutes()?;
        steps.end("small build")?;
        fuzz_targets()?;
        steps.end("fuzz targets")?;
        run(cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "--deny warnings"))?;
        steps.end("documentation")?;
        Package { alone: false }.run()?;
        steps.end("packages and their users")?;
        Spelling { install }.run()?;
        steps.end("spelling")?;
        // What cannot be installed is asked for once more where it is needed: some of it can be done without.
        if let Some(Err(error)) = packages.map(Beside::end) {
            eprintln!("{error:#}");
        }
        steps.end("packages of Debian, the rest")?;
        let tests = Tests::build()?;
        steps.end("programs of tests")?;
        Guide { install }.run()?;
        steps.end("guide as a book")?;
        let guests = Beside::start("guests", guests(install_there)?)?;
        // With a folder of recorded answers its test is one of those on that.
        let hwloc = Hwloc { install };
        if recorded.is_some() { hwloc.lints() } else { hwloc.run() }?;
        steps.end("hwloc")?;
        Instructions { build: CountedBuild::Tests, write: false, install }.run()?;
        steps.end("instructions")?;
        conformance(recorded.as_deref())?;
        steps.end("conformance")?;
        tests.run_some("package(topolet) & binary(guide)", "TOPOLET_PROGRAM", &small_program())?;
        steps.end("guide with the small program")?;
        chaos()?;
        steps.end("chaos")?;
        page(install_there)?;
        steps.end("page in a browser")?;
        if let Some(folder) = recorded {
            Recorded { folder }.run()?;
            steps.end("recorded machines and answers")?;
        }
        test::prepare()?;
        steps.end("programs in Go and Python, documentation tests, examples")?;
        let took = guests.end()?;
        steps.end("guests, the rest")?;
        steps.print();
        eprintln!("{:>6} guests, beside those above", took.as_secs());
        test::in_ci()
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
/// kind may pass fewer than the baseline says, nor more as listed differences. The program is the one that tests use: a release
/// build takes longer than it saves here.
fn conformance(recorded: Option<&Path>) -> anyhow::Result<()> {
    build(&["conformance"])?;
    let play = || {
        let mut program = Command::new(target().join("debug/conformance"));
        program.current_dir(root()).args(["--written", "fixtures/kubelet-written.json"]);
        program
    };
    run(play().arg("fixtures/kubelet"))?;
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
    run(play().args(answers).args(["--baseline", "fixtures/kubelet-baseline.json"]))
}

/// Builds the small program, within its bars.
fn first_minutes() -> anyhow::Result<()> {
    FirstMinutes::of_ci().run()?;
    let lint = ["clippy", "--package", "topolet", "--no-default-features", "--", "--deny", "warnings"];
    run(&mut cargo(&lint))
}

/// Whether all fuzz targets still compile: the toolchain that is pinned will do for that, and no engine is needed.
fn fuzz_targets() -> anyhow::Result<()> {
    // With the versions of the project's lock file, the crates of others are those that are checked already.
    fs::copy(root().join("Cargo.lock"), root().join("fuzz/Cargo.lock"))?;
    let mut check = cargo(&["clippy", "--quiet", "--manifest-path", "fuzz/Cargo.toml", "--target-dir"]);
    // The engine is linked to programs only, which a check makes none of: none is compiled.
    check.arg(target()).env("CUSTOM_LIBFUZZER_PATH", "/not-linked/libfuzzer.a");
    run(check.args(["--", "--deny", "warnings"]))
}

/// Kills a daemon a few times, and fills its disk.
fn chaos() -> anyhow::Result<()> {
    run(Program::Campaigns.start()?.args(["chaos", "--kills", "6", "--profile", "debug"]))
}

/// The page in a browser, where there is one; `install` is what has it installed where it is missing.
fn page(install: Option<&str>) -> anyhow::Result<()> {
    run(Program::Campaigns.start()?.args(["page", "--quick"]).args(install))
}

/// The commands that boot guests and run their tests.
fn guests(install: Option<&str>) -> anyhow::Result<Vec<Command>> {
    let boot = |(machine, tests): (&str, &str)| {
        let mut boot = Program::Guest.start()?;
        boot.args(["vm", "--machine", machine]).args(install);
        if !tests.is_empty() {
            boot.args(["--test", tests]);
        }
        Ok(boot)
    };
    GUESTS.into_iter().map(boot).collect()
}

/// The packages of Debian that steps need.
fn packages() -> Vec<&'static str> {
    let guests = debian::GUESTS.iter().map(|(_, package)| package);
    [debian::HWLOC, debian::VALGRIND, debian::BROWSER].concat().iter().chain(guests).copied().collect()
}
