//! What a manager knows, as cases write it.

use device_manager::{
    Access, AllocateReply, DeviceEntry, DeviceId, DeviceIds, DeviceNode, Endpoint, Health, Held, Holdings,
    Inventory, Life, Mount, Setup, SocketConnections,
};
use pod_spec::{ContainerName, PodUid, ResourceName};
use serde_json::{Map, Value, json};

use crate::case::text;

/// The folder of sockets, as cases write it.
pub(super) const DIR: &str = "<DIR>";

/// All that is in memory.
pub(super) fn state(inventory: &Inventory, held: &Holdings, connections: &SocketConnections) -> Value {
    let healthy = inventory.registered().map(|name| (name.to_string(), ids(inventory.healthy(name))));
    let unhealthy = inventory.unhealthy().map(|(name, lost)| (name.to_string(), ids(lost)));
    let mut pods = json!({});
    for (pod, container, resource, held) in held.iter() {
        pods[pod.as_str()][container.as_str()][resource.as_str()] = by_node(held);
    }
    let reuse = held.all_reusable().map(|(pod, left)| (pod.to_string(), by_resource(left)));
    let endpoints = inventory.resources().filter_map(|name| {
        let Endpoint::Plugin { options, life } = inventory.endpoint(name)? else { return None };
        let stopped = life != Life::Running;
        let mut shown = match options {
            None => json!({ "options": null, "stopped": stopped }),
            Some(options) => json!({
                "pre_start": options.pre_start,
                "preferred": options.preferred_allocation,
                "stopped": stopped,
            }),
        };
        let sockets: Vec<_> = connections.sockets(name).map(|path| path.trim_start_matches(DIR)).collect();
        if sockets.len() > 1 {
            shown["connected"] = json!(sockets);
        }
        Some((name.to_string(), shown))
    });
    json!({
        "healthy": healthy.collect::<Map<_, _>>(),
        "unhealthy": unhealthy.collect::<Map<_, _>>(),
        "allocated": by_resource(held.all_taken()),
        "pods": pods,
        "reuse": reuse.into_iter().collect::<Map<_, _>>(),
        "endpoints": endpoints.collect::<Map<_, _>>(),
    })
}

fn by_resource<'a>(sets: impl Iterator<Item = (&'a ResourceName, &'a DeviceIds)>) -> Value {
    Value::Object(sets.map(|(name, set)| (name.to_string(), ids(set))).collect())
}

/// The ids in the order of cases.
pub(super) fn ids<'a>(ids: impl IntoIterator<Item = &'a DeviceId>) -> Value {
    ids.into_iter().map(DeviceId::as_str).collect()
}

/// The devices under each node, -1 for none.
pub(super) fn by_node(held: &Held) -> Value {
    let nodes = held.by_node().map(|(node, devices)| (node.id().0.to_string(), ids(devices)));
    Value::Object(nodes.collect())
}

/// Entries of the pod resources service, in the order of cases: nodes as text.
pub(super) fn entries(entries: impl Iterator<Item = DeviceEntry>) -> Value {
    let mut entries: Vec<DeviceEntry> = entries.collect();
    entries.sort_by_cached_key(|entry| {
        let node = entry.node.map(|node| format!("[{}]", node.0));
        (entry.resource.clone(), entry.device.clone(), node)
    });
    let show = |entry: &DeviceEntry| {
        let nodes = entry.node.map(|node| [node.0]);
        json!({ "resource": entry.resource.as_str(), "ids": [entry.device.as_str()], "nodes": nodes })
    };
    entries.iter().map(show).collect()
}

/// Devices with their health, by resource.
pub(super) fn health(
    inventory: &Inventory,
    held: &Holdings,
    pod: &PodUid,
    container: &ContainerName,
) -> Value {
    let mut shown = Map::new();
    for (resource, devices) in held.health(inventory, pod, container) {
        let devices = devices.into_iter().map(|(id, health)| {
            let word = if health == Health::Healthy { "Healthy" } else { "Unhealthy" };
            (id.to_string(), json!(word))
        });
        shown.insert(resource.to_string(), Value::Object(devices.collect()));
    }
    Value::Object(shown)
}

/// How a container is set up; null if it holds nothing.
pub(super) fn setup(held: &Holdings, pod: &PodUid, container: &ContainerName) -> Value {
    let setups: Vec<Setup> =
        held.of_container(pod, container).map(|(_, held)| decoded(&held.reply)).collect();
    if setups.is_empty() {
        return Value::Null;
    }
    let is_ordered = setups.len() == 1;
    let mut all = Setup::merged(&setups);
    if !is_ordered {
        all.mounts.sort_by(|a, b| a.container_path.cmp(&b.container_path));
        all.devices.sort_by(|a, b| a.container_path.cmp(&b.container_path));
        all.cdi_devices.sort();
    }
    let mount = |mount: &Mount| {
        json!({
            "name": mount.container_path,
            "container_path": mount.container_path,
            "host_path": mount.host_path,
            "read_only": mount.access == Access::ReadOnly,
            "selinux_relabel": false,
        })
    };
    json!({
        "envs": all.envs.iter().collect::<Vec<_>>(),
        "annotations": all.annotations.iter().collect::<Vec<_>>(),
        "mounts": all.mounts.iter().map(mount).collect::<Vec<_>>(),
        "devices": all
            .devices
            .iter()
            .map(|node| json!([node.container_path, node.host_path, node.permissions]))
            .collect::<Vec<_>>(),
        "cdi": all.cdi_devices,
        "list_order_fixed": is_ordered,
    })
}

/// A plugin's answer as the plugins of cases write it.
pub(super) fn reply(reply: &AllocateReply) -> Value {
    serde_json::from_slice(&reply.0).unwrap_or_else(|_| json!({}))
}

pub(super) fn decoded(stored: &AllocateReply) -> Setup {
    let reply = reply(stored);
    let owned = |value: &Value| text(value).to_owned();
    let strings = |value: &Value| {
        value.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), owned(value))).collect()
    };
    let list = |name: &str| reply[name].as_array().cloned().unwrap_or_default();
    let access = |value: &Value| {
        if value["read_only"].as_bool() == Some(true) { Access::ReadOnly } else { Access::ReadWrite }
    };
    Setup {
        envs: strings(&reply["envs"]),
        annotations: strings(&reply["annotations"]),
        mounts: list("mounts")
            .iter()
            .map(|mount| Mount {
                container_path: owned(&mount["container_path"]),
                host_path: owned(&mount["host_path"]),
                access: access(mount),
            })
            .collect(),
        devices: list("devices")
            .iter()
            .map(|node| DeviceNode {
                container_path: owned(&node["container_path"]),
                host_path: owned(&node["host_path"]),
                permissions: owned(&node["permissions"]),
            })
            .collect(),
        cdi_devices: list("cdi").iter().map(owned).collect(),
    }
}
