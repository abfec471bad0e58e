//! The results of a workload on a machine, under each strategy.

use serde::Deserialize;

use super::workloads::Workload;

/// A document of `topolet simulate -o json`.
#[derive(Debug, Deserialize)]
pub(super) struct Simulated {
    pub(super) configurations: Vec<Strategy>,
}

/// The results of one strategy.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Strategy {
    pub(super) configuration: String,
    pub(super) pods: u64,
    pub(super) admitted: u64,
    pub(super) aligned_share: f64,
    pub(super) steps: Vec<Step>,
    pub(super) each_run: Vec<Run>,
}

/// A moment of a run.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    cpus_held: f64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    pub(super) pods: u64,
    pub(super) admitted: u64,
    pub(super) at_most: Option<u64>,
}

impl Strategy {
    /// How many pods were refused in all runs.
    pub(super) fn refused(&self) -> u64 {
        self.pods - self.admitted
    }

    /// The share of CPUs that containers had for themselves, on the average over time.
    #[expect(clippy::cast_precision_loss, reason = "numbers of moments are small")]
    pub(super) fn cpus_held(&self) -> f64 {
        self.steps.iter().map(|step| step.cpus_held).sum::<f64>() / self.steps.len().max(1) as f64
    }
}

/// A workload on a machine.
pub(super) struct Cell {
    pub(super) workload: &'static Workload,
    pub(super) machine: &'static str,
    pub(super) strategies: Vec<Strategy>,
}

impl Cell {
    pub(super) fn strategy(&self, name: &str) -> Option<&Strategy> {
        self.strategies.iter().find(|own| own.configuration == name)
    }

    /// How many pods every placement refuses: the largest such bound of each run.
    pub(super) fn unavoidable(&self) -> u64 {
        let runs = self.strategies.first().map_or(0, |own| own.each_run.len());
        let refused = |run: &Run| run.pods - run.at_most.unwrap_or(run.pods);
        let of_run =
            |at: usize| self.strategies.iter().filter_map(|own| own.each_run.get(at)).map(refused).max();
        (0..runs).filter_map(of_run).sum()
    }
}
