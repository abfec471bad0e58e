//! More cores of a NUMA node.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail, ensure};
use cpuset::{CpuId, CpuSet};
use node_output::ranges;
use topology_model::{
    Cache, Core, CpuCache, Machine, MachineCore, MachineInfo, MachineNode, MachineParts, NodeId,
};

use crate::machine::LoadedMachine;

/// Cores that are added to a node.
struct NewCores {
    node: NodeId,
    /// The CPUs of each.
    cores: Vec<Vec<usize>>,
    /// A CPU of a core that they are like.
    like: CpuId,
    /// The firmware's number of the first.
    first_id: i64,
}

impl LoadedMachine {
    /// Adds CPUs to a node, as whole cores; says which.
    pub(super) fn add_cpus(&mut self, node: NodeId, count: u64) -> anyhow::Result<CpuSet> {
        let new = self.new_cores(node, count)?;
        for info in self.infos() {
            new.add_to_info(info)?;
        }
        if let Some(machine) = self.machine.take() {
            let mut parts = machine.into_parts();
            new.add_to_hardware(&mut parts)?;
            self.machine = Some(Machine::new(parts)?);
        }
        new.cores.iter().flatten().map(|cpu| Ok(CpuId::new(*cpu)?)).collect()
    }

    /// The cores with so many CPUs that could be added to a node.
    fn new_cores(&self, node: NodeId, count: u64) -> anyhow::Result<NewCores> {
        let of_node = self.cores_of(node);
        // Of kinds that are equally many, the cores with fewer CPUs.
        let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
        for core in &of_node {
            *sizes.entry(core.len()).or_default() += 1;
        }
        let threads = sizes.iter().max_by_key(|(size, many)| (**many, std::cmp::Reverse(**size)));
        let like = threads.and_then(|(size, _)| of_node.iter().rfind(|core| core.len() == *size));
        let Some(like) = like else {
            let others = self.node_ids().into_iter().filter(|id| !self.cores_of(NodeId(*id)).is_empty());
            bail!(
                "NUMA node {node} has no core that more could be like; cores are on NUMA {}",
                ranges(others)
            );
        };
        let threads = like.len() as u64;
        ensure!(
            count.is_multiple_of(threads),
            "a core of NUMA node {node} has {threads} CPUs: expected whole cores, such as {}",
            count.next_multiple_of(threads)
        );
        let first = self.last_cpu().map_or(0, |last| last + 1);
        let last = u64::try_from(first)?.saturating_add(count).saturating_sub(1);
        let limit = CpuId::LIMIT - 1;
        ensure!(
            last <= u64::try_from(limit)?,
            "its CPUs would be numbered up to {last}, and Linux has none past {limit}"
        );
        let (threads, cores) = (like.len(), usize::try_from(count)? / like.len());
        let is_in_a_row = like.windows(2).all(|pair| pair[1] == pair[0] + 1);
        let cpu = |core: usize, thread: usize| {
            first + if is_in_a_row { core * threads + thread } else { thread * cores + core }
        };
        let cores = (0..cores).map(|core| (0..threads).map(|thread| cpu(core, thread)).collect()).collect();
        let listed = self.info.topology.iter().flatten().flat_map(|node| node.cores.iter().flatten());
        let of_hardware = self.machine.iter().flat_map(Machine::cores);
        let last_id = listed.map(|core| core.core_id).chain(of_hardware.map(|core| core.id)).max();
        let like = CpuId::new(like.first().copied().context("a core has no CPU")?)?;
        Ok(NewCores { node, cores, like, first_id: last_id.unwrap_or(-1).saturating_add(1) })
    }

    /// The CPUs of each core of a node, in ascending order: as they are where that is known, else as cAdvisor reports them.
    fn cores_of(&self, id: NodeId) -> Vec<Vec<usize>> {
        if let Some(machine) = &self.machine {
            let Some(node) = machine.node(id) else { return Vec::new() };
            let cores =
                machine.cores().iter().filter(|core| core.cpus.iter().any(|cpu| node.cpus.contains(cpu)));
            return cores.map(|core| core.cpus.iter().map(CpuId::get).collect()).collect();
        }
        let node = self.info.topology.iter().flatten().find(|node| node.id == id.0);
        let cores = node.into_iter().flat_map(|node| node.cores.iter().flatten());
        let cpus = cores.map(|core| {
            let ids = core.thread_ids.iter().flatten().filter_map(|id| usize::try_from(*id).ok());
            ids.collect::<BTreeSet<_>>().into_iter().collect()
        });
        cpus.filter(|cpus: &Vec<usize>| !cpus.is_empty()).collect()
    }

    /// The highest number of a CPU, those that do not run included.
    fn last_cpu(&self) -> Option<usize> {
        let cores = self.info.topology.iter().flatten().flat_map(|node| node.cores.iter().flatten());
        let listed = cores.flat_map(|core| core.thread_ids.iter().flatten());
        let listed = listed.filter_map(|id| usize::try_from(*id).ok());
        let cpus = self.machine.iter().map(Machine::cpus);
        let known = cpus.flat_map(|cpus| cpus.online.iter().chain(cpus.offline.iter())).map(CpuId::get);
        listed.chain(known).max()
    }
}

impl NewCores {
    fn cpus(&self) -> anyhow::Result<Vec<CpuSet>> {
        let set = |core: &Vec<usize>| core.iter().map(|cpu| Ok(CpuId::new(*cpu)?)).collect();
        self.cores.iter().map(set).collect()
    }

    fn add_to_info(&self, info: &mut MachineInfo) -> anyhow::Result<()> {
        let last_caches = last_caches(info);
        let nodes = info.topology.as_deref_mut().unwrap_or_default();
        let node = nodes.iter_mut().find(|node| node.id == self.node.0);
        let node = node.context("cAdvisor does not report this NUMA node")?;
        let like = i64::try_from(self.like.get())?;
        let cores = node.cores.iter().flatten();
        let like = cores.into_iter().find(|core| core.thread_ids.iter().flatten().any(|id| *id == like));
        let like = like.context("cAdvisor reports no core that more could be like")?.clone();
        let mut new = Vec::new();
        for (at, cpus) in self.cores.iter().enumerate() {
            let thread_ids = cpus.iter().map(|cpu| i64::try_from(*cpu)).collect::<Result<_, _>>()?;
            let uncore = like.uncore_caches.clone().map(|caches| {
                let own = |cache: Cache| uncore(cache, node, at, &last_caches);
                caches.into_iter().map(own).collect()
            });
            new.push(MachineCore {
                core_id: self.first_id.saturating_add(i64::try_from(at)?),
                thread_ids: Some(thread_ids),
                uncore_caches: uncore,
                ..like.clone()
            });
        }
        node.cores.get_or_insert_default().append(&mut new);
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        info.num_cpus = info.num_cpus.saturating_add(count(self.cores.iter().flatten().count()));
        info.num_physical_cores = info.num_physical_cores.saturating_add(count(self.cores.len()));
        Ok(())
    }

    fn add_to_hardware(&self, parts: &mut MachineParts) -> anyhow::Result<()> {
        let cpus = self.cpus()?;
        let all = cpus.iter().fold(CpuSet::new(), |all, core| &all | core);
        let node = parts.nodes.iter_mut().find(|node| node.id == self.node);
        let node = node.context("the machine lacks this NUMA node")?;
        let before = node.cpus.clone();
        node.cpus |= &all;
        parts.cpus.online |= &all;
        for list in [parts.cpus.possible.as_mut(), parts.cpus.present.as_mut()].into_iter().flatten() {
            *list |= &all;
        }
        for package in parts.packages.iter_mut().filter(|package| package.cpus.contains(self.like)) {
            package.cpus |= &all;
        }
        let like = parts.cores.iter().find(|core| core.cpus.contains(self.like));
        let like = like.context("no core that more could be like")?.clone();
        let old = parts.cores.clone();
        for (at, cpus) in cpus.iter().enumerate() {
            let id = self.first_id.saturating_add(i64::try_from(at)?);
            parts.cores.push(Core { id, cpus: cpus.clone(), ..like.clone() });
        }
        let mut new = Vec::new();
        for at in 0..parts.caches.len() {
            let cache = parts.caches[at].clone();
            if !cache.cpus.contains(self.like) {
                continue;
            }
            let alike = |other: &&CpuCache| (other.level, other.kind) == (cache.level, cache.kind);
            let on_node =
                parts.caches.iter().filter(alike).filter(|other| !(&other.cpus & &before).is_empty()).count();
            if cache.level > 2 && on_node == 1 {
                parts.caches[at].cpus |= &all;
                continue;
            }
            let last = parts.caches.iter().filter(alike).filter_map(|other| other.id).max();
            let size = old.iter().filter(|core| !(&core.cpus & &cache.cpus).is_empty()).count().max(1);
            for (number, cores) in cpus.chunks(size).enumerate() {
                let id = cache
                    .id
                    .and(last)
                    .map(|last| last.saturating_add(1 + i64::try_from(number).unwrap_or(0)));
                let cpus = cores.iter().fold(CpuSet::new(), |all, core| &all | core);
                new.push(CpuCache { id, cpus, ..cache.clone() });
            }
        }
        parts.caches.append(&mut new);
        Ok(())
    }
}

/// The highest id of the uncore caches of each level.
fn last_caches(info: &MachineInfo) -> BTreeMap<i64, i64> {
    let mut last: BTreeMap<i64, i64> = BTreeMap::new();
    let cores = info.topology.iter().flatten().flat_map(|node| node.cores.iter().flatten());
    for cache in cores.flat_map(|core| core.uncore_caches.iter().flatten()) {
        let id = last.entry(cache.level).or_insert(cache.id);
        *id = cache.id.max(*id);
    }
    last
}

/// The cache of the new core number `at` of a node, in the place of one of the core that it is like.
fn uncore(cache: Cache, node: &MachineNode, at: usize, last: &BTreeMap<i64, i64>) -> Cache {
    let caches = |core: &MachineCore| {
        let uncore = core.uncore_caches.iter().flatten();
        uncore.filter(|other| other.level == cache.level).map(|other| other.id).collect::<Vec<_>>()
    };
    let ids: Vec<Vec<i64>> = node.cores.iter().flatten().map(caches).collect();
    if ids.iter().flatten().collect::<BTreeSet<_>>().len() <= 1 {
        return cache;
    }
    let size = ids.iter().filter(|ids| ids.contains(&cache.id)).count().max(1);
    let last = last.get(&cache.level).copied().unwrap_or(cache.id);
    let id = last.saturating_add(1 + i64::try_from(at / size).unwrap_or(0));
    Cache { id, ..cache }
}

#[cfg(test)]
mod tests {
    use topology_model::KubeletView;

    use super::*;
    use crate::addition::Addition;

    /// The kubelet's view of what cAdvisor reports and of the hardware, which are the same where cAdvisor makes no mistake.
    fn views(machine: &LoadedMachine) -> (KubeletView, KubeletView) {
        let hardware = MachineInfo::from(machine.machine.as_ref().unwrap());
        (KubeletView::new(&machine.info).unwrap(), KubeletView::new(&hardware).unwrap())
    }

    fn more(machine: &LoadedMachine, text: &str) -> anyhow::Result<LoadedMachine> {
        let additions: Vec<Addition> = text.split_whitespace().map(|text| text.parse().unwrap()).collect();
        machine.clone().with_more(&additions)
    }

    #[test]
    fn hardware_and_what_cadvisor_reports_of_it_get_the_same() {
        let mut compared = 0;
        for name in machine_fixtures::names() {
            let machine = LoadedMachine::named(name).unwrap();
            let with_cores =
                machine.node_ids().into_iter().filter(|id| !machine.cores_of(NodeId(*id)).is_empty());
            let ids: Vec<i64> = with_cores.collect();
            let (first, last) = (ids[0], ids[ids.len() - 1]);
            let text = format!("cpu@{first}=48 cpu@{last}=24 memory@{last}=3Gi hugepages-1Gi@{last}=2Gi");
            let larger = more(&machine, &text).unwrap();
            let (reported, hardware) = views(&machine);
            let (reported_more, hardware_more) = views(&larger);
            assert_eq!(reported_more.cpus().num_cpus(), reported.cpus().num_cpus() + 72, "{name}");
            if reported == hardware {
                assert!(reported_more.cpus() == hardware_more.cpus(), "{name}: cpus");
                assert!(reported_more.node_memory() == hardware_more.node_memory(), "{name}: memory");
                assert!(reported_more == hardware_more, "{name}");
                compared += 1;
            }
        }
        assert!(compared > 5, "{compared}");
    }

    #[test]
    fn added_cores_are_like_those_of_their_node() {
        for (machine, text, cpus, caches) in [
            // One cache of a node is shared, of several there are more; threads are numbered as before.
            ("pack:2 [numa(memory=8GiB)] l3:1 core:2 pu:2", "cpu@1=4", vec!["0-3", "4-11"], 2),
            ("pack:2 [numa(memory=8GiB)] l3:2 core:2 pu:2", "cpu@1=12", vec!["0-7", "8-27"], 7),
            ("pack:1 numa:2(memory=8GiB) core:2 pu:1", "cpu@0=3", vec!["0-1,4-6", "2-3"], 0),
        ] {
            let (info, hardware) = (machine.parse().unwrap(), machine.parse().unwrap());
            let before = LoadedMachine::new("test".to_owned(), info, Some(hardware), Vec::new());
            let hardware = more(&before, text).unwrap().machine.unwrap();
            let found: Vec<String> = hardware.nodes().iter().map(|node| node.cpus.to_string()).collect();
            assert_eq!(
                (found, hardware.caches_at(3).count()),
                (cpus.iter().map(|cpus| (*cpus).to_owned()).collect(), caches),
                "{machine}"
            );
        }
    }
}
