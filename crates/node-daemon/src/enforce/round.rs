//! A round over all containers: every container gets CPUs when nobody else has them any more. Partitions are let go before
//! that and made after it.
//!
//! What containers have is read from their cgroups in each round, so that the order is right after a restart and after
//! what others wrote. A partition that cannot be let go keeps its CPUs: whoever would get them waits, and so does whoever
//! would get what those who wait have not left yet.

use std::collections::BTreeMap;

use cgroup_cpuset::{CgroupPath, Files};
use cpu_manager::{ContainerId, CpuQuota};
use cpuset::CpuSet;
use node_agent::{Enforcement, Pinning, in_order};

use super::isolation::{Owners, Wanted};
use super::{Keeper, Outcome, Trouble, What};

impl<F: Files> Keeper<F> {
    /// A round with these containers, of which those without CPUs of their own share the `pool`.
    pub(super) fn ordered_round(
        &mut self,
        places: &[(&Enforcement, CpuQuota)],
        wanted: &Wanted,
        pool: &CpuSet,
    ) -> Outcome {
        let (mut partitions, kept) = self.isolation.let_go(&self.cgroups, &wanted.alone);
        let before = self.before(places);
        let waits = Waits::of(places, &before, pool, kept);
        let mut outcome = Outcome { trouble: self.tell_waiting(places, &waits), ..Outcome::default() };
        let targets: Vec<(Enforcement, CpuQuota)> =
            places.iter().map(|(one, quota)| (waits.target(one), *quota)).collect();
        let moves = |one: &Enforcement| {
            let now = before.get(&one.id).and_then(|now| now.cpus.as_ref());
            one.pinning.cpus.is_some() && now != one.pinning.cpus.as_ref()
        };
        let moving = targets.iter().map(|(one, _)| one).filter(|one| moves(one)).cloned().collect();
        let quotas: BTreeMap<&ContainerId, CpuQuota> =
            targets.iter().map(|(one, quota)| (&one.id, *quota)).collect();
        for one in in_order(&before, &(pool - &waits.taken), moving) {
            outcome.add(self.put(&one, quotas[&one.id]));
        }
        outcome.add(self.round(targets.iter().map(|(one, quota)| (one, *quota))));
        partitions.extend(self.isolation.take(&self.cgroups, &waits.ready(&wanted.alone)));
        partitions.extend(self.isolation.tell_sharing(&wanted.sharing));
        Outcome { partitions, ..outcome }
    }

    /// The CPUs that containers were placed on. One that has just started runs anywhere, and has none of its own.
    fn before(&self, places: &[(&Enforcement, CpuQuota)]) -> BTreeMap<ContainerId, Pinning> {
        let now = |one: &Enforcement| {
            let cgroup = CgroupPath::new(one.cgroup.as_ref()?).ok()?;
            let cpus = self.cgroups.placed_on(&cgroup).ok()??;
            Some((one.id.clone(), Pinning { cpus: Some(cpus), ..Pinning::default() }))
        };
        places.iter().filter_map(|(one, _)| now(one)).collect()
    }

    /// What is new of those that wait.
    fn tell_waiting(&mut self, places: &[(&Enforcement, CpuQuota)], waits: &Waits) -> Vec<Trouble> {
        let mut trouble = Vec::new();
        let mut waiting = BTreeMap::new();
        for (one, _) in places {
            let Some(lacks) = waits.lacks(&one.id) else { continue };
            let why = format!("a partition that is not released, or who waits for it, has {lacks}");
            if self.waiting.get(&one.id) != Some(&why) {
                let cgroup = one.cgroup.clone().unwrap_or_default();
                trouble.push(Trouble { id: one.id.clone(), cgroup, what: What::Waits(why.clone()) });
            }
            waiting.insert(one.id.clone(), why);
        }
        self.waiting = waiting;
        trouble
    }
}

/// Who does not get all of its CPUs in this round.
#[derive(Default)]
struct Waits {
    /// Partitions that are not let go.
    kept: Owners,
    /// The CPUs of those, and of who stays where it is.
    taken: CpuSet,
    waiting: BTreeMap<ContainerId, Wait>,
}

struct Wait {
    /// Its cgroup.
    cgroup: Option<CgroupPath>,
    /// What it gets meanwhile; `None`: it stays where it is.
    meanwhile: Option<CpuSet>,
    /// What it would get too.
    lacks: CpuSet,
}

impl Waits {
    fn of(
        places: &[(&Enforcement, CpuQuota)],
        before: &BTreeMap<ContainerId, Pinning>,
        pool: &CpuSet,
        kept: Owners,
    ) -> Self {
        let taken = kept.values().fold(CpuSet::new(), |sum, cpus| &sum | cpus);
        let mut waits = Self { kept, taken, waiting: BTreeMap::new() };
        // Whoever stays keeps others waiting.
        while places.iter().any(|(one, _)| waits.stays(one, before, pool)) {}
        waits
    }

    /// Looks at a container once more; whether it stays where it is, and did not before.
    fn stays(&mut self, one: &Enforcement, before: &BTreeMap<ContainerId, Pinning>, pool: &CpuSet) -> bool {
        let Some(target) = &one.pinning.cpus else { return false };
        if self.waiting.get(&one.id).is_some_and(|wait| wait.meanwhile.is_none()) {
            return false;
        }
        let now = before.get(&one.id).and_then(|now| now.cpus.clone()).unwrap_or_default();
        let cgroup = one.cgroup.as_ref().and_then(|cgroup| CgroupPath::new(cgroup).ok());
        let is_kept = cgroup.as_ref().is_some_and(|cgroup| self.kept.contains_key(cgroup));
        let gained = target - &now;
        let lacks = if is_kept { gained } else { &gained & &self.taken };
        if lacks.is_empty() && !is_kept {
            return false;
        }
        let (part, shared) = (target - &lacks, pool - &self.taken);
        let meanwhile = if is_kept && !now.is_empty() {
            None
        } else if !part.is_empty() {
            Some(part)
        } else {
            // One that has just started shares CPUs until its own are free.
            (now.is_empty() || !now.is_disjoint(pool)).then_some(shared).filter(|shared| !shared.is_empty())
        };
        let stays = meanwhile.is_none();
        if stays {
            self.taken = &self.taken | &now;
        }
        self.waiting.insert(one.id.clone(), Wait { cgroup, meanwhile, lacks });
        stays
    }

    /// What a container gets in this round.
    fn target(&self, one: &Enforcement) -> Enforcement {
        let Some(wait) = self.waiting.get(&one.id) else { return one.clone() };
        let pinning = Pinning { cpus: wait.meanwhile.clone(), ..one.pinning.clone() };
        Enforcement { pinning, ..one.clone() }
    }

    /// The CPUs that a container waits for; `None`: it does not.
    fn lacks(&self, id: &ContainerId) -> Option<&CpuSet> {
        Some(&self.waiting.get(id)?.lacks).filter(|lacks| !lacks.is_empty())
    }

    /// The partitions that can be made.
    fn ready(&self, wanted: &Owners) -> Owners {
        let waits =
            |cgroup: &CgroupPath| self.waiting.values().any(|wait| wait.cgroup.as_ref() == Some(cgroup));
        let ready = wanted.iter().filter(|(cgroup, cpus)| cpus.is_disjoint(&self.taken) && !waits(cgroup));
        ready.map(|(cgroup, cpus)| (cgroup.clone(), cpus.clone())).collect()
    }
}

#[cfg(test)]
#[path = "round_tests.rs"]
mod tests;
