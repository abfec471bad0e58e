//! Writes the cgroups of containers, one by one, and keeps what it wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cgroup_cpuset::{
    CgroupPath, Cgroups, Files, LimitError, Limits, Place, PlaceError, Quota, QuotaError, Written,
};
use conditions::{Conditions, State, Status};
use cpu_manager::{ContainerId, CpuQuota};
use node_agent::{Enforcement, Pinning};
use node_view::clock::Clock;

use super::cause::with_cause;
use super::findings::Findings;
use super::isolation::{self, Isolation};
use super::quiet::Quiet;
use ContainerCondition::{HasCpus, Limited, Placed};

/// Writes cgroups, and keeps what it wrote.
pub(super) struct Keeper<F> {
    pub(super) cgroups: Cgroups<F>,
    pub(super) isolation: Isolation,
    pub(super) quiet: Quiet<F>,
    /// What each cgroup had after the last write that did not fail.
    written: BTreeMap<ContainerId, Target>,
    conditions: Conditions<ContainerCondition, ContainerId>,
    clock: Arc<dyn Clock>,
}

impl<F: Files> Keeper<F> {
    pub(super) fn new(
        cgroups: Cgroups<F>,
        isolation: Isolation,
        quiet: Quiet<F>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { cgroups, isolation, quiet, written: BTreeMap::new(), conditions: Conditions::new(), clock }
    }

    /// Whether partitions and interrupts are off, and none is left from an earlier start.
    pub(super) fn is_off(&self) -> bool {
        self.isolation.is_off() && self.quiet.is_off()
    }

    /// Moves interrupts away from partitions; called after a round.
    pub(super) fn move_interrupts(&mut self, found: &mut Findings) {
        self.quiet.keep_off(&self.cgroups, found);
    }

    /// Adds the interrupts and kernel threads on CPUs of partitions. It reads a file of every process.
    pub(super) fn find_noise(&mut self, found: &mut Findings) {
        self.quiet.look(found, self.clock.since_1970());
    }

    /// Whether single orders are carried out without a round: partitions are off, and all containers are on their CPUs.
    pub(super) fn takes_single_orders(&self) -> bool {
        self.is_off() && self.conditions.of(Placed).all(|(_, condition)| condition.status() == Status::True)
    }

    /// Whether a condition of a container has failed.
    pub(super) fn has_failed(&self, of: ContainerCondition, id: &ContainerId) -> bool {
        self.conditions.get(of, id).is_some_and(|condition| condition.status() == Status::False)
    }

    /// Sets a condition of a container; returns whether it fails for a new reason.
    pub(super) fn set(&mut self, of: ContainerCondition, id: &ContainerId, wrong: Option<&str>) -> bool {
        let state = wrong.map_or(State::Works, |why| State::failed(of.reason(), why));
        self.conditions.set(of, id.clone(), state, self.clock.since_1970()).is_some() && wrong.is_some()
    }

    /// Forgets all containers but these.
    pub(super) fn forget_others(&mut self, places: &[(&Enforcement, CpuQuota)]) {
        let known: BTreeSet<&ContainerId> = places.iter().map(|(one, _)| &one.id).collect();
        self.written.retain(|id, _| known.contains(id));
        self.conditions.retain(|_, id| known.contains(id));
    }

    /// Writes the CPUs, memory nodes, quota and limits of a container.
    pub(super) fn write_container(&mut self, one: &Enforcement, quota: CpuQuota) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(cgroup) = &one.cgroup else { return outcome };
        let problem = |kind| ContainerProblem { id: one.id.clone(), cgroup: cgroup.clone(), kind };
        let now = Target { place: place(&one.pinning), quota, limits: limits(&one.pinning) };
        let [placed, limited] = self.write(cgroup, &now);
        let is_changed = [&placed, &limited].contains(&&Ok(Written::Changed));
        let had_limits = !self.has_failed(Limited, &one.id);
        if self.set(Limited, &one.id, limited.as_ref().err().map(String::as_str)) {
            outcome.problems.extend(limited.err().map(|why| problem(ContainerProblemKind::Limited(why))));
        }
        let is_news = self.set(Placed, &one.id, placed.as_ref().err().map(String::as_str));
        match placed {
            Ok(_) => {
                // A first write, or one of another target, is no drift.
                if is_changed && had_limits && self.written.get(&one.id) == Some(&now) {
                    outcome.drifted = 1;
                    outcome.problems.push(problem(ContainerProblemKind::Drifted));
                }
                self.written.insert(one.id.clone(), now);
            }
            Err(why) => {
                self.written.remove(&one.id);
                if is_news {
                    outcome.problems.push(problem(ContainerProblemKind::Failed(why)));
                }
            }
        }
        outcome
    }

    /// The results of writing the CPUs and memory nodes, and of writing the quota and limits.
    fn write(&self, cgroup: &Path, target: &Target) -> [Result<Written, String>; 2] {
        let Target { place, quota, limits } = target;
        let cgroup = match CgroupPath::new(cgroup) {
            Ok(cgroup) => cgroup,
            Err(error) => return [Err(error.to_string()), Ok(Written::Nothing)],
        };
        // A container without a cgroup has ended; its exit is reported later.
        let placed = match self.cgroups.place(&cgroup, place) {
            Err(PlaceError::Gone(_)) => return [Ok(Written::Nothing), Ok(Written::Nothing)],
            placed => placed.map_err(|error| with_cause(&error)),
        };
        // The runtime has written the quota of the CPU limit when it made the cgroup.
        let unlimited = match quota {
            CpuQuota::ByLimit => Ok(Written::Nothing),
            CpuQuota::Unlimited => match self.cgroups.limit(&cgroup, Quota::NONE) {
                Err(QuotaError::Gone(_)) => Ok(Written::Nothing),
                limited => limited.map_err(|error| with_cause(&error)),
            },
        };
        let resized = match self.cgroups.change_limits(&cgroup, limits) {
            Err(LimitError::Gone(_)) => Ok(Written::Nothing),
            resized => resized.map_err(|error| with_cause(&error)),
        };
        let limited = match (unlimited, resized) {
            (Ok(Written::Nothing), resized) => resized,
            (unlimited, Ok(_)) => unlimited,
            (Ok(Written::Changed), Err(why)) | (Err(why), Err(_)) => Err(why),
        };
        [placed, limited]
    }
}

/// A condition of a container; `True` is the good case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum ContainerCondition {
    /// Its cgroup has its CPUs and memory nodes.
    Placed,
    /// It has its limits.
    Limited,
    /// It has all of its CPUs: none is still in use by another container.
    HasCpus,
}

impl ContainerCondition {
    const fn reason(self) -> &'static str {
        match self {
            Placed => "CpusetNotWritten",
            Limited => "LimitsNotWritten",
            HasCpus => "CpusHeld",
        }
    }
}

/// What is written of a container.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Target {
    place: Place,
    quota: CpuQuota,
    limits: Limits,
}

/// The outcome of a round, or of writing one container.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// How many containers other programs had moved, and were written again.
    pub(super) drifted: u64,
    pub(super) problems: Vec<ContainerProblem>,
    pub(super) partition_problems: Vec<isolation::PartitionProblem>,
}

impl Outcome {
    pub(super) fn add(&mut self, other: Self) {
        let Self { drifted, problems, partition_problems } = other;
        self.drifted += drifted;
        self.problems.extend(problems);
        self.partition_problems.extend(partition_problems);
    }
}

/// Something about a container that the log reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ContainerProblem {
    pub(super) id: ContainerId,
    pub(super) cgroup: PathBuf,
    pub(super) kind: ContainerProblemKind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ContainerProblemKind {
    /// Another program had moved it; it is written again.
    Drifted,
    /// Its CPUs or memory nodes cannot be written.
    Failed(String),
    /// Its quota or limits cannot be written.
    Limited(String),
    /// Some of its CPUs are still in use by another container.
    Waits(String),
}

impl ContainerProblem {
    pub(super) fn log(&self) {
        let Self { id, cgroup, kind } = self;
        let cgroup = cgroup.display();
        match kind {
            ContainerProblemKind::Drifted => {
                tracing::warn!(%id, %cgroup, "container was moved by others, and is back");
            }
            ContainerProblemKind::Failed(why) => {
                tracing::error!(%id, %cgroup, "container is not where it belongs: {why}");
            }
            ContainerProblemKind::Limited(why) => {
                tracing::error!(%id, %cgroup, "container does not have its limits: {why}");
            }
            ContainerProblemKind::Waits(why) => {
                tracing::error!(%id, %cgroup, "container waits for CPUs: {why}");
            }
        }
    }
}

/// The CPUs and memory nodes of a container in the form that cgroups have.
pub fn place(pinning: &Pinning) -> Place {
    let Pinning { cpus, mems, limits: _ } = pinning;
    Place { cpus: cpus.clone(), mems: mems.as_ref().map(|nodes| nodes.iter().copied().collect()) }
}

/// The limits of a container in the form that cgroups have.
fn limits(pinning: &Pinning) -> Limits {
    pinning.limits.map_or_else(Limits::default, |limits| Limits { cpu: limits.cpu, memory: limits.memory })
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;
