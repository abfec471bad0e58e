//! Partitions by the rules of Linux 6.12, for those that are remote: their CPUs are taken from the root.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use cpuset::CpuSet;

use super::cgroup::{Cgroup, PartitionState};
use super::errors::{EINVAL, error};
use crate::partition::Partition;

const NO_LIST: &str = "Invalid cpu list in cpuset.cpus.exclusive";
const NOT_EXCLUSIVE: &str = "Cpu list in cpuset.cpus not exclusive";

type Hierarchy = BTreeMap<PathBuf, Cgroup>;

/// The CPUs that a cgroup could have as a partition.
fn could_have(cgroups: &Hierarchy, path: &Path) -> CpuSet {
    let Some(cgroup) = cgroups.get(path) else { return CpuSet::new() };
    match path.parent().filter(|above| !above.as_os_str().is_empty()) {
        None => cgroup.exclusive.clone(),
        Some(above) => &cgroup.exclusive & &could_have(cgroups, above),
    }
}

fn valid(cgroups: &Hierarchy) -> impl Iterator<Item = (&PathBuf, PartitionState)> {
    let states = cgroups.iter().filter_map(|(path, cgroup)| Some((path, cgroup.partition?)));
    states.filter(|(_, state)| state.invalid.is_none())
}

/// The CPUs of all partitions.
pub(super) fn all(cgroups: &Hierarchy) -> CpuSet {
    valid(cgroups).fold(CpuSet::new(), |sum, (path, _)| &sum | &could_have(cgroups, path))
}

/// The CPUs of those without scheduling domains.
pub(super) fn isolated(cgroups: &Hierarchy) -> CpuSet {
    let isolated = valid(cgroups).filter(|(_, state)| state.kind == Partition::Isolated);
    isolated.fold(CpuSet::new(), |sum, (path, _)| &sum | &could_have(cgroups, path))
}

/// The CPUs of the partition that a cgroup is, or is in.
pub(super) fn at_or_above(cgroups: &Hierarchy, path: &Path) -> Option<CpuSet> {
    let found = path.ancestors().find(|above| valid(cgroups).any(|(own, _)| own == above))?;
    Some(could_have(cgroups, found))
}

fn siblings<'a>(cgroups: &'a Hierarchy, path: &'a Path) -> impl Iterator<Item = (&'a PathBuf, &'a Cgroup)> {
    cgroups.iter().filter(move |(own, _)| *own != path && own.parent() == path.parent())
}

fn is_valid(cgroup: &Cgroup) -> bool {
    cgroup.partition.is_some_and(|state| state.invalid.is_none())
}

/// What counts where two cgroups may have nothing in common.
fn own(cgroup: &Cgroup) -> &CpuSet {
    if cgroup.exclusive.is_empty() { &cgroup.cpus } else { &cgroup.exclusive }
}

pub(super) fn set_cpus(cgroups: &mut Hierarchy, path: &Path, cpus: CpuSet) -> io::Result<()> {
    for (_, other) in siblings(cgroups, path) {
        let takes_all = !cpus.is_empty() && !other.exclusive.is_empty() && cpus.is_subset(&other.exclusive);
        let has_exclusive = cgroups.get(path).is_some_and(|cgroup| !cgroup.exclusive.is_empty());
        if !has_exclusive && (takes_all || is_valid(other) && !cpus.is_disjoint(own(other))) {
            return Err(error(EINVAL));
        }
    }
    if let Some(cgroup) = cgroups.get_mut(path) {
        cgroup.cpus = cpus;
    }
    Ok(())
}

pub(super) fn set_exclusive(cgroups: &mut Hierarchy, path: &Path, cpus: CpuSet) -> io::Result<()> {
    for (_, other) in siblings(cgroups, path) {
        let takes_all = !cpus.is_empty() && !other.cpus.is_empty() && other.cpus.is_subset(&cpus);
        let overlaps =
            !other.exclusive.is_disjoint(&cpus) || is_valid(other) && !own(other).is_disjoint(&cpus);
        if overlaps || other.exclusive.is_empty() && takes_all {
            return Err(error(EINVAL));
        }
    }
    if let Some(cgroup) = cgroups.get_mut(path) {
        cgroup.exclusive = cpus;
    }
    // Partitions at and below it that have lost some.
    let lost: Vec<PathBuf> = valid(cgroups)
        .map(|(below, _)| below.clone())
        .filter(|below| below.starts_with(path))
        .filter(|below| {
            could_have(cgroups, below) != cgroups[below].exclusive || cgroups[below].exclusive.is_empty()
        })
        .collect();
    for below in lost {
        if let Some(state) = cgroups.get_mut(&below).and_then(|cgroup| cgroup.partition.as_mut()) {
            state.invalid = Some(NO_LIST);
        }
    }
    Ok(())
}

pub(super) fn set(cgroups: &mut Hierarchy, path: &Path, word: &str, online: &CpuSet) -> io::Result<()> {
    let kinds = [Partition::Root, Partition::Isolated];
    let kind = kinds.into_iter().find(|kind| kind.word() == word);
    if kind.is_none() && word != "member" {
        return Err(error(EINVAL));
    }
    let cpus = could_have(cgroups, path);
    let others = valid(cgroups)
        .filter(|(other, _)| *other != path)
        .fold(CpuSet::new(), |sum, (other, _)| &sum | &could_have(cgroups, other));
    let invalid = if cpus.is_empty() || !cpus.is_disjoint(&others) || (online - &others).is_subset(&cpus) {
        Some(NO_LIST)
    } else if siblings(cgroups, path).any(|(_, other)| !own(other).is_disjoint(&cpus)) {
        Some(NOT_EXCLUSIVE)
    } else {
        None
    };
    if let Some(cgroup) = cgroups.get_mut(path) {
        cgroup.partition = kind.map(|kind| PartitionState { kind, invalid });
    }
    Ok(())
}
