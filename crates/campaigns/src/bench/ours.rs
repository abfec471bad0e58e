//! Our side: the program `workloads`, built for release and run.

use std::path::Path;

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use workspace_tools::workloads::output;
use workspace_tools::workspace::{cargo, run, target};

use super::effort::Effort;

/// What was measured of one piece of work.
#[derive(Debug, Deserialize)]
pub(super) struct Ours {
    pub(super) name: String,
    #[serde(rename = "ns_per_op")]
    pub(super) nanoseconds: f64,
    /// Counted by another program.
    #[serde(skip)]
    pub(super) allocated: Allocated,
    must_reach_ns: Option<u64>,
    must_reach_allocs: Option<u64>,
    /// Of a point: what is done, and what there is more of.
    pub(super) curve: Option<String>,
    pub(super) axis: Option<String>,
    /// Of a point: how many there are.
    pub(super) at: Option<f64>,
}

/// Memory, for one repetition.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Allocated {
    #[serde(rename = "allocs_per_op")]
    pub(super) times: u64,
    /// At the same time at most, in bytes.
    #[serde(rename = "peak_bytes")]
    pub(super) peak: u64,
}

#[derive(Deserialize)]
struct NamedAllocated {
    name: String,
    #[serde(flatten)]
    allocated: Allocated,
}

impl Ours {
    /// What must be reached, in nanoseconds and allocations; `None`: a point of a curve.
    pub(super) const fn target(&self) -> Option<(u64, Option<u64>)> {
        match self.must_reach_ns {
            Some(nanoseconds) => Some((nanoseconds, self.must_reach_allocs)),
            None => None,
        }
    }

    /// Whether that was reached.
    pub(super) fn is_reached(&self) -> Option<bool> {
        let (nanoseconds, allocations) = self.target()?;
        #[expect(clippy::cast_precision_loss, reason = "a time of hours is compared exactly")]
        let in_time = self.nanoseconds <= nanoseconds as f64;
        Some(in_time && allocations.is_none_or(|most| self.allocated.times <= most))
    }
}

/// Everything with `only` in its name, measured.
pub(super) fn measure(program: &Path, only: &str, effort: Effort) -> anyhow::Result<Vec<Ours>> {
    let arguments: Vec<&str> = ["measure", "--only", only].into_iter().chain(effort.argument()).collect();
    let text = output(program, &arguments)?;
    let lines: serde_json::Result<Vec<Ours>> = text.lines().map(serde_json::from_str).collect();
    let mut lines = lines.context("the program `workloads` printed something else than measurements")?;
    let counted = ["build", "--release", "--quiet", "--package", "workloads", "--features", "count"];
    run(cargo(&counted).args(["--bin", "workloads-allocations"]))?;
    let text = output(&target().join("release/workloads-allocations"), &["--only", only])?;
    for line in text.lines() {
        let counted: NamedAllocated =
            serde_json::from_str(line).context("that is no count of allocations")?;
        if let Some(ours) = lines.iter_mut().find(|ours| ours.name == counted.name) {
            ours.allocated = counted.allocated;
        }
    }
    ensure!(!lines.is_empty(), "nothing that is measured has {only:?} in its name");
    Ok(lines)
}

/// The same as the kubelet's side reads it.
pub(super) fn described(program: &Path, only: &str) -> anyhow::Result<String> {
    output(program, &["describe", "--only", only])
}
