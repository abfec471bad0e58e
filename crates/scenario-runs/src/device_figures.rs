//! Figures about the devices of pods: where they are beside CPUs and memory, and what claiming them costs kube-scheduler.

use node_simulation::{DeviceAlignments, Searches};
use serde::Serialize;

/// Admitted pods with devices, by where these are beside the exclusive CPUs and bound memory of their containers.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct DevicePlacement {
    /// All devices are there.
    pub(crate) aligned: u64,
    /// A device is elsewhere, which Kubernetes does not report.
    pub(crate) misaligned: u64,
    /// No device is known to be elsewhere, and of some it is not known.
    pub(crate) unknown: u64,
    /// No container has exclusive CPUs or bound memory.
    pub(crate) nothing_pinned: u64,
}

/// What kube-scheduler's searches for claimed devices cost, one for each try of a pod and machine with enough in sum.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct SearchFigures {
    pub(crate) count: u64,
    /// Calls of its inner search in all of them.
    pub(crate) steps: u64,
    /// Those of the longest search.
    pub(crate) most_steps: u64,
    /// Searches that may exceed kube-scheduler's limit of 10 s.
    pub(crate) may_time_out: u64,
    /// Searches that exceed it.
    pub(crate) time_out: u64,
}

impl DevicePlacement {
    /// Of some runs; `None`: no pod has devices.
    pub(crate) fn of(runs: impl IntoIterator<Item = DeviceAlignments>) -> Option<Self> {
        let pods = runs.into_iter().fold(DeviceAlignments::default(), DeviceAlignments::and);
        let DeviceAlignments { aligned, elsewhere, unknown, nothing_pinned } = pods;
        (pods.all() > 0).then_some(Self { aligned, misaligned: elsewhere, unknown, nothing_pinned })
    }

    /// How many pods have devices.
    pub(crate) const fn pods(self) -> u64 {
        self.aligned + self.misaligned + self.unknown + self.nothing_pinned
    }
}

impl SearchFigures {
    pub(crate) fn of<'r>(runs: impl Iterator<Item = &'r Searches>) -> Self {
        let none = Self { count: 0, steps: 0, most_steps: 0, may_time_out: 0, time_out: 0 };
        runs.fold(none, |sum, run| Self {
            count: sum.count + run.count,
            steps: sum.steps.saturating_add(run.steps),
            most_steps: sum.most_steps.max(run.most_steps),
            may_time_out: sum.may_time_out + run.may_time_out,
            time_out: sum.time_out + run.time_out,
        })
    }
}
