//! The state of partitions after the last round.

use std::collections::BTreeMap;

use cgroup_cpuset::{CgroupPath, Noise};
use conditions::Condition;
use cpuset::CpuSet;
use node_agent::Snapshot;
use node_view::NodeCondition::{PartitionValid, PartitionsQuiet, PartitionsSeen};
use node_view::{NodeConditions, PartitionCounts};

use super::isolation::{Isolation, NOT_RELEASED};

/// Partitions that are not valid, and what else runs on the CPUs of those that are.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Partitions that are not made, not valid or not released, each as a sentence with the kernel's own words.
    pub(super) invalid: BTreeMap<CgroupPath, String>,
    /// The CPUs of all partitions that are valid.
    pub(super) cpus: CpuSet,
    pub(super) noise: Noise,
    /// Interrupts that could not be moved, each with the reason.
    pub(super) unmovable: BTreeMap<u32, String>,
    /// Errors: interrupts were not moved, or `noise` is not known.
    pub(super) failed: Vec<String>,
}

impl Findings {
    /// The partitions that are not valid now.
    pub(super) fn of(isolation: &Isolation, snapshot: &Snapshot) -> Self {
        let sentence = |(cgroup, condition): (&CgroupPath, &Condition)| {
            let (who, why) = (owner(cgroup, snapshot), condition.message());
            let sentence = match condition.reason() {
                NOT_RELEASED => format!("partition of {who} is not released: {why}"),
                _ => format!("CPUs of {who} are no partition: {why}"),
            };
            (cgroup.clone(), sentence)
        };
        let invalid = isolation.faults().map(sentence).collect();
        Self { invalid, cpus: isolation.cpus(), ..Self::default() }
    }

    /// Why interrupts that are served on CPUs of partitions cannot be moved.
    pub(super) fn unmovable_there(&self) -> impl Iterator<Item = &str> {
        let there = self.unmovable.iter().filter(|(number, _)| self.noise.interrupts.contains(number));
        there.map(|(_, why)| why.as_str())
    }

    /// How many there are of each.
    pub(super) fn counts(&self) -> PartitionCounts {
        PartitionCounts {
            invalid: self.invalid.len(),
            interrupts: self.noise.interrupts.len(),
            unmovable: self.unmovable_there().count(),
            kernel_threads: self.noise.kernel_threads.len(),
        }
    }

    /// Sets the node's conditions, and logs the errors. The rest is logged where it is found.
    pub(super) fn report(&self, conditions: &NodeConditions) {
        let invalid = self.invalid.iter().map(|(cgroup, why)| (cgroup.to_string(), why.clone()));
        conditions.fails_of(PartitionValid, invalid);
        conditions.fails_of(PartitionsQuiet, self.note().map(|note| (String::new(), note)));
        for why in
            conditions.fails_of(PartitionsSeen, self.failed.iter().map(|why| (why.clone(), why.clone())))
        {
            tracing::error!(cpus = %self.cpus, "{why}");
        }
    }

    /// What else runs on CPUs of partitions, in one sentence; `None`: nothing.
    pub(super) fn note(&self) -> Option<String> {
        if self.cpus.is_empty() {
            // Without partitions all interrupts go back to their CPUs.
            let (number, why) = self.unmovable.iter().next()?;
            return Some(format!("interrupt {number} is not back where it was: {why}"));
        }
        let count = |count: usize, what: &str| match count {
            0 => None,
            1 => Some(format!("1 {what}")),
            more => Some(format!("{more} {what}s")),
        };
        let mut stay = self.unmovable_there();
        let interrupts = count(self.noise.interrupts.len(), "interrupt").map(|served| match stay.next() {
            None => format!("serve {served}"),
            Some(why) => format!("serve {served}, of which {} cannot be moved ({why})", stay.count() + 1),
        });
        let threads = count(self.noise.kernel_threads.len(), "kernel thread");
        let threads = threads.map(|ran| format!("ran {ran} that could run elsewhere"));
        let found: Vec<String> = interrupts.into_iter().chain(threads).collect();
        (!found.is_empty()).then(|| format!("CPUs {} of partitions {}", self.cpus, found.join(", and ")))
    }
}

/// The container that a cgroup belongs to, else the cgroup.
fn owner(cgroup: &CgroupPath, snapshot: &Snapshot) -> String {
    let found = || {
        let is_it = |path: &std::path::PathBuf| CgroupPath::new(path).is_ok_and(|own| own == *cgroup);
        let place = snapshot.places.iter().find(|one| one.cgroup.as_ref().is_some_and(is_it))?;
        let pod = &snapshot.pods.get(&place.container.pod)?.pod;
        Some(format!("container {} of pod {}/{}", place.container.container, pod.namespace, pod.name))
    };
    found().unwrap_or_else(|| format!("cgroup {cgroup}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_what_runs_there() {
        let found = |interrupts: u32, unmovable: u32, threads: u32| {
            let noise = Noise {
                interrupts: (0..interrupts).collect(),
                kernel_threads: (0..threads).map(|id| (id, "kworker".to_owned())).collect(),
            };
            let unmovable = (0..unmovable).map(|number| (number, format!("IRQ {number} says no"))).collect();
            Findings { cpus: "2-3".parse().unwrap(), noise, unmovable, ..Findings::default() }.note()
        };
        assert_eq!(found(0, 0, 0), None);
        let unmovable = [(7, "IRQ 7 says no".to_owned())].into();
        let released = Findings { unmovable, ..Findings::default() };
        assert_eq!(released.note().as_deref(), Some("interrupt 7 is not back where it was: IRQ 7 says no"));
        for (found, expected) in [
            (found(1, 0, 0), "CPUs 2-3 of partitions serve 1 interrupt"),
            (
                found(3, 1, 0),
                "CPUs 2-3 of partitions serve 3 interrupts, of which 1 cannot be moved (IRQ 0 says no)",
            ),
            (found(0, 0, 1), "CPUs 2-3 of partitions ran 1 kernel thread that could run elsewhere"),
            (
                found(2, 0, 2),
                "CPUs 2-3 of partitions serve 2 interrupts, and ran 2 kernel threads that could run elsewhere",
            ),
        ] {
            assert_eq!(found.as_deref(), Some(expected));
        }
    }
}
