//! The record of a program: the cost of its build and the outcome of its trial. It is kept below `target`, so that programs
//! can be built and tried one after the other.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context as _;
use fs_err as fs;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde::{Deserialize, Serialize};
use workspace_tools::workspace::target;

use super::programs::{Builds, Program};
use super::trial::Outcome;

/// All that is known.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Record {
    cost: Option<Cost>,
    outcome: Option<Outcome>,
}

/// What a build took.
#[derive(Serialize, Deserialize)]
pub(super) struct Cost {
    seconds: f64,
    cpu_seconds: f64,
    /// Whether Go had compiled nothing of it before.
    was_cache_empty: bool,
}

impl Cost {
    /// Measures a build. Nothing else may run in processes of this one meanwhile.
    pub(super) fn of(builds: Builds, build: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Self> {
        let (before, start) = (children()?, Instant::now());
        build()?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(Self { seconds, cpu_seconds: children()? - before, was_cache_empty: builds == Builds::Anew })
    }
}

impl Record {
    /// Keeps the cost of a build; an earlier outcome was that of another file, and is dropped.
    pub(super) fn built(program: Program, cost: Cost) -> anyhow::Result<()> {
        Self { cost: Some(cost), outcome: None }.write(program)
    }

    /// Keeps the outcome of a trial.
    pub(super) fn tried(program: Program, outcome: Outcome) -> anyhow::Result<()> {
        Self { outcome: Some(outcome), ..Self::read(program)? }.write(program)
    }

    /// What is known by now.
    pub(super) fn read(program: Program) -> anyhow::Result<Self> {
        let path = path(program);
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = fs::read(&path)?;
        serde_json::from_slice(&text).with_context(|| format!("{} is corrupt: remove it", path.display()))
    }

    fn write(&self, program: Program) -> anyhow::Result<()> {
        let path = path(program);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        Ok(fs::write(&path, serde_json::to_vec_pretty(self)?)?)
    }

    /// A row of the table.
    pub(super) fn row(&self, program: Program) -> anyhow::Result<String> {
        let cost = self.cost.as_ref().map_or_else(
            || " | |".to_owned(),
            |cost| {
                let cache = if cost.was_cache_empty { "empty" } else { "used" };
                format!("{:.0} | {:.0} | {cache}", cost.seconds, cost.cpu_seconds)
            },
        );
        let file = program.file();
        let size = match fs::metadata(&file) {
            Ok(metadata) => (metadata.len() >> 20).to_string(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("failed to read {}", file.display())),
        };
        let outcome = self.outcome.as_ref().map_or_else(|| "not tried".to_owned(), ToString::to_string);
        let outcome = outcome.replace('|', "\\|");
        Ok(format!("| {} | {} | {cost} | {size} | {outcome} |\n", program.name(), program.version()))
    }
}

fn path(program: Program) -> PathBuf {
    target().join("others").join(format!("{}-{}.json", program.name(), program.version()))
}

/// CPU seconds of all processes that have ended.
fn children() -> anyhow::Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("failed to ask what processes used")?;
    let cpu = usage.user_time() + usage.system_time();
    #[expect(clippy::cast_precision_loss, reason = "microseconds of less than a century")]
    Ok(cpu.num_microseconds() as f64 / 1e6)
}
