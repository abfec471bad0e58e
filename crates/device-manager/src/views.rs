//! What the pod resources service, pod status and the scheduler's books report about devices.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use pod_spec::{ContainerName, PodUid, ResourceName};
use topology_model::NodeId;

use crate::device::{DeviceId, Health, Topology};
use crate::inventory::Inventory;
use crate::{HeldOn, Holdings};

/// One entry of the pod resources service: a device on one node. A device on several nodes has several entries, one
/// that listed a node twice two equal ones.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DeviceEntry {
    /// Of which resource.
    pub resource: ResourceName,
    /// Which device.
    pub device: DeviceId,
    /// The node; `None`: it says nothing about where it is.
    pub node: Option<NodeId>,
}

impl Inventory {
    /// The healthy devices of all resources, taken or not, by resource and id: what `GetAllocatableResources` says.
    /// A device that lists no node has no entry, but one that says nothing about nodes has; as in the kubelet.
    pub fn allocatable(&self) -> impl Iterator<Item = DeviceEntry> + use<'_> {
        self.registered().flat_map(move |resource| {
            self.healthy(resource).flat_map(move |id| {
                let nodes = match self.device(resource, id).map(|device| &device.topology) {
                    Some(Topology::Nodes(nodes)) => nodes.iter().copied().map(Some).collect(),
                    Some(Topology::Absent) | None => Vec::from([None]),
                };
                let entry = |node| DeviceEntry { resource: resource.clone(), device: id.clone(), node };
                nodes.into_iter().map(entry)
            })
        })
    }
}

impl Holdings {
    /// The devices of a container, on the nodes that they listed when they were given to it.
    pub fn entries(
        &self,
        pod: &PodUid,
        container: &ContainerName,
    ) -> impl Iterator<Item = DeviceEntry> + use<'_> {
        self.of_container(pod, container).flat_map(|(resource, held)| {
            held.by_node().flat_map(move |(node, ids)| {
                let node = match node {
                    HeldOn::NoNode => None,
                    HeldOn::Node(id) => Some(id),
                };
                ids.iter().map(move |id| DeviceEntry { resource: resource.clone(), device: id.clone(), node })
            })
        })
    }

    /// The devices of a container with their health as last listed, for the pod's status. One that is not listed
    /// any more counts as healthy, as in the kubelet.
    pub fn health(
        &self,
        inventory: &Inventory,
        pod: &PodUid,
        container: &ContainerName,
    ) -> BTreeMap<ResourceName, BTreeMap<DeviceId, Health>> {
        let health_of = |resource: &ResourceName, id: &DeviceId| {
            inventory.device(resource, id).map(|device| device.health.clone()).unwrap_or_default()
        };
        let of_container = self.of_container(pod, container);
        let with_health = of_container.map(|(resource, held)| {
            let devices = held.devices().into_iter();
            let devices = devices.map(|id| (id.clone(), health_of(resource, &id)));
            (resource.clone(), devices.collect())
        });
        with_health.collect()
    }

    /// Raises a node's allocatable amounts to what is taken, of every device resource, if `pod` holds anything:
    /// so that a pod that runs already fits although its plugin is not back. Nothing is ever lowered.
    pub fn raise_allocatable(&self, pod: &PodUid, allocatable: &mut BTreeMap<ResourceName, i64>) {
        if !self.has_pod(pod) {
            return;
        }
        for (resource, ids) in self.all_taken() {
            let taken = i64::try_from(ids.len()).unwrap_or(i64::MAX);
            let amount = allocatable.entry(resource.clone()).or_insert(taken);
            *amount = taken.max(*amount);
        }
    }
}
