//! A machine that has more than the real one: CPUs, memory, huge pages or devices that are added to its NUMA nodes.
//!
//! The machine is changed before anything is decided, and so is what its kubelet has written: what is held stays held,
//! and what is added is free. Added CPUs have the numbers after the last one and are cores like those of their NUMA node;
//! where that has several caches of a level, they come with more of them, and share the one where it has one. Huge pages
//! take memory that the node has, as they do in the kernel. The configuration stays as it is read on the real machine.

use std::collections::{BTreeMap, BTreeSet};

use cpuset::CpuSet;
use device_manager::{Device, DeviceId, Inventory};
use k8s_quantity::Amount;
use pod_spec::ResourceName;
use topology_model::{MachineInfo, NodeId};

use crate::addition::{Addition, More};

/// What a machine has more than the real one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Imagined {
    /// Each resource on each node once, in the order in which they were given.
    pub(crate) additions: Vec<Addition>,
    /// The real machine, as its kubelet gets it.
    pub(crate) real: MachineInfo,
    /// The added CPUs.
    pub(crate) cpus: CpuSet,
}

impl Imagined {
    /// What is added, memory before the huge pages that may take it.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = &Addition> {
        let is_pages = |addition: &&Addition| matches!(addition.what, More::HugePages { .. });
        let (pages, others): (Vec<_>, Vec<_>) = self.additions.iter().partition(is_pages);
        others.into_iter().chain(pages)
    }

    /// What is added, each as text to be shown: `8 more intel.com/vf on NUMA node 1`.
    pub(crate) fn words(&self) -> Vec<String> {
        let words = |Addition { what, node }: &Addition| match what {
            More::Cpus(1) => format!("1 more CPU on NUMA node {node}"),
            More::Cpus(count) => format!("{count} more CPUs on NUMA node {node}"),
            More::Memory(bytes) => format!("{} more memory on NUMA node {node}", Amount::Bytes(*bytes)),
            More::HugePages { page, bytes } => format!(
                "{} more hugepages-{} on NUMA node {node}",
                Amount::Bytes(*bytes),
                Amount::Bytes(*page)
            ),
            More::Devices(name, count) => format!("{count} more {name} on NUMA node {node}"),
        };
        self.additions.iter().map(words).collect()
    }

    /// The devices of a node with the added ones, and the ids of these.
    pub(crate) fn devices(&self, mut inventory: Inventory) -> (Inventory, Added) {
        let mut added = Added::default();
        for Addition { what, node } in &self.additions {
            let More::Devices(resource, count) = what else { continue };
            let mut devices: Vec<Device> = inventory.devices(resource).cloned().collect();
            let known: BTreeSet<DeviceId> = devices.iter().map(|device| device.id.clone()).collect();
            let ids = (0_u64..).map(|at| DeviceId::new(&format!("added-{node}-{at}")));
            let ids =
                ids.filter(|id| !known.contains(id)).take(usize::try_from(*count).unwrap_or(usize::MAX));
            for id in ids {
                devices.push(Device::new(id.as_str(), &[node.0]));
                added.0.entry(resource.clone()).or_default().insert(id);
            }
            inventory = inventory.with(resource.clone(), devices);
        }
        (inventory, added)
    }
}

/// Devices that no plugin lists.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Added(BTreeMap<ResourceName, BTreeSet<DeviceId>>);

impl Added {
    /// Of which resources there are some.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &ResourceName> {
        self.0.keys()
    }

    /// Whether a device is one of them.
    pub(crate) fn has(&self, resource: &ResourceName, id: &DeviceId) -> bool {
        self.0.get(resource).is_some_and(|ids| ids.contains(id))
    }

    /// Whether the inventory has a resource besides them.
    pub(crate) fn is_listed_beside(&self, inventory: &Inventory, resource: &ResourceName) -> bool {
        let Some(ids) = self.0.get(resource) else { return inventory.is_registered(resource) };
        inventory.devices(resource).any(|device| !ids.contains(&device.id))
    }
}

/// That huge pages need more memory than there is for them.
pub(crate) fn too_little(id: NodeId, ordinary: u64, bytes: u64) -> String {
    // Whole GiB, since what is shown would be rounded down.
    let lacking = bytes.saturating_sub(ordinary).div_ceil(1 << 30);
    let ordinary = Amount::Bytes(ordinary);
    format!(
        "huge pages take memory, of which NUMA node {id} has {ordinary} left: add that too, with --add memory@{id}={lacking}Gi"
    )
}
