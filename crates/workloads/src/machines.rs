//! Machines to measure on: made up in one line, or captured.

use anyhow::Context as _;
use serde_json::{Value, json};
use topology_discovery::{SysfsTree, read};
use topology_model::{HugePages, MachineInfo};

use crate::work::{DeviceList, ListedDevice};

/// A machine with so many nodes of equal size on at most two packages; two-thread cores that share an L3 by eights,
/// 64 GiB and 2048 huge pages of 2 MiB and 8 of 1 GiB on a node. `cpus` is rounded down to what divides evenly.
pub(crate) fn made_up(nodes: usize, cpus: usize) -> MachineInfo {
    let packages = if nodes > 1 { 2 } else { 1 };
    let cores = (cpus / nodes / 2).max(1);
    let caches = if cores.is_multiple_of(8) { cores / 8 } else { 1 };
    let text = format!(
        "pack:{packages} numa:{}(memory=64GiB hugepages-2Mi=2048 hugepages-1Gi=8) l3:{caches} core:{} pu:2",
        nodes / packages,
        cores / caches,
    );
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A captured machine; where `pages` are given, each of these nodes has so many huge pages of 2 MiB and no others.
pub(crate) fn captured(name: &str, pages: Option<(&[i64], u64)>) -> anyhow::Result<MachineInfo> {
    let archive = machine_fixtures::archive(name).with_context(|| format!("no machine is called {name}"))?;
    let mut info = read(&SysfsTree::archive(archive)?)?.info;
    if let Some((nodes, count)) = pages {
        let of = |num_pages| Some(vec![HugePages { page_size_kib: 2048, num_pages }]);
        for node in info.topology.iter_mut().flatten() {
            node.hugepages = of(if nodes.contains(&node.id) { count } else { 0 });
        }
        info.hugepages = of(count * nodes.len() as u64);
    }
    Ok(info)
}

/// Everything pinned, whole containers; `reserved` is a CPU list, 512Mi are kept on node 0.
pub(crate) fn pinned(reserved: &str, nodes: usize) -> Value {
    let mut config = json!({
        "cpuManagerPolicy": "static",
        "memoryManagerPolicy": "Static",
        "topologyManagerPolicy": "restricted",
        "reservedSystemCPUs": reserved,
        "systemReserved": {"memory": "412Mi"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "512Mi"}}],
        "maxPods": 1000,
    });
    if nodes > 8 {
        config["topologyManagerPolicyOptions"] = json!({"max-allowable-numa-nodes": nodes.to_string()});
    }
    config
}

/// So many devices, in equal parts on these nodes.
pub(crate) fn devices(resource: &'static str, count: usize, nodes: &[i64]) -> DeviceList {
    let node = |at: usize| nodes.get(at * nodes.len() / count).copied();
    let devices = (0..count)
        .map(|at| ListedDevice {
            id: format!("0000:3b:{:02x}.{}", at / 8, at % 8),
            numa: node(at).into_iter().collect(),
        })
        .collect();
    DeviceList { resource, devices }
}

/// Distances on a machine of two packages.
pub(crate) fn distances(nodes: usize) -> Vec<Vec<u64>> {
    let half = nodes.div_ceil(2);
    let row = |a: usize| {
        (0..nodes)
            .map(|b| match (a == b, a / half == b / half) {
                (true, _) => 10,
                (_, true) => 12,
                _ => 32,
            })
            .collect()
    };
    (0..nodes).map(row).collect()
}
