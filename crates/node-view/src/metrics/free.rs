//! What is free on each NUMA node, and how many pods there are, at the moment of asking.

use std::collections::{BTreeMap, BTreeSet};

use device_manager::Topology;
use node_agent::Snapshot;
use node_input::LoadedNode;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::kinds::{OfNode, OfResource};
use crate::conditions::NodeCondition::ManifestsUsable;
use crate::conditions::NodeConditions;
use crate::served::Mode;

#[derive(Default)]
pub(super) struct Free {
    cpus: Family<OfNode, Gauge>,
    memory: Family<OfResource, Gauge>,
    devices: Family<OfResource, Gauge>,
    pods: Family<OfPhase, Gauge>,
    behind: Gauge,
    unusable: Gauge,
    stale: Gauge,
    drifted: Gauge,
    guard_problems: Gauge,
    next_start_fails: Gauge,
    /// Resources and NUMA nodes of which there have been devices.
    seen: Mutex<BTreeSet<(String, String)>>,
}

/// At most this many series of devices are kept.
const MOST_SERIES: usize = 4096;

/// What there is at the moment of asking.
pub(crate) struct Now<'a> {
    pub(crate) node: &'a LoadedNode,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) conditions: &'a NodeConditions,
}

/// Of pods.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct OfPhase {
    phase: &'static str,
}

impl Free {
    pub(super) fn register(&self, to: &mut Registry, mode: Mode) {
        to.register("topolet_free_cpus", "CPUs that can become exclusive.", self.cpus.clone());
        to.register(
            "topolet_free_memory_bytes",
            "Memory and huge pages that can be booked.",
            self.memory.clone(),
        );
        to.register(
            "topolet_free_devices",
            "Healthy devices that no container holds; numa_node is empty for those on no node and lists several with commas. 0 after a plugin has gone.",
            self.devices.clone(),
        );
        to.register(
            "topolet_pods",
            "Pods by phase: admitted, refused, waiting or deferred.",
            self.pods.clone(),
        );
        match mode {
            Mode::Serve => {
                to.register(
                    "topolet_state_behind",
                    "1 if the state on disk is behind what pods hold, else 0.",
                    self.behind.clone(),
                );
                to.register(
                    "topolet_manifests_unusable",
                    "Files of the manifests folder that cannot be used; the folder itself counts as one if it cannot be read.",
                    self.unusable.clone(),
                );
            }
            Mode::Observe => {
                to.register(
                    "topolet_state_stale",
                    "1 if what is served is not what the kubelet has on disk, or that does not fit together; else 0.",
                    self.stale.clone(),
                );
                to.register(
                    "topolet_observe_drifted_containers",
                    "Containers whose CPUs or memory nodes in effect are not those of the kubelet's files.",
                    self.drifted.clone(),
                );
                to.register(
                    "topolet_observe_guard_problems",
                    "Conditions of the guard of exclusive CPUs (topolet guard) that fail; 0 where no guard reports.",
                    self.guard_problems.clone(),
                );
                to.register(
                    "topolet_observe_next_start_fails",
                    "1 if the kubelet would not start again from its files on the machine as it is now, else 0.",
                    self.next_start_fails.clone(),
                );
            }
        }
    }

    pub(super) fn set(&self, now: &Now<'_>) {
        let Now { node, snapshot, conditions } = *now;
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.behind.set(i64::from(conditions.why_behind().is_some()));
        self.unusable.set(count(conditions.wrong_of(ManifestsUsable).len()));
        self.stale.set(i64::from(conditions.why_stale().is_some()));
        self.drifted.set(count(conditions.drifted().len()));
        self.guard_problems.set(count(conditions.guard_failures().len()));
        self.next_start_fails.set(i64::from(conditions.next_start_fails().is_some()));
        let ledger = &snapshot.ledger;
        if let (Some(policy), Some(held)) = (node.node.cpus(), ledger.cpus()) {
            let available = policy.available(held);
            for (_, id) in node.node.nodes().iter() {
                let here = node.cpus.cpus_in_node(id).map_or(0, |cpus| available.intersection_len(cpus));
                self.cpus.get_or_create(&OfNode::new(id)).set(count(here));
            }
        }
        if let (Some(policy), Some(held)) = (node.node.memory(), ledger.memory()) {
            for (at, resource, _) in policy.allocatable() {
                let Some(id) = node.node.nodes().iter().find(|(other, _)| *other == at).map(|(_, id)| id)
                else {
                    continue;
                };
                let of = OfResource { numa_node: id.0.to_string(), resource: resource.to_string() };
                let free = held.amounts(at, resource).free;
                self.memory.get_or_create(&of).set(i64::try_from(free).unwrap_or(i64::MAX));
            }
        }
        self.set_devices(snapshot);
        for (phase, pods) in [
            ("admitted", snapshot.pods.len()),
            ("refused", snapshot.refused.len()),
            ("waiting", snapshot.waiting.len()),
            ("deferred", snapshot.deferred.len()),
        ] {
            self.pods.get_or_create(&OfPhase { phase }).set(count(pods));
        }
    }

    fn set_devices(&self, snapshot: &Snapshot) {
        let (inventory, held) = (snapshot.ledger.inventory(), snapshot.ledger.devices());
        let mut free = self.seen_as_taken();
        for resource in inventory.registered() {
            let taken = held.taken(resource);
            for id in inventory.healthy(resource) {
                let nodes = match inventory.device(resource, id).map(|device| &device.topology) {
                    Some(Topology::Nodes(nodes)) => {
                        nodes.iter().map(|node| node.0.to_string()).collect::<Vec<_>>().join(",")
                    }
                    Some(Topology::Absent) | None => String::new(),
                };
                let count = free.entry((resource.to_string(), nodes)).or_default();
                if taken.is_none_or(|taken| !taken.contains(id)) {
                    *count += 1;
                }
            }
        }
        self.remember(&free);
        // A plugin that has not come back since a restart has listed nothing yet.
        let unlisted = inventory.registered().map(ToString::to_string);
        for resource in
            unlisted.filter(|resource| !free.keys().any(|(of, _)| of == resource)).collect::<Vec<_>>()
        {
            free.insert((resource, String::new()), 0);
        }
        self.devices.clear();
        for ((resource, numa_node), count) in free {
            self.devices.get_or_create(&OfResource { numa_node, resource }).set(count);
        }
    }

    /// Every series that has been there, at 0: devices of a plugin that is gone are not free, and an alert on that
    /// needs the series.
    fn seen_as_taken(&self) -> BTreeMap<(String, String), i64> {
        let seen = self.seen.lock();
        seen.iter().map(|series| (series.clone(), 0)).collect()
    }

    fn remember(&self, series: &BTreeMap<(String, String), i64>) {
        let mut seen = self.seen.lock();
        seen.clear();
        seen.extend(series.keys().take(MOST_SERIES).cloned());
    }
}
