//! The harness as a program; `cargo xtask conformance` runs it.

mod again;
mod live;
mod asking;
mod module;
mod progress;
mod programs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Parser as _;
use conformance::{Baseline, Report, Selection, Share, WrittenAnswers};
use serde::de::DeserializeOwned;

use again::Again;
use live::Live;

/// Plays every case below the folders and prints, for each kind, how many pass.
///
/// Exits with 1 if a case differs or is not played; with --baseline, if fewer cases of a kind pass than before, or more
/// of them as listed differences.
#[derive(Debug, clap::Parser)]
#[command(name = "cargo xtask conformance", bin_name = "cargo xtask conformance")]
struct Conformance {
    /// Folders with case files: the root of all domains, or single domains; or single files.
    #[arg(required_unless_present_any = ["live", "again"])]
    folders: Vec<PathBuf>,
    /// The corpus that a folder with a RELEASE file changes [default: the folder beside it with the same name up to the
    /// last "-", else the one above it].
    #[arg(long, value_name = "DIR")]
    overlay: Option<PathBuf>,
    /// Fail only where a kind passes fewer cases than this file says, or more of them as listed differences.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write the passes of each kind to this file.
    #[arg(long, value_name = "FILE")]
    write_baseline: Option<PathBuf>,
    /// Compare our answers where the kubelet crashes or hangs with those of this file.
    #[arg(long, value_name = "FILE")]
    written: Option<PathBuf>,
    /// Add our answers where the kubelet crashes or hangs to this file, to be read before they are committed.
    #[arg(long, value_name = "FILE", conflicts_with = "written")]
    write_written: Option<PathBuf>,
    /// Instead of playing, write an evenly spaced part of the cases to this folder.
    #[arg(long, value_name = "DIR")]
    select: Option<PathBuf>,
    /// With --select: leave out cases on machines whose names have a file in this folder.
    #[arg(long, value_name = "DIR", requires = "select")]
    without_machines: Option<PathBuf>,
    /// How many differing cases of each kind are shown in full.
    #[arg(long, value_name = "N", default_value_t = 1)]
    differences: usize,
    #[command(flatten)]
    live: Live,
    #[command(flatten)]
    again: Again,
}

fn main() -> ExitCode {
    match Conformance::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What a JSON file holds.
fn json<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not such a file", path.display()))
}

impl Conformance {
    fn run(self) -> anyhow::Result<()> {
        if let Some(target) = &self.select {
            return self.select(target);
        }
        if self.again.is_asked() {
            return self.again.ask(self.live.domain());
        }
        // A panic of our code is a failed case with its text, and needs no trace beside it.
        std::panic::set_hook(Box::new(|_| {}));
        let mut report = Report::keeping(self.differences);
        if let Some(path) = &self.written {
            report = report.comparing_with(json(path)?);
        }
        for folder in &self.folders {
            report.play(folder, self.overlay.as_deref())?;
        }
        self.live.play(&mut report)?;
        drop(std::panic::take_hook());
        println!("{report}");
        if let Some(path) = &self.write_baseline {
            let text = serde_json::to_string_pretty(&report.baseline())?;
            fs::write(path, text + "\n").with_context(|| format!("failed to write {}", path.display()))?;
        }
        if let Some(path) = &self.write_written {
            let mut all = if path.exists() { json(path)? } else { WrittenAnswers::new() };
            all.add(report.unanswered.clone());
            fs::write(path, all.to_json()?).with_context(|| format!("failed to write {}", path.display()))?;
        }
        let (_, failed, skipped) = report.totals();
        if skipped > 0 {
            bail!("{skipped} cases are of kinds that are not played here");
        }
        match &self.baseline {
            Some(path) => {
                let lost = report.lost(&json::<Baseline>(path)?);
                if !lost.is_empty() {
                    bail!("fewer cases pass than before: {}", lost.join("; "));
                }
            }
            None if failed > 0 => bail!("{failed} cases differ from the kubelet"),
            None => {}
        }
        Ok(())
    }

    fn select(&self, target: &Path) -> anyhow::Result<()> {
        let mut without = Vec::new();
        if let Some(folder) = &self.without_machines {
            let entries =
                fs::read_dir(folder).with_context(|| format!("failed to read {}", folder.display()))?;
            for entry in entries {
                let name = entry?.file_name().to_string_lossy().into_owned();
                without.extend(name.split('.').next().map(str::to_owned));
            }
        }
        let share = Share { cases: 40, bytes: 200_000 };
        for folder in &self.folders {
            let written = Selection { share, without: without.clone() }.write(folder, target)?;
            println!("{written} cases of {} written to {}", folder.display(), target.display());
        }
        Ok(())
    }
}
