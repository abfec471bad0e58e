//! `cargo xtask first-minutes`: what it costs to build topolet from nothing, as after a fresh clone.
//!
//! Two builds are measured: the small one, which `./topolet` makes, and the whole one, which `cargo install` makes. Each
//! starts with an empty target folder; the crates are on the machine already, so that no network is measured.
//!
//! The bar: CI counts the crates of both, of which there may be no more than CHANGELOG.md says, and compares the CPU time
//! of the small build with that of `serde_json` and its dependencies, built by the same cargo in the same run. A ratio
//! depends little on the machine, and [`FirstMinutes::of_ci`] leaves room for the rest.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use fs_err as fs;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use workspace_tools::document::write_figures;
use workspace_tools::workspace::{cargo, root, run, target};

const DOCUMENT: &str = "docs/first-minutes.md";
/// In the document, in front of the ratio that CI compares with.
const RATIO: &str = "times the CPU time of `serde_json`: ";
/// A measured ratio may be so many times the written one: a busy machine with two threads a core is that far off.
const ROOM: f64 = 1.4;

/// Measures the small build and the whole one, each from an empty target folder.
#[derive(Debug, clap::Args)]
pub(crate) struct FirstMinutes {
    /// Writes the figures to docs/first-minutes.md.
    #[arg(long)]
    write: bool,
    /// The small build only, and compare it with docs/first-minutes.md and CHANGELOG.md: what CI does.
    #[arg(long, conflicts_with = "write")]
    small: bool,
}

/// What is built.
#[derive(Clone, Copy)]
struct Build {
    name: &'static str,
    /// The command as a user types it.
    typed: &'static str,
    /// Of `cargo build`.
    arguments: &'static [&'static str],
    /// Of `cargo tree`.
    features: &'static [&'static str],
    program: &'static str,
}

const SMALL: Build = Build {
    name: "small",
    typed: "./topolet demo",
    arguments: &["--profile", "quick", "--package", "topolet", "--no-default-features"],
    features: &["--no-default-features"],
    program: "quick/topolet",
};
const WHOLE: Build = Build {
    name: "whole",
    typed: "cargo install --path crates/topolet",
    arguments: &["--release", "--package", "topolet"],
    features: &[],
    program: "release/topolet",
};

/// What a build took.
struct Cost {
    wall: Duration,
    cpu: Duration,
    /// Of the largest process until now, in MiB.
    largest: i64,
}

impl FirstMinutes {
    pub(crate) const fn of_ci() -> Self {
        Self { write: false, small: true }
    }

    #[expect(clippy::print_stdout, reason = "the figures are what the command is for")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let folder = target().join("first-minutes");
        let (small, whole) = (SMALL.crates()?, WHOLE.crates()?);
        println!("crates: {small} of the small build, {whole} of the whole");
        let allowed = allowed(&read("CHANGELOG.md")?)?;
        ensure!(
            small <= allowed.0 && whole <= allowed.1,
            "topolet is built of {small} crates without features and {whole} with all, where CHANGELOG.md says {} and {}: \
             drop the new ones, or say in CHANGELOG.md why they are there",
            allowed.0,
            allowed.1
        );
        run(&mut cargo(&["fetch", "--locked", "--quiet"]))?;
        let serde_json =
            built(&folder.join("serde_json"), &["--profile", "quick", "--package", "serde_json"])?;
        let cost = SMALL.measure(&folder)?;
        let ratio = cost.cpu.as_secs_f64() / serde_json.cpu.as_secs_f64();
        println!(
            "the small build takes {ratio:.1} {RATIO}{:.1} s of {:.1} s",
            serde_json.cpu.as_secs_f64(),
            cost.cpu.as_secs_f64()
        );
        if self.small {
            let written = written_ratio(&read(DOCUMENT)?)?;
            ensure!(
                ratio <= written * ROOM,
                "the small build takes {ratio:.1} {RATIO}{DOCUMENT} says {written:.1}. If that is as it should be, \
                 `cargo xtask first-minutes --write` renews it"
            );
            return Ok(());
        }
        let mut rows = format!(
            "| build | command | crates | seconds | CPU seconds | largest process | program |\n|---|---|---|---|---|---|---|\n{}",
            SMALL.row(&folder, small, &cost)?
        );
        let cost = WHOLE.measure(&folder)?;
        rows += &WHOLE.row(&folder, whole, &cost)?;
        let _ = write!(rows, "\nThe small build takes this many {RATIO}{ratio:.1}\n");
        print!("{rows}");
        fs::remove_dir_all(&folder)?;
        if self.write { write_figures(DOCUMENT, "cargo xtask first-minutes --write", &rows) } else { Ok(()) }
    }
}

impl Build {
    /// How many crates are compiled, those of macros and build scripts and their own included.
    fn crates(self) -> anyhow::Result<usize> {
        let tree =
            ["tree", "--locked", "--package", "topolet", "--edges", "normal,build", "--prefix", "none"];
        let mut tree = cargo(&tree);
        let output = tree.args(self.features).output().context("failed to start cargo tree")?;
        ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).context("cargo tree prints no UTF-8")?;
        Ok(lines.lines().map(|line| line.trim_end_matches(" (*)")).collect::<BTreeSet<_>>().len())
    }

    fn measure(self, folder: &Path) -> anyhow::Result<Cost> {
        built(&folder.join(self.name), self.arguments)
    }

    fn program(self, folder: &Path) -> PathBuf {
        folder.join(self.name).join(self.program)
    }

    fn row(self, folder: &Path, crates: usize, cost: &Cost) -> anyhow::Result<String> {
        let program = self.program(folder);
        let size = fs::metadata(&program)?.len();
        let (wall, cpu) = (cost.wall.as_secs_f64(), cost.cpu.as_secs_f64());
        Ok(format!(
            "| {} | `{}` | {crates} | {wall:.0} | {cpu:.0} | {} MiB | {} MiB |\n",
            self.name,
            self.typed,
            cost.largest,
            size >> 20
        ))
    }
}

/// The program of the small build that was measured last.
pub(crate) fn small_program() -> PathBuf {
    SMALL.program(&target().join("first-minutes"))
}

/// Builds with a target folder that is empty before.
fn built(folder: &Path, arguments: &[&str]) -> anyhow::Result<Cost> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let (before, start) = (children()?, Instant::now());
    run(cargo(&["build", "--locked", "--quiet", "--timings"])
        .args(arguments)
        .env("CARGO_TARGET_DIR", folder))?;
    let (after, wall) = (children()?, start.elapsed());
    Ok(Cost { wall, cpu: after.0.saturating_sub(before.0), largest: after.1 >> 10 })
}

/// CPU time of all processes that have ended, and the memory of the largest in KiB.
pub(crate) fn children() -> anyhow::Result<(Duration, i64)> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("failed to ask what processes used")?;
    let cpu = usage.user_time() + usage.system_time();
    Ok((Duration::from_micros(u64::try_from(cpu.num_microseconds())?), usage.max_rss()))
}

fn read(document: &str) -> anyhow::Result<String> {
    Ok(fs::read_to_string(root().join(document))?)
}

/// How many crates there may be, without features and with all: as in the newest line about them.
fn allowed(changelog: &str) -> anyhow::Result<(usize, usize)> {
    let numbers = |line: &str| {
        let (small, rest) = line
            .trim_start_matches("- ")
            .strip_prefix("Built of ")?
            .split_once(" crates without features and ")?;
        Some((small.parse().ok()?, rest.split(' ').next()?.parse().ok()?))
    };
    changelog
        .lines()
        .find_map(numbers)
        .context("CHANGELOG.md has no line \"Built of N crates without features and M with …\"")
}

fn written_ratio(document: &str) -> anyhow::Result<f64> {
    let ratio = document.split(RATIO).nth(1).and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    ratio.with_context(|| format!("{DOCUMENT} has no ratio: `cargo xtask first-minutes --write`"))
}

#[cfg(test)]
mod tests {
    use super::{RATIO, allowed, written_ratio};

    #[test]
    fn the_bars_are_read_from_documents() {
        let changelog = "## x\n- Other.\n- Built of 99 crates without features and 290 with all: smaller.\n- Built of 1 crates without features and 2 with all\n";
        assert_eq!(allowed(changelog).ok(), Some((99, 290)));
        assert!(allowed("- Built of many crates").is_err());
        assert_eq!(written_ratio(&format!("On 2 cores. {RATIO}18.5\n")).ok(), Some(18.5));
        assert!(written_ratio("").is_err());
    }
}
