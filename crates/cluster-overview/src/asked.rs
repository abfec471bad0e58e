//! What pods of the last day asked for.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use node_input::told_object;
use node_resource_topology::PublishedPolicies;
use pod_spec::{Pod, PodRules, ResourceList, ResourceName};
use serde::Serialize;
use serde_json::Value;

use crate::rows::{NodeRow, RowBasis, since};

/// Pods that came within this time count.
const WITHIN: SignedDuration = SignedDuration::from_hours(24);
/// So many kinds are looked at: the largest of those that come most often.
const MOST: usize = 20;
/// So many kinds are counted; a cluster has some dozens.
const MOST_KEPT: usize = 1000;

/// Pods that asked for the same.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AskedPod {
    /// What one of them asks for, for people, such as `8 CPUs, 16Gi memory, 1 nvidia.com/gpu`.
    pub asks: String,
    /// How many came.
    pub pods: usize,
    /// How many nodes one more would fit; nodes of which nothing is known do not count.
    pub fits_nodes: usize,
}

/// What was asked for, the largest first.
#[derive(Default)]
pub(crate) struct Asked {
    pub(crate) pods: Vec<AskedShape>,
}

/// Pods that asked for the same.
#[derive(Clone, Debug)]
pub(crate) struct AskedShape {
    /// One of them.
    pub(crate) pod: Pod,
    /// What of it a kubelet allocates by NUMA node.
    aligned: ResourceList,
    pods: usize,
}

/// Pods of the last day, counted by what they ask for.
#[derive(Clone, Default, Debug)]
pub(crate) struct AskedCounts {
    shapes: BTreeMap<String, AskedShape>,
    unreadable: usize,
    with_claims: usize,
    /// Of further shapes.
    beyond: usize,
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

    /// Those that come most often.
    pub(crate) fn asked(&self, not_seen: &mut Vec<String>) -> Asked {
        let mut skipped = |pods: usize, why: &str| {
            if pods > 0 {
                let pods = if pods == 1 { "1 pod".to_owned() } else { format!("{pods} pods") };
                not_seen.push(format!("{pods} {why}; so what they ask for is not among what was asked for"));
            }
        };
        skipped(self.unreadable, "cannot be read");
        skipped(self.with_claims, "with resource claims, which are not decided here");
        skipped(self.beyond, "beyond the first thousand kinds of requests");
        let mut pods: Vec<AskedShape> = self.shapes.values().cloned().collect();
        pods.sort_by_key(|shape| std::cmp::Reverse(shape.pods));
        pods.truncate(MOST);
        pods.sort_by_key(|shape| std::cmp::Reverse(shape.size()));
        Asked { pods }
    }
}

impl Asked {
    /// For people, with how many of these nodes each fits.
    pub(crate) fn described(&self, nodes: &[NodeRow]) -> Vec<AskedPod> {
        let described = |(at, shape): (usize, &AskedShape)| AskedPod {
            asks: shape.asks(),
            pods: shape.pods,
            fits_nodes: nodes
                .iter()
                .filter(|node| node.basis != RowBasis::Unknown && node.fits.contains(&at))
                .count(),
        };
        self.pods.iter().enumerate().map(described).collect()
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
    fn size(&self) -> (u64, u64, u64) {
        (
            self.amount(|resource| resource.as_str().contains('/')),
            self.amount(|resource| resource.as_str() == "cpu"),
            self.amount(|resource| resource.as_str() == "memory" || resource.is_hugepages()),
        )
    }

    fn asks(&self) -> String {
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
