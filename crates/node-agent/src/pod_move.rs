//! A pod that has been moved so that another one fits, and whether it goes on running.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use device_manager::DeviceId;
use node_state::Record;
use pod_spec::{ContainerName, Pod, PodUid, ResourceName, Wishes};
use topology_admission::{LIVE, Ledger, Node};

use crate::enforcement::Pinning;

/// A pod that holds something else than before.
#[derive(Clone, Debug)]
pub struct PodMove {
    /// Which.
    pub pod: Arc<Pod>,
    /// What its containers have to do about it.
    pub manner: Manner,
}

/// How a pod comes to run on what it holds now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Manner {
    /// Its containers go on, on other CPUs, and their pages are moved to the NUMA nodes that they have now.
    Live,
    /// Its containers are on their new CPUs, and have to be restarted to be where they belong as a whole.
    Restart(WhyRestart),
    /// None of its containers runs.
    NothingRuns,
}

/// Why the containers of a pod have to be restarted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhyRestart {
    /// Its annotation does not say that it may be moved while it runs.
    NotAsked,
    /// It has other devices than before, which no running container gets.
    Devices,
    /// The cgroup of a running container is unknown.
    NoCgroup(ContainerName),
    /// The memory of a container is bound to no NUMA node, so that its pages stay where they are.
    MemoryNotBound(ContainerName),
    /// No cgroups are written on this node.
    NotEnforced,
}

impl PodMove {
    /// A pod whose record was as given before it moved.
    pub(crate) fn new(node: &Node, before: &Ledger, after: &Ledger, record: &Record) -> Self {
        let uid = &record.pod.uid;
        let manner = if record.running.is_empty() {
            Manner::NothingRuns
        } else {
            why_restart(node, before, after, record).map_or(Manner::Live, Manner::Restart)
        };
        debug_assert!(after.has_pod(uid), "{uid} was moved, and is gone");
        Self { pod: record.pod.clone(), manner }
    }

    /// Turns a live move into a restart, since no cgroups are written.
    pub fn is_not_enforced(&mut self) {
        if self.manner == Manner::Live {
            self.manner = Manner::Restart(WhyRestart::NotEnforced);
        }
    }
}

fn why_restart(node: &Node, before: &Ledger, after: &Ledger, record: &Record) -> Option<WhyRestart> {
    let pod = &record.pod;
    if pod.constraints.wishes.get(Wishes::MOVE) != Some(LIVE) {
        return Some(WhyRestart::NotAsked);
    }
    if devices(before, &pod.uid) != devices(after, &pod.uid) {
        return Some(WhyRestart::Devices);
    }
    record.running.values().find_map(|running| {
        let container = &running.container;
        let is_bound = || Pinning::new(node, after, &pod.uid, container).mems.is_some();
        match running.cgroup {
            None => Some(WhyRestart::NoCgroup(container.clone())),
            Some(_) if is_bound() => None,
            Some(_) => Some(WhyRestart::MemoryNotBound(container.clone())),
        }
    })
}

type Devices<'l> = BTreeSet<(&'l ContainerName, &'l ResourceName, DeviceId)>;

fn devices<'l>(ledger: &'l Ledger, pod: &PodUid) -> Devices<'l> {
    let held = ledger.devices().of_pod(pod);
    let each = held.flat_map(|(container, resource, held)| {
        held.devices().into_iter().map(move |device| (container, resource, device))
    });
    each.collect()
}

impl fmt::Display for Manner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Live => f.write_str("it goes on running, and its pages move"),
            Self::Restart(why) => write!(f, "its containers have to be restarted: {why}"),
            Self::NothingRuns => f.write_str("none of its containers runs"),
        }
    }
}

impl fmt::Display for WhyRestart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => write!(f, "annotation {}{} is not {LIVE}", Wishes::PREFIX, Wishes::MOVE),
            Self::Devices => f.write_str("it has other devices than before"),
            Self::NoCgroup(container) => {
                write!(f, "the cgroup of container {container} is not known")
            }
            Self::MemoryNotBound(container) => {
                write!(f, "the memory of container {container} is bound to no NUMA node")
            }
            Self::NotEnforced => f.write_str("no cgroups are written on this node"),
        }
    }
}
