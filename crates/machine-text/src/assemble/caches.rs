//! Which CPUs share caches.

use std::collections::BTreeMap;

use cpuset::CpuSet;
use topology_model::CpuCache;

use super::places::Places;
use crate::counts::parted;
use crate::facts::{CacheName, Facts};

/// Caches, with what was taken for granted.
pub(super) struct Caches {
    pub(super) all: Vec<CpuCache>,
    pub(super) assumed: Vec<String>,
    /// Which CPUs share some caches is not known.
    pub(super) lacks_some: bool,
}

/// The caches of a machine.
pub(super) fn caches(facts: &Facts, places: &Places) -> Caches {
    let mut caches: BTreeMap<(CacheName, i64), CpuSet> = BTreeMap::new();
    for (cpu, row) in facts.rows.iter().filter(|(_, row)| !row.is_offline) {
        for (name, id) in &row.caches {
            caches.entry((*name, *id)).or_default().insert(*cpu);
        }
    }
    if !caches.is_empty() {
        let of_name = |name: CacheName| caches.keys().filter(|(other, _)| *other == name).count();
        let found =
            caches.iter().map(|((name, id), cpus)| cache(facts, *name, *id, cpus.clone(), of_name(*name)));
        return Caches { all: found.collect(), assumed: Vec::new(), lacks_some: false };
    }
    let mut found = Caches { all: Vec::new(), assumed: Vec::new(), lacks_some: false };
    for (name, count) in &facts.counts.caches {
        let instances = count.instances.and_then(|count| usize::try_from(count).ok());
        let Some((groups, assumed)) = groups(name.0, instances, places) else {
            found.lacks_some = true;
            continue;
        };
        found.assumed.extend(assumed);
        let number = groups.len();
        found.all.extend(groups.into_iter().zip(0..).map(|(cpus, id)| cache(facts, *name, id, cpus, number)));
    }
    found.lacks_some |= found.all.is_empty();
    found
}

/// The CPUs of each cache of a level, and what is taken for granted with them; `None`: the number fits nothing.
fn groups(level: u8, instances: Option<usize>, places: &Places) -> Option<(Vec<CpuSet>, Option<String>)> {
    let cores: Vec<&CpuSet> = places.cores.iter().map(|core| &core.cpus).collect();
    let packages = || places.packages.iter().map(|package| package.cpus.clone()).collect::<Vec<_>>();
    let nodes: Vec<CpuSet> = places.nodes.values().filter(|cpus| !cpus.is_empty()).cloned().collect();
    let Some(number) = instances else {
        // Older versions print no number: the last level is of a package, and the others are of cores.
        let name = if level > 2 { "package" } else { "core" };
        let groups = if level > 2 { packages() } else { cores.into_iter().cloned().collect() };
        let assumed = format!("each {name} is taken to have one L{level} cache");
        return Some((groups, (level > 1).then_some(assumed)));
    };
    if number == cores.len() {
        return Some((cores.into_iter().cloned().collect(), None));
    }
    if number == places.packages.len() {
        return Some((packages(), None));
    }
    if number == nodes.len() {
        return Some((nodes, None));
    }
    let groups = parted(&cores, number)?;
    let groups = groups.map(|cores| cores.iter().fold(CpuSet::new(), |all, core| &all | *core));
    let assumed =
        format!("{number} L{level} caches are taken as shared by as many cores each, in their order");
    Some((groups.collect(), Some(assumed)))
}

/// One of `number` caches of a level and kind.
fn cache(facts: &Facts, name: CacheName, id: i64, cpus: CpuSet, number: usize) -> CpuCache {
    let size_kib = facts.counts.caches.get(&name).map(|count| count.size_of_one(number));
    let id = Some(id).filter(|_| !facts.counts.has_nameless_caches);
    CpuCache { level: name.0, kind: name.1, id, size_kib, cpus }
}
