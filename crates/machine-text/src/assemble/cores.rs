//! Cores and packages, from rows of CPUs, else from counts, else from nodes alone.

use std::collections::{BTreeMap, BTreeSet};

use cpuset::CpuSet;
use topology_model::{Core, CoreKind, Package, PackageId};

use super::places::Places;
use crate::counts::{self, Numbering, parted};
use crate::error::MachineTextError;
use crate::facts::{CacheName, Facts, Row};
use crate::form::Form;

/// Which CPUs are one core and one package.
pub(super) fn places(
    facts: &Facts,
    online: &CpuSet,
    nodes: BTreeMap<i64, CpuSet>,
) -> Result<Places, MachineTextError> {
    let mut places =
        Places { nodes, cores: Vec::new(), packages: Vec::new(), assumed: Vec::new(), lacks_cores: false };
    let rows = || facts.rows.iter().filter(|(cpu, _)| online.contains(**cpu));
    if !facts.rows.is_empty() && rows().all(|(_, row)| row.core.is_some()) {
        of_rows(&mut places, rows().map(|(cpu, row)| (CpuSet::from(*cpu), row)));
        threads_agree(facts, &places)?;
    } else {
        of_counts(&mut places, facts);
        let is_drawn = !facts.rows.is_empty() && rows().all(|(_, row)| row.socket.is_some());
        if is_drawn {
            places.packages = packages_of(rows().map(|(cpu, row)| (CpuSet::from(*cpu), row)));
        }
    }
    Ok(places)
}

/// Groups CPUs into cores: the threads of a core have one drawer, book, socket, NUMA node and core number, and the same caches
/// above level 1. The number alone does not do, since it can begin anew in each part of a package and for each type of core. Caches
/// of level 1 do not count, since the threads of some cores have one each.
fn of_rows<'a>(places: &mut Places, rows: impl Iterator<Item = (CpuSet, &'a Row)> + Clone) {
    type Key = (Vec<Option<i64>>, Vec<(CacheName, i64)>);
    let mut cores: BTreeMap<Key, (i64, CpuSet)> = BTreeMap::new();
    for (cpu, row) in rows.clone() {
        let numbers = Vec::from([row.drawer, row.book, row.socket, row.node, row.core]);
        let caches = row.caches.iter().filter(|((level, _), _)| *level > 1);
        let key = (numbers, caches.map(|(name, id)| (*name, *id)).collect());
        let core = cores.entry(key).or_insert_with(|| (row.core.unwrap_or(-1), CpuSet::new()));
        core.1 |= &cpu;
    }
    places.packages = packages_of(rows);
    places.cores = cores.into_values().map(|(id, cpus)| core(id, cpus)).collect();
    places.cores.sort_by_key(|core| core.cpus.first());
    // The kubelet knows cores by package and number.
    for package in &places.packages {
        let own = || places.cores.iter().filter(|core| core.cpus.is_subset(&package.cpus));
        let numbers: BTreeSet<i64> = own().map(|core| core.id).collect();
        if numbers.len() < own().count() {
            let own = places.cores.iter_mut().filter(|core| core.cpus.is_subset(&package.cpus));
            own.zip(0..).for_each(|(core, number)| core.id = number);
        }
    }
}

/// Packages by drawer, book and socket. CPUs without a socket are one.
fn packages_of<'a>(rows: impl Iterator<Item = (CpuSet, &'a Row)>) -> Vec<Package> {
    let mut packages: BTreeMap<[Option<i64>; 3], CpuSet> = BTreeMap::new();
    for (cpu, row) in rows {
        *packages.entry([row.drawer, row.book, row.socket]).or_default() |= &cpu;
    }
    let numbers: BTreeSet<Option<i64>> = packages.keys().map(|[.., socket]| *socket).collect();
    let are_unique = numbers.len() == packages.len();
    let named = packages.into_iter().zip(0..).map(|(([.., socket], cpus), at)| {
        let id = if are_unique { socket.unwrap_or(-1) } else { at };
        Package { id: PackageId(id), cpus }
    });
    named.collect()
}

/// Whether cores have as many threads as `lscpu` counts.
fn threads_agree(facts: &Facts, places: &Places) -> Result<(), MachineTextError> {
    let most = places.cores.iter().map(|core| core.cpus.len()).max().unwrap_or(0);
    match facts.counts.threads {
        Some(threads) if most as u64 > threads => Err(MachineTextError::Contradiction {
            one: facts.table(),
            what: format!("a core of {most} CPUs"),
            other: Form::Lscpu,
            other_what: format!("Thread(s) per core: {threads}"),
        }),
        _ => Ok(()),
    }
}

fn of_counts(places: &mut Places, facts: &Facts) {
    let nodes: Vec<CpuSet> = places.nodes.values().cloned().collect();
    let counted = counts::cores(&facts.counts, &nodes);
    match counted.as_ref().map(|counted| counted.assumed) {
        None => {
            places.lacks_cores = true;
            places.assumed.push("each CPU is taken as a separate core".to_owned());
        }
        Some(Some(Numbering::Apart)) => places.assumed.push(
            "the first half of a NUMA node's CPUs is taken as one thread of each core, the rest as the others"
                .to_owned(),
        ),
        Some(Some(Numbering::Adjacent)) => {
            places.assumed.push("CPUs that follow each other are taken as threads of one core".to_owned());
        }
        Some(None) => {}
    }
    let single = || nodes.iter().map(|cpus| cpus.iter().map(CpuSet::from).collect()).collect();
    let of_nodes = counted.map_or_else(single, |counted| counted.of_nodes);
    let of_nodes: Vec<Vec<CpuSet>> = of_nodes.into_iter().filter(|cores| !cores.is_empty()).collect();
    let packages = packages(places, facts, &of_nodes);
    for (package, id) in packages.into_iter().zip(0..) {
        let cpus = package.iter().fold(CpuSet::new(), |all, core| &all | core);
        places.cores.extend(package.into_iter().zip(0..).map(|(cpus, id)| core(id, cpus)));
        places.packages.push(Package { id: PackageId(id), cpus });
    }
}

/// The cores of each package: so many nodes have one, or so many of them are in one node.
fn packages(places: &mut Places, facts: &Facts, of_nodes: &[Vec<CpuSet>]) -> Vec<Vec<CpuSet>> {
    let sockets = facts.counts.sockets.and_then(|count| usize::try_from(count).ok());
    let Some(sockets) = sockets else {
        places.lacks_cores = true;
        places.assumed.push("each NUMA node with CPUs is taken as one package".to_owned());
        return of_nodes.to_vec();
    };
    if sockets != of_nodes.len() && sockets > 1 {
        places
            .assumed
            .push(format!("the cores of NUMA nodes are taken as {sockets} packages in their order"));
    }
    if let Some(packages) = parted(of_nodes, sockets) {
        return packages.map(<[Vec<CpuSet>]>::concat).collect();
    }
    let all = of_nodes.concat();
    let packages = parted(&all, sockets).map(|packages| packages.map(<[CpuSet]>::to_vec).collect());
    packages.unwrap_or_else(|| Vec::from([all]))
}

fn core(id: i64, cpus: CpuSet) -> Core {
    Core { id, die: None, cluster: None, kind: CoreKind::Plain, cpus }
}
