//! Metrics of partitions: faults, and interrupts and kernel threads on their CPUs.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Counts of the last round over partitions.
#[derive(Clone, Copy, Default, Debug)]
pub struct PartitionCounts {
    /// Partitions that are not made, not valid or not released.
    pub invalid: usize,
    /// Interrupts on their CPUs.
    pub interrupts: usize,
    /// Of them, those that cannot be moved.
    pub unmovable: usize,
    /// Kernel threads that ran on their CPUs and could run elsewhere.
    pub kernel_threads: usize,
}

#[derive(Default)]
pub(super) struct Partitions {
    faults: Counter,
    invalid: Gauge,
    interrupts: Gauge,
    unmovable: Gauge,
    kernel_threads: Gauge,
}

impl Partitions {
    pub(super) fn register(&self, to: &mut Registry) {
        to.register(
            "topolet_cpuset_partition_faults",
            "Partitions of containers that were not made, not valid or not released, or changed by others.",
            self.faults.clone(),
        );
        to.register(
            "topolet_cpuset_invalid_partitions",
            "Partitions of containers that are not made, not valid or not released now.",
            self.invalid.clone(),
        );
        to.register(
            "topolet_cpuset_partition_interrupts",
            "Interrupts that are served on CPUs of partitions.",
            self.interrupts.clone(),
        );
        to.register(
            "topolet_cpuset_partition_unmovable_interrupts",
            "Of them, those that could not be moved; 0 unless cgroup.interrupts is move.",
            self.unmovable.clone(),
        );
        to.register(
            "topolet_cpuset_partition_kernel_threads",
            "Kernel threads that ran on CPUs of partitions last and could run elsewhere.",
            self.kernel_threads.clone(),
        );
    }

    /// Adds partitions that were not valid or not released.
    pub(super) fn faults(&self, partitions: usize) {
        self.faults.inc_by(u64::try_from(partitions).unwrap_or(u64::MAX));
    }

    pub(super) fn found(&self, found: PartitionCounts) {
        for (gauge, count) in [
            (&self.invalid, found.invalid),
            (&self.interrupts, found.interrupts),
            (&self.unmovable, found.unmovable),
            (&self.kernel_threads, found.kernel_threads),
        ] {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
}
