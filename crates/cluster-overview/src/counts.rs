//! Pods counted by what they ask for, as they are listed.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use node_input::told_object;
use node_resource_topology::PublishedPolicies;
use pod_spec::{Pod, PodRules, ResourceList, ResourceName};
use serde_json::Value;

/// Pods that came within this time count.
const WITHIN: SignedDuration = SignedDuration::from_hours(24);
/// So many kinds are counted; a cluster has some dozens.
const MOST_KEPT: usize = 1000;

/// Pods that asked for the same.
#[derive(Clone, Debug)]
pub(crate) struct AskedShape {
    /// One of them.
    pub(crate) pod: Pod,
    /// What of it a kubelet allocates by NUMA node.
    aligned: ResourceList,
    pub(crate) pods: usize,
}

/// Pods of the last day, counted by what they ask for.
#[derive(Clone, Default, Debug)]
pub(crate) struct AskedCounts {
    pub(crate) shapes: BTreeMap<String, AskedShape>,
    pub(crate) unreadable: usize,
    pub(crate) with_claims: usize,
    /// Of further shapes.
    pub(crate) beyond: usize,
}

impl AskedCounts {
    pub(crate) fn add(&mut self, object: &Value, now: Timestamp) {
        let created = object["metadata"]["creationTimestamp"].as_str();
        if created.and_then(|created| since(created, now)).is_none_or(|age| age > WITHIN) {
            return;
        }
        let Ok(pod) = told_object(object, PodRules::default()) else {
            self.unreadable += 1;
            return;
        };
        if !pod.constraints.claims.is_empty() {
            self.with_claims += 1;
            return;
        }
        // A pod that shares CPUs and has no devices fits wherever there is room.
        let aligned = PublishedPolicies::default().aligned(&pod);
        if aligned.is_empty() {
            return;
        }
        let key = key(&pod);
        if self.shapes.len() >= MOST_KEPT && !self.shapes.contains_key(&key) {
            self.beyond += 1;
            return;
        }
        let shape = self.shapes.entry(key).or_insert_with(|| AskedShape { pod, aligned, pods: 0 });
        shape.pods += 1;
    }
}

/// Equal for pods that ask for the same in the same containers.
fn key(pod: &Pod) -> String {
    let containers: Vec<_> = pod
        .containers
        .iter()
        .map(|container| (&container.requests, &container.limits, container.role))
        .collect();
    format!("{containers:?} {:?} {:?}", pod.resources, pod.constraints.wishes)
}

impl AskedShape {
    fn amount(&self, is_meant: impl Fn(&ResourceName) -> bool) -> u64 {
        let amounts = self.aligned.iter().filter(|(resource, _)| is_meant(resource));
        amounts.map(|(_, amount)| u64::try_from(amount.value()).unwrap_or(0)).fold(0, u64::saturating_add)
    }

    /// Devices, then CPUs, then memory.
    pub(crate) fn size(&self) -> (u64, u64, u64) {
        (
            self.amount(|resource| resource.as_str().contains('/')),
            self.amount(|resource| resource.as_str() == "cpu"),
            self.amount(|resource| resource.as_str() == "memory" || resource.is_hugepages()),
        )
    }

    pub(crate) fn asks(&self) -> String {
        let shown = self.aligned.iter().map(|(resource, amount)| {
            let value = u64::try_from(amount.value()).unwrap_or(u64::MAX);
            match (resource.as_str(), value) {
                ("cpu", 1) => "1 CPU".to_owned(),
                ("cpu", some) => format!("{some} CPUs"),
                (name, _) => format!("{} {name}", resource.amount(value)),
            }
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}

/// How long ago a time was; below zero: it is still to come. `None`: it is none.
pub(crate) fn since(time: &str, now: Timestamp) -> Option<SignedDuration> {
    Some(now.duration_since(time.parse().ok()?))
}
