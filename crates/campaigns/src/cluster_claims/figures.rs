//! The figures of a run.

use std::collections::BTreeMap;
use std::fmt;

/// `3 a, 2 b`.
fn list<T: fmt::Display>(counts: &BTreeMap<T, usize>) -> String {
    let parts: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    parts.join(", ")
}

/// What came out. Displays as a table.
#[derive(Debug, Default)]
pub(super) struct Figures {
    /// So many pods were drawn.
    pub(super) pods: usize,
    pub(super) placed: usize,
    pub(super) without_devices: usize,
    /// Pods that were not created, as kube-scheduler's search may take longer than its limit.
    pub(super) slow: usize,
    pub(super) deleted: usize,
    /// Devices by driver.
    pub(super) devices: BTreeMap<String, usize>,
    /// Pods that were placed, by where their devices are beside CPUs and memory.
    pub(super) words: BTreeMap<&'static str, usize>,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pods, placed, without_devices, slow, deleted, devices, words } = self;
        let all: usize = devices.values().sum();
        writeln!(f, "| what | how many |\n|---|---|")?;
        writeln!(f, "| pods | {pods} |")?;
        writeln!(f, "| placed by kube-scheduler | {placed}, of which {deleted} were deleted again |")?;
        writeln!(f, "| without devices on any node | {without_devices} |")?;
        writeln!(f, "| left out, as the search may exceed kube-scheduler's limit | {slow} |")?;
        writeln!(f, "| devices in `status.allocation` | {all}: {} |", list(devices))?;
        writeln!(f, "| pods with other devices than `topolet admit` named | 0 |")?;
        writeln!(f, "| devices beside pinned CPUs and memory, by brute force | {} |", list(words))?;
        writeln!(f, "| pods of which `topolet admit` says otherwise | 0 |")
    }
}
