//! What is in the state file, and a start from it. The file's bytes belong to another crate.

use std::collections::BTreeMap;

use device_manager::{DeviceId, Holdings, Inventory, Moment};
use pod_spec::ResourceName;
use serde_json::{Map, Value, json};
use topology_model::Nodes;

use super::show;
use super::show::ids;

/// A state file.
pub(super) enum Stored {
    Absent,
    /// Put there by hand. Cases do this only with what the kubelet cannot read, and then it begins with nothing.
    Unreadable,
    Written(Contents),
}

/// What is written.
pub(super) struct Contents {
    held: Holdings,
    /// The registered resources, with their healthy devices.
    registered: BTreeMap<ResourceName, Vec<DeviceId>>,
}

impl Contents {
    pub(super) fn new(inventory: &Inventory, held: &Holdings) -> Self {
        let registered =
            inventory.registered().map(|name| (name.clone(), inventory.healthy(name).cloned().collect()));
        Self { held: held.clone(), registered: registered.collect() }
    }
}

impl Stored {
    /// What a kubelet that starts now knows.
    pub(super) fn load(&self, nodes: &Nodes, now: Moment) -> (Inventory, Holdings) {
        let mut inventory = Inventory::new(nodes.clone());
        let Self::Written(contents) = self else { return (inventory, Holdings::default()) };
        for resource in contents.registered.keys() {
            inventory.remember(resource, now);
        }
        let held = contents.held.iter().map(|(pod, container, resource, held)| {
            (pod.clone(), container.clone(), resource.clone(), held.clone())
        });
        (inventory, Holdings::new(held))
    }

    /// As cases write it; `None` for a file that was put there by hand.
    pub(super) fn show(&self) -> Option<Value> {
        let contents = match self {
            Self::Absent => return Some(Value::Null),
            Self::Unreadable => return None,
            Self::Written(contents) => contents,
        };
        let entries = contents.held.iter().map(|(pod, container, resource, held)| {
            json!({
                "PodUID": pod.as_str(),
                "ContainerName": container.as_str(),
                "ResourceName": resource.as_str(),
                "DeviceIDs": show::by_node(held),
                "AllocResp": show::reply(&held.reply),
            })
        });
        let registered = contents.registered.iter().map(|(name, healthy)| (name.to_string(), ids(healthy)));
        Some(json!({
            "PodDeviceEntries": entries.collect::<Vec<_>>(),
            "RegisteredDevices": registered.collect::<Map<_, _>>(),
        }))
    }
}
