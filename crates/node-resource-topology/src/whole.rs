//! What the pods of a node request of all that the node has, by its Node object: the node-wide fit, without NUMA nodes.

use k8s_quantity::{Format, Quantity};
use pod_spec::{Amounts, Overhead, Phase, Pod, PodLevelResources, ResourceList, ResourceName};

/// A node as a whole: what its kubelet offers to pods, and what the pods on it request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WholeNode {
    allocatable: ResourceList,
    requested: ResourceList,
}

/// What a node as a whole has of a resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WholeAmount {
    /// Of which resource.
    pub resource: ResourceName,
    /// What pods may request together.
    pub allocatable: Quantity,
    /// What they request.
    pub requested: Quantity,
}

impl WholeAmount {
    /// What pods may still request; below zero where they request too much.
    #[must_use]
    pub fn free(&self) -> Quantity {
        self.allocatable.clone() - self.requested.clone()
    }
}

impl WholeNode {
    /// A node with `status.allocatable`, and the pods that are bound to it. Those that have ended request nothing.
    #[must_use]
    pub fn new<'a>(allocatable: ResourceList, pods: impl IntoIterator<Item = &'a Pod>) -> Self {
        let mut requested = ResourceList::new();
        for pod in pods.into_iter().filter(|pod| pod.phase == Phase::Active) {
            for (resource, amount) in requests(pod) {
                *requested.entry(resource).or_insert_with(|| Quantity::from_units(0, Format::DecimalSi)) +=
                    amount;
            }
        }
        Self { allocatable, requested }
    }

    /// Every resource that the node has, by name.
    pub fn all(&self) -> impl Iterator<Item = WholeAmount> {
        self.allocatable.keys().map(|resource| self.of(resource))
    }

    /// What `pod` asks for, beside what there is of it. A resource that the Node object does not list is one of which the
    /// kubelet offers nothing.
    pub fn asked_by(&self, pod: &Pod) -> impl Iterator<Item = (Quantity, WholeAmount)> {
        let asked = requests(pod).into_iter().filter(|(_, amount)| !amount.is_zero());
        asked.map(|(resource, amount)| (amount, self.of(&resource)))
    }

    fn of(&self, resource: &ResourceName) -> WholeAmount {
        let amount = |list: &ResourceList| list.get(resource).cloned().unwrap_or_default();
        WholeAmount {
            resource: resource.clone(),
            allocatable: amount(&self.allocatable),
            requested: amount(&self.requested),
        }
    }
}

/// What a kubelet counts of a pod, and one pod of those that a node may have.
fn requests(pod: &Pod) -> ResourceList {
    let mut requests = pod.effective(Amounts::Requests, PodLevelResources::Count, Overhead::Added);
    requests.insert(ResourceName::new("pods"), Quantity::from_units(1, Format::DecimalSi));
    requests
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString as _};
    use alloc::vec;
    use alloc::vec::Vec;

    use pod_spec::{Container, Role};

    use super::*;

    fn list(amounts: &[(&str, &str)]) -> ResourceList {
        amounts.iter().map(|(name, amount)| ((*name).into(), amount.parse().unwrap())).collect()
    }

    fn pod(name: &str, amounts: &[(&str, &str)]) -> Pod {
        let requests = list(amounts);
        let container =
            Container { name: "c".into(), role: Role::App, requests: requests.clone(), limits: requests };
        Pod::new("default", name, vec![container])
    }

    #[test]
    fn pods_that_have_ended_request_nothing() {
        let ended = Pod { phase: Phase::Ended, ..pod("ended", &[("cpu", "50")]) };
        let running = pod("running", &[("cpu", "1500m"), ("memory", "3Gi")]);
        let allocatable = list(&[("cpu", "4"), ("memory", "8Gi"), ("pods", "110")]);
        let node = WholeNode::new(allocatable, [&ended, &running]);
        let asked: Vec<(String, String, String)> = node
            .asked_by(&pod("new", &[("cpu", "3"), ("example.com/gpu", "1")]))
            .map(|(asks, whole)| {
                (whole.resource.as_str().to_string(), asks.to_string(), whole.free().to_string())
            })
            .collect();
        let row = |name: &str, asks: &str, free: &str| (name.to_string(), asks.to_string(), free.to_string());
        assert_eq!(
            asked,
            [row("cpu", "3", "2500m"), row("example.com/gpu", "1", "0"), row("pods", "1", "109")]
        );
    }
}
