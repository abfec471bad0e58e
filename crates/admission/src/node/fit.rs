//! Whether the node as a whole has enough, wherever it is: the kubelet's check after its managers have allocated.

use alloc::vec::Vec;

use k8s_quantity::Quantity;
use pod_spec::{Amounts, Overhead, Pod, ResourceName};
use thiserror::Error;

use crate::ledger::Ledger;
use crate::ledger::residents::Requests;
use crate::node::Node;

/// A resource of which the node has not enough. The text is the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, capacity: {capacity}"
)]
pub struct Shortage {
    /// `pods`, or a resource.
    pub resource: ResourceName,
    /// What the pod asks for: thousandths of `cpu`, else whole units.
    pub requested: i64,
    /// What the other pods ask for together.
    pub used: i64,
    /// What all pods can use.
    pub capacity: i64,
}

impl Shortage {
    /// How much is missing.
    #[must_use]
    pub const fn missing(&self) -> i64 {
        self.requested.saturating_sub(self.capacity.saturating_sub(self.used))
    }
}

/// What is checked first, in this order; all else follows in order of name, which is one of the kubelet's orders.
const FIRST: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

impl Node {
    /// Every shortage, in the order in which the kubelet reports them.
    pub(crate) fn shortages(&self, ledger: &Ledger, pod: &Pod, asked: &Requests) -> Vec<Shortage> {
        let mut shortages = Vec::new();
        if let Some(limit) = self.allocatable.get("pods") {
            let others = ledger.count_beside(&pod.uid);
            let (used, capacity) = (i64::try_from(others).unwrap_or(i64::MAX), limit.value());
            if used.saturating_add(1) > capacity {
                shortages.push(Shortage { resource: "pods".into(), requested: 1, used, capacity });
            }
        }
        let position = |resource: &ResourceName| FIRST.iter().position(|first| *first == resource.as_str());
        let mut asked: Vec<&(ResourceName, i64)> = asked.iter().collect();
        asked.sort_by_key(|(resource, _)| (position(resource).unwrap_or(FIRST.len()), resource));
        for (resource, requested) in asked {
            let (requested, used) = (*requested, ledger.used_beside(&pod.uid, resource));
            let Some(capacity) = self.capacity_for(ledger, pod, resource) else { continue };
            if requested > 0 && requested > capacity.saturating_sub(used) {
                shortages.push(Shortage { resource: resource.clone(), requested, used, capacity });
            }
        }
        shortages
    }

    /// Effective requests with overhead.
    pub(crate) fn requests(&self, pod: &Pod) -> Requests {
        let effective = pod.effective(Amounts::Requests, self.pod_rules.pod_level, Overhead::Added);
        let requests = effective.into_iter().map(|(resource, amount)| {
            let amount = units(&resource, &amount);
            (resource, amount)
        });
        requests.collect()
    }

    /// What all pods can use; `None` where nothing is checked: a resource that is not Kubernetes' own and that the
    /// node does not list, or storage of unknown size.
    fn capacity_for(&self, ledger: &Ledger, pod: &Pod, resource: &ResourceName) -> Option<i64> {
        if let Some(amount) = self.allocatable.get(resource.as_str()) {
            return Some(units(resource, amount));
        }
        allocatable_devices(ledger, pod, resource).or_else(|| is_native(resource).then_some(0))
    }
}

/// Devices that the node lists, by number. For a pod that holds devices these count even if they have fallen ill, or
/// their plugin has not come back since a restart.
fn allocatable_devices(ledger: &Ledger, pod: &Pod, resource: &ResourceName) -> Option<i64> {
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    // The inventory stays as it is: it forgets plugins only when the node's status is written.
    let listed =
        ledger.inventory().is_registered(resource) && ledger.inventory().endpoint(resource).is_some();
    let listed = listed.then(|| count(ledger.inventory().healthy(resource).count()));
    let taken = ledger.devices().has_pod(&pod.uid).then(|| ledger.devices().taken(resource)).flatten();
    listed.max(taken.map(|taken| count(taken.len())))
}

/// Whether the resource is one of Kubernetes' own that every node has, if only none of it.
fn is_native(resource: &ResourceName) -> bool {
    let name = resource.as_str();
    matches!(name, "cpu" | "memory") || resource.is_hugepages() || name.contains("kubernetes.io/")
}

/// Thousandths of a CPU, whole units of all else; rounded up.
pub(crate) fn units(resource: &ResourceName, amount: &Quantity) -> i64 {
    if resource.as_str() == "cpu" { amount.milli_value() } else { amount.value() }
}
