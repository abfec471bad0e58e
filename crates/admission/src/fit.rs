//! Whether the node as a whole has enough, wherever it is: the kubelet's check after its managers have allocated.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use device_manager::Moment;
use k8s_quantity::Quantity;
use pod_spec::{Amounts, Overhead, Pod, ResourceName};
use thiserror::Error;

use crate::ledger::Ledger;
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
    pub(crate) fn shortages(&self, ledger: &Ledger, pod: &Pod) -> Vec<Shortage> {
        let others = || ledger.pods().filter(|other| other.uid != pod.uid);
        let mut shortages = Vec::new();
        if let Some(limit) = self.allocatable.get("pods") {
            let (used, capacity) = (i64::try_from(others().count()).unwrap_or(i64::MAX), limit.value());
            if used.saturating_add(1) > capacity {
                shortages.push(Shortage { resource: "pods".into(), requested: 1, used, capacity });
            }
        }
        let asked = self.requests(pod);
        let mut used: BTreeMap<ResourceName, i64> = BTreeMap::new();
        for other in others() {
            for (resource, amount) in self.requests(other) {
                let sum = used.entry(resource).or_default();
                *sum = sum.saturating_add(amount);
            }
        }
        let devices = allocatable_devices(ledger, pod);
        let position = |resource: &ResourceName| FIRST.iter().position(|first| *first == resource.as_str());
        let mut names: Vec<&ResourceName> = asked.keys().collect();
        names.sort_by_key(|resource| (position(resource).unwrap_or(FIRST.len()), *resource));
        for resource in names {
            let (requested, used) = (asked[resource], used.get(resource).copied().unwrap_or(0));
            let Some(capacity) = self.capacity_for(resource, &devices) else { continue };
            if requested > 0 && requested > capacity.saturating_sub(used) {
                shortages.push(Shortage { resource: resource.clone(), requested, used, capacity });
            }
        }
        shortages
    }

    /// Effective requests with overhead.
    fn requests(&self, pod: &Pod) -> BTreeMap<ResourceName, i64> {
        let effective = pod.effective(Amounts::Requests, self.pod_level.counts(), Overhead::Added);
        effective
            .into_iter()
            .map(|(resource, amount)| (resource.clone(), units(&resource, &amount)))
            .collect()
    }

    /// What all pods can use; `None` where nothing is checked: a resource that is not Kubernetes' own and that the
    /// node does not list, or storage of unknown size.
    fn capacity_for(&self, resource: &ResourceName, devices: &BTreeMap<ResourceName, i64>) -> Option<i64> {
        if let Some(amount) = self.allocatable.get(resource.as_str()) {
            return Some(units(resource, amount));
        }
        if let Some(count) = devices.get(resource) {
            return Some(*count);
        }
        is_native(resource).then_some(0)
    }
}

/// Devices that the node lists, by number. For a pod that holds devices these count even if they have fallen ill, or
/// their plugin has not come back since a restart.
fn allocatable_devices(ledger: &Ledger, pod: &Pod) -> BTreeMap<ResourceName, i64> {
    // Nothing is forgotten here: that is for whoever writes the node's status.
    let listed = ledger.inventory.clone().capacity(Moment::default()).allocatable;
    let count = |(resource, count)| (resource, i64::try_from(count).unwrap_or(i64::MAX));
    let mut devices = listed.into_iter().map(count).collect();
    ledger.devices.raise_allocatable(&pod.uid, &mut devices);
    devices
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
