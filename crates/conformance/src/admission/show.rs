//! The states of a node as the case files print them.

use std::collections::BTreeMap;

use cpu_manager::{Aligned, Change, Metric};
use k8s_quantity::hugepage_resource_name;
use node_config::Scope;
use pod_spec::{Container, ContainerKey, Pod, ResourceName, Role};
use serde_json::{Map, Value, json};
use topology_admission::{Counted, Ledger, Node};
use topology_hint::{Affinity, Hint};
use topology_model::{KubeletView, NodeId, Nodes};

use super::plugins::Plugin;

/// A pod that a case has brought, active or not.
pub(super) struct Known {
    pub(super) pod: Pod,
    pub(super) is_active: bool,
}

/// What everything holds; empty parts are left out.
pub(super) fn state(node: &Node, view: &KubeletView, ledger: &Ledger, known: &[Known]) -> Value {
    let name = |uid: &pod_spec::PodUid| {
        let pod = known.iter().find(|known| known.pod.uid == *uid);
        pod.map_or_else(|| uid.to_string(), |known| known.pod.name.clone())
    };
    let mut state = Map::new();
    insert(&mut state, "cpu", cpus(ledger, &name));
    insert(&mut state, "memory", memory(node, view, ledger, &name));
    let (mut devices, mut stale) = (Map::new(), Vec::new());
    for Known { pod, is_active } in known {
        for container in &pod.containers {
            let key = format!("{}/{}", pod.name, container.name);
            for (resource, held) in ledger.devices().of_container(&pod.uid, &container.name) {
                let of_resource = devices.entry(resource.to_string()).or_insert_with(|| json!({}));
                of_resource[&key] = json!(held.devices().iter().map(ToString::to_string).collect::<Vec<_>>());
            }
            let hint = ledger.hint(&pod.key(container));
            if !is_active && hint.is_some_and(|hint| hint_value(hint, node.nodes()).is_some()) {
                stale.push(key);
            }
        }
    }
    stale.sort();
    insert(&mut state, "devices", devices);
    if !stale.is_empty() {
        state.insert("staleHints".into(), json!(stale));
    }
    Value::Object(state)
}

type Namer<'a> = dyn Fn(&pod_spec::PodUid) -> String + 'a;

fn insert(state: &mut Map<String, Value>, name: &str, part: Map<String, Value>) {
    if !part.is_empty() {
        state.insert(name.into(), Value::Object(part));
    }
}

fn cpus(ledger: &Ledger, name: &Namer<'_>) -> Map<String, Value> {
    let mut part = Map::new();
    let Some(held) = ledger.cpus() else { return part };
    if !held.shared().is_empty() {
        part.insert("default".into(), json!(held.shared().to_string()));
    }
    let assigned = held
        .iter()
        .map(|(pod, container, cpus)| (format!("{}/{container}", name(pod)), json!(cpus.to_string())));
    insert(&mut part, "assigned", assigned.collect());
    let whole = held.whole_pods().map(|(pod, cpus)| (name(pod), json!(cpus.to_string())));
    insert(&mut part, "podAssigned", whole.collect());
    part
}

/// Whether a node of the machine lists that kind of memory, be it with nothing.
fn lists(view: &KubeletView, node: NodeId, resource: &ResourceName) -> bool {
    let Some(node) = view.node_memory().iter().find(|own| own.id == node) else { return false };
    let mut sizes = node.hugepages.iter().map(|pages| hugepage_resource_name(pages.page_size_kib));
    resource.as_str() == "memory" || sizes.any(|size| size == resource.as_str())
}

fn memory(node: &Node, view: &KubeletView, ledger: &Ledger, name: &Namer<'_>) -> Map<String, Value> {
    let mut part = Map::new();
    let (Some(policy), Some(held)) = (node.memory(), ledger.memory()) else { return part };
    let all = node.nodes();
    let nodes = all.iter().map(|(index, id)| {
        let cells: Vec<i64> =
            held.group(index).iter().filter_map(|index| all.id(index)).map(|id| id.0).collect();
        let mut entry = json!({ "cells": cells, "n": held.assignments(index) });
        for resource in policy.resources().iter().filter(|resource| lists(view, id, resource)) {
            let amounts = held.amounts(index, resource);
            entry[resource.as_str()] = json!([amounts.reserved, amounts.free]);
        }
        (id.0.to_string(), entry)
    });
    insert(&mut part, "nodes", nodes.collect());
    let assigned =
        held.iter().map(|(pod, container, own)| (format!("{}/{container}", name(pod)), blocks(own, all)));
    insert(&mut part, "assigned", assigned.collect());
    let whole = held.whole_pods().map(|(pod, own)| (name(pod), blocks(own, all)));
    insert(&mut part, "podAssigned", whole.collect());
    part
}

/// Blocks by resource; none is no list here.
fn blocks(blocks: &[memory_manager::Block], nodes: &Nodes) -> Value {
    if blocks.is_empty() {
        return Value::Null;
    }
    let mut shown: Vec<(String, Value)> = blocks
        .iter()
        .map(|block| {
            let ids: Vec<i64> =
                block.nodes.iter().filter_map(|index| nodes.id(index)).map(|id| id.0).collect();
            let resource = block.resource.to_string();
            (resource.clone(), json!({ "type": resource, "size": block.size, "nodes": ids }))
        })
        .collect();
    shown.sort_by(|a, b| a.0.cmp(&b.0));
    json!(shown.into_iter().map(|(_, block)| block).collect::<Vec<_>>())
}

/// What can be booked, by node and resource.
pub(super) fn allocatable_memory(node: &Node) -> Option<Value> {
    let policy = node.memory()?;
    let mut rows: Vec<(String, Value)> = policy
        .allocatable()
        .filter(|(.., bytes)| *bytes > 0)
        .filter_map(|(index, resource, bytes)| {
            let id = node.nodes().id(index)?.0;
            let row = json!({ "type": resource.as_str(), "size": bytes, "nodes": [id] });
            Some((format!("[{id}] {resource}"), row))
        })
        .collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    (!rows.is_empty()).then(|| json!(rows.into_iter().map(|(_, row)| row).collect::<Vec<_>>()))
}

/// The settings that the runtime gets for a container, and what it holds.
pub(super) fn container(
    node: &Node,
    ledger: &Ledger,
    plugins: &[Plugin],
    pod: &Pod,
    container: &Container,
) -> Value {
    let mut shown = json!({ "name": container.name.as_str() });
    if container.role != Role::App {
        shown["init"] = json!(true);
    }
    if let Some(held) = ledger.cpus() {
        let own = held.assigned(&pod.uid, &container.name);
        let cpuset = own.unwrap_or(held.shared());
        if !cpuset.is_empty() {
            shown["cpuset"] = json!(cpuset.to_string());
        }
        if let Some(own) = own {
            shown["exclusive"] = json!(own.to_string());
        }
    }
    if let Some(held) = ledger.memory() {
        if let Some(mask) = held.nodes_of(&pod.uid, &container.name).filter(|mask| !mask.is_empty()) {
            let ids: Vec<String> = node.nodes().ids_of(mask).map(|id| id.0.to_string()).collect();
            shown["mems"] = json!(ids.join(","));
        }
        if let Some(own) = held.assigned(&pod.uid, &container.name).filter(|own| !own.is_empty()) {
            shown["memory"] = blocks(own, node.nodes());
        }
    }
    let (mut devices, mut nodes) = (Map::new(), Map::new());
    for (resource, held) in ledger.devices().of_container(&pod.uid, &container.name) {
        let ids = held.devices();
        let plugin = plugins.iter().find(|plugin| plugin.resource == *resource);
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for place in plugin.iter().flat_map(|plugin| plugin.nodes_of(&ids)) {
            *counts.entry(place).or_default() += 1;
        }
        if !counts.is_empty() {
            nodes.insert(resource.to_string(), json!(counts));
        }
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        devices.insert(resource.to_string(), json!(ids));
    }
    for (name, part) in [("devices", devices), ("deviceNodes", nodes)] {
        if !part.is_empty() {
            shown[name] = Value::Object(part);
        }
    }
    let key = ContainerKey { pod: pod.uid.clone(), container: container.name.clone() };
    if let Some(hint) = ledger.hint(&key).and_then(|hint| hint_value(hint, node.nodes())) {
        shown["hint"] = hint;
    }
    shown
}

/// A stored hint; the empty one is as good as none.
fn hint_value(hint: Hint, nodes: &Nodes) -> Option<Value> {
    let preferred = hint.is_preferred();
    match hint.affinity {
        Affinity::Nodes(mask) => {
            let ids: Vec<i64> = nodes.ids_of(mask).map(|id| id.0).collect();
            Some(json!({ "nodes": ids, "preferred": preferred }))
        }
        Affinity::Any => preferred.then(|| json!({ "nodes": null, "preferred": true })),
    }
}

/// The counters that changed, and by how much.
pub(super) fn metrics(counted: &Counted, scope: Scope) -> Map<String, Value> {
    let scope = match scope {
        Scope::Container => "container",
        Scope::Pod => "pod",
    };
    let aligned = |kind: &str, boundary: &str, scope: &str| {
        format!("container_aligned_compute_resources_{kind}{{boundary={boundary},scope={scope}}}")
    };
    let mut metrics: BTreeMap<String, i64> = BTreeMap::new();
    let mut add = |name: String, by: i64| *metrics.entry(name).or_default() += by;
    add("topology_manager_admission_requests_total".into(), counted.requests.into());
    add("topology_manager_admission_errors_total".into(), counted.errors.into());
    add(aligned("count", "numa_node", scope), counted.aligned.into());
    add(aligned("failure_count", "numa_node", scope), counted.not_aligned.into());
    add("memory_manager_pinning_requests_total".into(), counted.memory.pinning_requests.into());
    add("memory_manager_pinning_errors_total".into(), counted.memory.pinning_errors.into());
    for change in &counted.cpus {
        let Change::Add(metric, by) = change else { continue };
        let name = match metric {
            Metric::PinningRequests => "cpu_manager_pinning_requests_total".into(),
            Metric::PinningErrors => "cpu_manager_pinning_errors_total".into(),
            Metric::Aligned(Aligned::PhysicalCpu) => aligned("count", "physical_cpu", "container"),
            Metric::Aligned(Aligned::UncoreCache) => aligned("count", "uncore_cache", "container"),
            Metric::AlignmentFailures => aligned("failure_count", "physical_cpu", "container"),
            _ => continue,
        };
        add(name, *by);
    }
    metrics.into_iter().filter(|(_, by)| *by != 0).map(|(name, by)| (name, json!(by))).collect()
}
