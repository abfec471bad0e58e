//! What a memory manager stores, as cases write it: the members of its state file.

use std::collections::BTreeMap;

use memory_manager::{Stored, StoredBlock, StoredNode, StoredTable};
use pod_spec::{ContainerName, PodUid, ResourceName};
use serde_json::{Map, Value, json};
use topology_model::NodeId;

use crate::case::{numbers, text};

/// `machineState`, and `entries` and `podEntries` unless empty. Blocks are sorted by resource.
pub(super) fn shown(stored: &Stored) -> Map<String, Value> {
    let nodes = stored.nodes.iter().map(|(id, node)| (id.to_string(), shown_node(node)));
    let mut state = Map::new();
    state.insert("machineState".into(), Value::Object(nodes.collect()));
    if !stored.entries.is_empty() {
        let of_pod = |containers: &BTreeMap<ContainerName, Vec<StoredBlock>>| {
            let each = containers.iter().map(|(name, blocks)| (name.to_string(), shown_blocks(blocks)));
            Value::Object(each.collect())
        };
        let pods = stored.entries.iter().map(|(pod, containers)| (pod.to_string(), of_pod(containers)));
        state.insert("entries".into(), Value::Object(pods.collect()));
    }
    if !stored.pod_entries.is_empty() {
        let of_pod = |blocks: &Vec<StoredBlock>| {
            if blocks.is_empty() { json!({}) } else { json!({ "memoryBlocks": shown_blocks(blocks) }) }
        };
        let pods = stored.pod_entries.iter().map(|(pod, blocks)| (pod.to_string(), of_pod(blocks)));
        state.insert("podEntries".into(), Value::Object(pods.collect()));
    }
    state
}

fn shown_node(node: &StoredNode) -> Value {
    let table = |table: &StoredTable| {
        json!({
            "total": table.total,
            "systemReserved": table.system_reserved,
            "allocatable": table.allocatable,
            "reserved": table.reserved,
            "free": table.free,
        })
    };
    let memory = node.memory.iter().map(|(resource, sizes)| (resource.to_string(), table(sizes)));
    json!({
        "numberOfAssignments": node.assignments,
        "memoryMap": Value::Object(memory.collect()),
        "cells": node.cells.iter().map(|id| id.0).collect::<Vec<_>>(),
    })
}

pub(super) fn shown_blocks(blocks: &[StoredBlock]) -> Value {
    let mut sorted: Vec<_> = blocks.iter().collect();
    sorted.sort_by(|a, b| (&a.resource, &a.nodes).cmp(&(&b.resource, &b.nodes)));
    let block = |block: &StoredBlock| {
        let nodes: Vec<i64> = block.nodes.iter().map(|id| id.0).collect();
        json!({ "numaAffinity": nodes, "type": block.resource.as_str(), "size": block.size })
    };
    sorted.into_iter().map(block).collect()
}

/// The same members as a value; absent is a new node.
pub(super) fn read(state: &Value) -> Result<Stored, String> {
    let mut stored = Stored::default();
    for (id, node) in members(&state["machineState"]) {
        let id = id.parse().map_err(|_| format!("no node id: {id:?}"))?;
        stored.nodes.insert(NodeId(id), read_node(node)?);
    }
    for (pod, containers) in members(&state["entries"]) {
        let each = members(containers).map(|(name, list)| Ok((ContainerName::new(name), blocks(list)?)));
        stored.entries.insert(PodUid::new(pod), each.collect::<Result<_, String>>()?);
    }
    for (pod, of_pod) in members(&state["podEntries"]) {
        stored.pod_entries.insert(PodUid::new(pod), blocks(&of_pod["memoryBlocks"])?);
    }
    Ok(stored)
}

fn read_node(node: &Value) -> Result<StoredNode, String> {
    let mut memory = BTreeMap::new();
    for (resource, table) in members(&node["memoryMap"]) {
        let bytes = |name: &str| bytes(&table[name]);
        let table = StoredTable {
            total: bytes("total")?,
            system_reserved: bytes("systemReserved")?,
            allocatable: bytes("allocatable")?,
            reserved: bytes("reserved")?,
            free: bytes("free")?,
        };
        memory.insert(ResourceName::new(resource), table);
    }
    let assignments = node["numberOfAssignments"].as_i64().unwrap_or_default();
    Ok(StoredNode { assignments, cells: ids(&node["cells"]), memory })
}

fn blocks(list: &Value) -> Result<Vec<StoredBlock>, String> {
    let block = |block: &Value| {
        let nodes = ids(&block["numaAffinity"]);
        Ok(StoredBlock {
            nodes,
            resource: ResourceName::new(text(&block["type"])),
            size: bytes(&block["size"])?,
        })
    };
    list.as_array().into_iter().flatten().map(block).collect()
}

fn ids(list: &Value) -> Vec<NodeId> {
    numbers(list).into_iter().map(NodeId).collect()
}

fn bytes(value: &Value) -> Result<u64, String> {
    match value {
        Value::Null => Ok(0),
        number => number.as_u64().ok_or_else(|| format!("no amount of bytes: {number}")),
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}
