//! A round over all containers: each gets its CPUs once no other container uses them. Partitions are released before that and
//! made after it.
//!
//! What containers have is read from their cgroups in each round, so that the order is right after a restart and after
//! what other programs wrote. A partition that cannot be released keeps its CPUs, and so does a container that cannot be moved.
//! A container that would get such CPUs waits on its present ones, and makes others wait for these in turn.

use std::collections::{BTreeMap, BTreeSet};

use cgroup_cpuset::{CgroupPath, Files};
use cpu_manager::{ContainerId, CpuQuota};
use cpuset::CpuSet;
use node_agent::{Enforcement, Pinning, in_order};

use super::isolation::{CgroupCpus, Wanted};
use super::keeper::ContainerCondition::{HasCpus, Placed};
use super::keeper::{ContainerProblem, ContainerProblemKind, Keeper, Outcome};

impl<F: Files> Keeper<F> {
    /// A round with these containers, of which those without exclusive CPUs share the `pool`.
    pub(super) fn ordered_round(
        &mut self,
        places: &[(&Enforcement, CpuQuota)],
        wanted: &Wanted,
        pool: &CpuSet,
    ) -> Outcome {
        let (mut partition_problems, kept) = self.isolation.release(&self.cgroups, &wanted.alone);
        let mut outcome = Outcome::default();
        let mut stuck = BTreeSet::new();
        let waits = loop {
            let before = self.before(places);
            let waits = Waiting::of(places, &Found::new(places, &before, pool, &kept, &stuck));
            // A container that cannot be moved keeps its CPUs; the rest is planned again without them.
            let Some(one) = self.move_all(places, &before, pool, &waits, &mut outcome) else { break waits };
            stuck.insert(one);
        };
        outcome.problems.extend(self.report_waiting(places, &waits));
        for (one, quota) in places.iter().filter(|(one, _)| !stuck.contains(&one.id)) {
            outcome.add(self.write_container(&waits.target(one), *quota));
        }
        self.forget_others(places);
        let (ready, others) = waits.ready(&wanted.alone, self.isolation.held());
        partition_problems.extend(self.isolation.make(&self.cgroups, &ready));
        partition_problems.extend(self.isolation.report_waiting(&others));
        partition_problems.extend(self.isolation.report_sharing(&wanted.sharing));
        Outcome { partition_problems, ..outcome }
    }

    /// Moves containers in their order until one cannot be moved, and returns that one.
    fn move_all(
        &mut self,
        places: &[(&Enforcement, CpuQuota)],
        before: &BTreeMap<ContainerId, Pinning>,
        pool: &CpuSet,
        waits: &Waiting,
        outcome: &mut Outcome,
    ) -> Option<ContainerId> {
        let targets = places.iter().map(|(one, _)| waits.target(one));
        let moves = |one: &Enforcement| {
            let now = before.get(&one.id).and_then(|now| now.cpus.as_ref());
            one.pinning.cpus.is_some() && now != one.pinning.cpus.as_ref()
        };
        let moving = targets.filter(moves).collect();
        let quotas: BTreeMap<&ContainerId, CpuQuota> =
            places.iter().map(|(one, quota)| (&one.id, *quota)).collect();
        let in_order = in_order(before, &(pool - &waits.taken()), moving);
        in_order.into_iter().find_map(|one| {
            outcome.add(self.write_container(&one, quotas[&one.id]));
            let target = one.pinning.cpus.as_ref()?;
            let (has_failed, now) = (self.has_failed(Placed, &one.id), self.now(&one));
            // A container that only lacks CPUs, such as those that are offline, makes no other one wait.
            (has_failed && now.is_none_or(|now| !now.is_subset(target))).then_some(one.id)
        })
    }

    /// The CPUs that each cgroup has now. A container that has just started has none set and runs anywhere.
    fn before(&self, places: &[(&Enforcement, CpuQuota)]) -> BTreeMap<ContainerId, Pinning> {
        let before = |one: &Enforcement| {
            let cpus = Some(self.now(one)?);
            Some((one.id.clone(), Pinning { cpus, ..Pinning::default() }))
        };
        places.iter().filter_map(|(one, _)| before(one)).collect()
    }

    fn now(&self, one: &Enforcement) -> Option<CpuSet> {
        let cgroup = CgroupPath::new(one.cgroup.as_ref()?).ok()?;
        self.cgroups.placed_on(&cgroup).ok()?
    }

    /// Reports containers that wait for CPUs, once for each reason.
    fn report_waiting(
        &mut self,
        places: &[(&Enforcement, CpuQuota)],
        waits: &Waiting,
    ) -> Vec<ContainerProblem> {
        let mut problems = Vec::new();
        for (one, _) in places {
            let why = waits.lacks(&one.id).map(|lacks| match waits.holders(lacks) {
                Some(who) => format!("{who} still has {lacks}"),
                None => format!("it gets {lacks} when its own partition is released"),
            });
            if self.set(HasCpus, &one.id, why.as_deref()) {
                let cgroup = one.cgroup.clone().unwrap_or_default();
                problems.extend(why.map(|why| ContainerProblem {
                    id: one.id.clone(),
                    cgroup,
                    kind: ContainerProblemKind::Waits(why),
                }));
            }
        }
        problems
    }
}

/// The containers that do not get all of their CPUs in this round.
#[derive(Default)]
struct Waiting {
    /// Partitions that cannot be released and containers that are not moved, with the CPUs that they keep.
    holders: Vec<(String, CpuSet)>,
    waiting: BTreeMap<ContainerId, WaitingContainer>,
}

struct WaitingContainer {
    /// Its cgroup.
    cgroup: Option<CgroupPath>,
    /// The CPUs that it gets meanwhile; `None`: its cgroup is not written.
    meanwhile: Option<CpuSet>,
    /// The CPUs that it waits for.
    lacks: CpuSet,
}

/// The state at the start of a round.
struct Found<'a> {
    /// The CPUs that containers have now.
    before: &'a BTreeMap<ContainerId, Pinning>,
    /// The shared pool after the round.
    pool: &'a CpuSet,
    /// Those CPUs of it that containers share already.
    shared: CpuSet,
    /// Partitions that cannot be released.
    kept: &'a CgroupCpus,
    /// Containers that cannot be moved.
    stuck: &'a BTreeSet<ContainerId>,
}

impl<'a> Found<'a> {
    fn new(
        places: &[(&Enforcement, CpuQuota)],
        before: &'a BTreeMap<ContainerId, Pinning>,
        pool: &'a CpuSet,
        kept: &'a CgroupCpus,
        stuck: &'a BTreeSet<ContainerId>,
    ) -> Self {
        let found = Self { before, pool, shared: CpuSet::new(), kept, stuck };
        let sharing = places.iter().filter(|(one, _)| found.is_shared(one));
        let shared = sharing.fold(CpuSet::new(), |sum, (one, _)| &sum | &found.now(&one.id));
        Self { shared: &shared & pool, ..found }
    }

    fn now(&self, id: &ContainerId) -> CpuSet {
        self.before.get(id).and_then(|now| now.cpus.clone()).unwrap_or_default()
    }

    fn is_shared(&self, one: &Enforcement) -> bool {
        one.pinning.cpus.as_ref().is_some_and(|target| !target.is_disjoint(self.pool))
    }
}

impl Waiting {
    fn of(places: &[(&Enforcement, CpuQuota)], found: &Found) -> Self {
        let kept = found.kept.iter().map(|(cgroup, cpus)| (format!("partition {cgroup}"), cpus.clone()));
        let mut waits = Self { holders: kept.collect(), waiting: BTreeMap::new() };
        for (one, _) in places.iter().filter(|(one, _)| found.stuck.contains(&one.id)) {
            waits.stays(one, found);
        }
        // Each container that stays can make others wait.
        while places.iter().any(|(one, _)| waits.stays(one, found)) {}
        waits
    }

    /// The CPUs that no container gets in this round.
    fn taken(&self) -> CpuSet {
        self.holders.iter().fold(CpuSet::new(), |sum, (_, cpus)| &sum | cpus)
    }

    /// The partitions and containers that keep some of these CPUs; `None`: none does.
    fn holders(&self, cpus: &CpuSet) -> Option<String> {
        let some = self.holders.iter().filter(|(_, held)| !held.is_disjoint(cpus));
        let names: Vec<&str> = some.map(|(who, _)| who.as_str()).collect();
        (!names.is_empty()).then(|| names.join(" or "))
    }

    /// Decides on a container once more; returns whether it is newly found to stay on its CPUs.
    fn stays(&mut self, one: &Enforcement, found: &Found) -> bool {
        let Some(target) = &one.pinning.cpus else { return false };
        if self.waiting.get(&one.id).is_some_and(|wait| wait.meanwhile.is_none()) {
            return false;
        }
        let now = found.now(&one.id);
        let cgroup = one.cgroup.as_ref().and_then(|cgroup| CgroupPath::new(cgroup).ok());
        let is_stuck = found.stuck.contains(&one.id);
        let is_kept = cgroup.as_ref().is_some_and(|cgroup| found.kept.contains_key(cgroup));
        let (gained, taken) = (target - &now, self.taken());
        let lacks = if is_kept { gained } else { &gained & &taken };
        if lacks.is_empty() && !is_kept && !is_stuck {
            return false;
        }
        let (part, shared) = (target - &lacks, found.pool - &taken);
        let meanwhile = if is_stuck || is_kept && !now.is_empty() {
            None
        } else if !part.is_empty() {
            Some(part)
        } else {
            // A container that has just started shares CPUs until its own are free.
            (now.is_empty() || !now.is_disjoint(found.pool))
                .then_some(shared)
                .filter(|shared| !shared.is_empty())
        };
        let stays = meanwhile.is_none();
        if stays {
            // CPUs of the shared pool make no other container wait.
            let shared = if found.is_shared(one) { found.pool } else { &found.shared };
            self.holders.push((format!("container {}", one.id), &now - shared));
        }
        self.waiting.insert(one.id.clone(), WaitingContainer { cgroup, meanwhile, lacks });
        stays
    }

    /// The place that a container gets in this round.
    fn target(&self, one: &Enforcement) -> Enforcement {
        let Some(wait) = self.waiting.get(&one.id) else { return one.clone() };
        let pinning = Pinning { cpus: wait.meanwhile.clone(), ..one.pinning.clone() };
        Enforcement { pinning, ..one.clone() }
    }

    /// The CPUs that a container waits for; `None`: it does not wait.
    fn lacks(&self, id: &ContainerId) -> Option<&CpuSet> {
        Some(&self.waiting.get(id)?.lacks).filter(|lacks| !lacks.is_empty())
    }

    /// The partitions that exist or can be made, and those that have to wait.
    fn ready(&self, wanted: &CgroupCpus, held: &CgroupCpus) -> (CgroupCpus, CgroupCpus) {
        let waits =
            |cgroup: &CgroupPath| self.waiting.values().any(|wait| wait.cgroup.as_ref() == Some(cgroup));
        let is_ready = |(cgroup, cpus): &(&CgroupPath, &CpuSet)| {
            held.get(*cgroup) == Some(*cpus) || cpus.is_disjoint(&self.taken()) && !waits(cgroup)
        };
        let of = |ready: bool| {
            let some = wanted.iter().filter(|one| is_ready(one) == ready);
            some.map(|(cgroup, cpus)| (cgroup.clone(), cpus.clone())).collect()
        };
        (of(true), of(false))
    }
}

#[cfg(test)]
#[path = "round_tests.rs"]
mod tests;
