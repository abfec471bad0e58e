//! CPUs that others hold exclusively, taken from the cgroups of containers with shared ones.

use std::collections::BTreeMap;
use std::time::Instant;

use cgroup_cpuset::{Cgroups, Files, PlaceError};
use nri_plugin::ContainerId;

use crate::containers::{Containers, Known, NoCgroup, SystemdWrites};
use crate::state_view::NodeCpus;

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Narrowing {
    /// Containers that have lost CPUs, whose records at the runtime are to follow.
    pub(crate) narrowed: Vec<ContainerId>,
    /// Other containers whose records have CPUs that are not shared: they have no cgroup yet, or it was narrowed before.
    pub(crate) records: Vec<ContainerId>,
    /// Containers that there was no time for.
    pub(crate) left: Vec<ContainerId>,
    /// Containers whose cgroups systemd has made, which are not written.
    pub(crate) of_systemd: Vec<ContainerId>,
    /// Containers that still have CPUs of others, and why.
    pub(crate) failed: BTreeMap<ContainerId, String>,
}

/// Narrows all containers with shared CPUs that have others too, for as long as there is time.
pub(crate) fn narrow<F: Files>(
    cgroups: &Cgroups<F>,
    containers: &mut Containers,
    node: &NodeCpus,
    systemd: SystemdWrites,
    until: Option<Instant>,
) -> Narrowing {
    let (mut narrowing, mut without_cgroup) = (Narrowing::default(), Vec::new());
    for (id, known) in containers.iter_mut().filter(|(_, known)| known.is_shared(node)) {
        if !known.may_overlap(node) {
            continue;
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            narrowing.left.push(id.clone());
            continue;
        }
        let cgroup = match known.cgroup(systemd) {
            Ok(cgroup) => cgroup,
            Err(NoCgroup::NotKnown) => {
                without_cgroup.push(id.clone());
                continue;
            }
            Err(NoCgroup::OfSystemd) => {
                if cgroup_overlaps(cgroups, known, node) {
                    narrowing.of_systemd.push(id.clone());
                }
                continue;
            }
        };
        match cgroups.narrow(cgroup, &node.shared) {
            Ok(done) if done.is_change() => {
                known.lost(done.from, done.to);
                narrowing.narrowed.push(id.clone());
            }
            Ok(done) => {
                known.has = Some(done.to.clone());
                // An earlier guard narrowed it, and was killed before the record followed.
                let asked = known.request.cpus.clone().filter(|asked| !asked.is_subset(&node.shared));
                if let Some(asked) = asked.filter(|_| known.taken_from.is_none()) {
                    known.lost(asked, done.to);
                    narrowing.records.push(id.clone());
                }
            }
            // It is created and not started, or about to be forgotten.
            Err(PlaceError::Gone(_)) => without_cgroup.push(id.clone()),
            Err(error) => {
                let why =
                    format!("container {} keeps exclusive CPUs of others: {error}", known.request.shown);
                narrowing.failed.insert(id.clone(), why);
            }
        }
    }
    // What has no cgroup yet is narrowed when it starts; the record that it starts with can be changed now.
    for id in without_cgroup {
        let Some(known) = containers.get_mut(&id) else { continue };
        let Some(has) = known.has.clone() else { continue };
        let left = &has & &node.shared;
        if !left.is_empty() && left != has {
            known.lost(has, left);
            narrowing.records.push(id);
        }
    }
    narrowing
}

fn cgroup_overlaps<F: Files>(cgroups: &Cgroups<F>, known: &Known, node: &NodeCpus) -> bool {
    let Some((cgroup, _)) = &known.request.cgroup else { return false };
    cgroups.runs_on(cgroup).is_ok_and(|has| !has.is_subset(&node.shared))
}
