//! Devices that only the kubelet's checkpoint names: those that plugins had registered when it was last written, and those
//! that containers hold. How many there are bounds what pods can be given; near which NUMA node a device is that nothing
//! holds, and whether it is healthy, it does not say.

use std::collections::BTreeMap;

use device_manager::Device;
use kubelet_checkpoint::device::{DeviceFile, DeviceState};
use node_config::DecidedBy;
use node_state::StateFolder;
use pod_spec::ResourceName;

use crate::node::LoadedNode;
use crate::packed::Running;

impl LoadedNode {
    /// The node with these devices, where its kubelet may run and nothing else lists any; `None`: it has none of them.
    pub(crate) fn with_unlisted_devices(&self, folder: &StateFolder) -> Option<Self> {
        let may_run = self.packed.as_ref().is_some_and(|packed| packed.running != Running::No);
        if self.has_device_list || !may_run || self.decided_by() != DecidedBy::Kubelet {
            return None;
        }
        let read = folder.device.as_deref().map(DeviceFile::read).filter(|read| read.fault.is_none())?;
        let mut inventory = self.inventory.clone();
        for (resource, devices) in named(&read.state) {
            let added = inventory.devices(&resource).cloned().collect::<Vec<_>>();
            let devices = devices.iter().map(|(id, nodes)| Device::new(id, nodes)).chain(added);
            inventory = inventory.with_unlisted(resource, devices.collect::<Vec<_>>());
        }
        Some(Self { inventory, ..self.clone() })
    }
}

/// The NUMA nodes of devices by id, where they are known, of each resource that is registered.
fn named(state: &DeviceState) -> BTreeMap<ResourceName, BTreeMap<&str, Vec<i64>>> {
    let mut named = BTreeMap::new();
    for (resource, ids) in state.registered.iter().flatten() {
        let ids = ids.iter().flatten().map(|id| (id.as_str(), Vec::new()));
        named.insert(resource.clone(), ids.collect::<BTreeMap<_, _>>());
    }
    for entry in state.entries.iter().flatten() {
        let Some(devices) = named.get_mut(&entry.resource) else { continue };
        for (node, ids) in entry.devices.iter().flatten().filter(|(node, _)| **node >= 0) {
            for id in ids.iter().flatten() {
                // One that is not registered any more cannot be given.
                if let Some(nodes) = devices.get_mut(id.as_str()) {
                    nodes.push(*node);
                }
            }
        }
    }
    named
}
