//! What is free on each NUMA node, and how many pods there are, at the moment of asking.

use std::collections::BTreeMap;

use device_manager::Topology;
use node_agent::Snapshot;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::kinds::{OfNode, OfResource};
use crate::node::LoadedNode;
use crate::serve::manifests::Manifests;

#[derive(Default)]
pub(super) struct Free {
    cpus: Family<OfNode, Gauge>,
    memory: Family<OfResource, Gauge>,
    devices: Family<OfResource, Gauge>,
    pods: Family<OfPhase, Gauge>,
    behind: Gauge,
    unusable: Gauge,
}

/// Of pods.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct OfPhase {
    phase: &'static str,
}

impl Free {
    pub(super) fn register(&self, to: &mut Registry) {
        to.register("topolet_free_cpus", "CPUs that can become exclusive", self.cpus.clone());
        to.register(
            "topolet_free_memory_bytes",
            "Memory and huge pages that can be booked",
            self.memory.clone(),
        );
        to.register(
            "topolet_free_devices",
            "Healthy devices that nobody holds; numa_node is empty for those that are on none, and lists several",
            self.devices.clone(),
        );
        to.register("topolet_pods", "Pods by what has become of them", self.pods.clone());
        to.register(
            "topolet_state_behind",
            "1 if what is on disk is behind what is held, else 0",
            self.behind.clone(),
        );
        to.register(
            "topolet_manifests_unusable",
            "Files of the manifests folder that cannot be used; the folder itself counts as one if it cannot be read",
            self.unusable.clone(),
        );
    }

    pub(super) fn set(&self, node: &LoadedNode, snapshot: &Snapshot, manifests: &Manifests) {
        let ledger = &snapshot.ledger;
        if let (Some(policy), Some(held)) = (node.node.cpus(), ledger.cpus()) {
            let available = policy.available(held);
            for (_, id) in node.node.nodes().iter() {
                let here = node.cpus.cpus_in_node(id).map_or(0, |cpus| available.intersection_len(cpus));
                self.cpus.get_or_create(&OfNode::new(id)).set(i64::try_from(here).unwrap_or(i64::MAX));
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
        for (phase, count) in [
            ("admitted", snapshot.pods.len()),
            ("refused", snapshot.refused.len()),
            ("waiting", snapshot.waiting.len()),
        ] {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.pods.get_or_create(&OfPhase { phase }).set(count);
        }
        self.behind.set(i64::from(snapshot.behind.is_some()));
        self.unusable.set(i64::try_from(manifests.unusable()).unwrap_or(i64::MAX));
    }

    fn set_devices(&self, snapshot: &Snapshot) {
        let (inventory, held) = (snapshot.ledger.inventory(), snapshot.ledger.devices());
        let mut free: BTreeMap<(String, String), i64> = BTreeMap::new();
        for resource in inventory.registered() {
            let taken = held.taken(resource);
            for id in inventory.healthy(resource) {
                let nodes = match inventory.device(resource, id).map(|device| &device.topology) {
                    Some(Topology::Nodes(nodes)) => {
                        nodes.iter().map(|node| node.0.to_string()).collect::<Vec<_>>().join(",")
                    }
                    Some(Topology::Absent) | None => String::new(),
                };
                let count = free.entry((nodes, resource.to_string())).or_default();
                if taken.is_none_or(|taken| !taken.contains(id)) {
                    *count += 1;
                }
            }
        }
        // Of a plugin that is gone nothing is left.
        self.devices.clear();
        for ((numa_node, resource), count) in free {
            self.devices.get_or_create(&OfResource { numa_node, resource }).set(count);
        }
    }
}
