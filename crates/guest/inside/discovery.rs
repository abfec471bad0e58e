//! What topolet reads of the guest's kernel is the machine that QEMU was asked for.

use std::fs;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::machine::{Guest, json, put, text, topolet};
use crate::shape::DeviceShape;

/// The kernel keeps so much of a node for itself, in MiB.
const KERNEL: u64 = 96;

pub(crate) fn equals_the_machine(guest: &Guest) -> anyhow::Result<()> {
    let machine = json(&["topology", "--empty", "-o", "json"])?;
    let nodes = machine["nodes"].as_array().context("no nodes")?;
    ensure!(nodes.len() == guest.shape.nodes.len(), "{} nodes are known", nodes.len());
    for (id, (node, shape)) in nodes.iter().zip(&guest.shape.nodes).enumerate() {
        let equal = |what: &str, read: &Value, given: Value| -> anyhow::Result<()> {
            ensure!(*read == given, "node {id}: {what} is {read} instead of {given}");
            Ok(())
        };
        equal("id", &node["id"], id.into())?;
        equal("cores", &node["cores"], shape.cores.into())?;
        equal("packages", &node["packages"], shape.package.into_iter().collect::<Vec<_>>().into())?;
        let cpus: cpuset::CpuSet = node["cpus"].as_str().unwrap_or_default().parse()?;
        ensure!(cpus == guest.cpus_of(id)?, "node {id}: CPUs are {cpus}");
        equal("distances", &node["distances"], shape.distances.clone().into())?;
        let memory = node["memory"].as_u64().unwrap_or(0) >> 20;
        let range = shape.memory.saturating_sub(KERNEL)..=shape.memory;
        ensure!(range.contains(&memory), "node {id}: {memory} MiB of {}", shape.memory);
        let pages: u64 = node["hugepages"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|size| (size["pageSize"] == 2 << 20).then(|| size["pages"].as_u64())?)
            .sum();
        ensure!(pages == shape.huge_pages, "node {id}: {pages} huge pages instead of {}", shape.huge_pages);
    }
    siblings(guest)
}

/// The threads of each core, as cAdvisor would tell the kubelet.
fn siblings(guest: &Guest) -> anyhow::Result<()> {
    let info = json(&["topology", "--empty", "-o", "machineinfo"])?;
    // In the order of the names of their files, in which node10 comes before node2.
    let mut nodes: Vec<&Value> = info["topology"].as_array().context("no topology")?.iter().collect();
    nodes.sort_by_key(|node| node["node_id"].as_u64());
    for (node, cores) in nodes.into_iter().zip(guest.cores()) {
        let mut threads: Vec<Vec<usize>> = Vec::new();
        for core in node["cores"].as_array().into_iter().flatten() {
            threads.push(serde_json::from_value(core["thread_ids"].clone())?);
        }
        for core in &mut threads {
            core.sort_unstable();
        }
        threads.sort();
        ensure!(threads == cores, "node {}: cores are {threads:?} instead of {cores:?}", node["node_id"]);
    }
    Ok(())
}

/// Makes the virtual functions, and finds each on the node of its card.
pub(crate) fn functions(guest: &Guest) -> anyhow::Result<()> {
    let mut expected = vec![0; guest.shape.nodes.len()];
    let mut all = vec![0; guest.shape.nodes.len()];
    for entry in fs::read_dir("/sys/bus/pci/devices")? {
        let card = entry?.path();
        let Ok(node) = text(card.join("numa_node"))?.parse::<usize>() else { continue };
        let Some(shape) = guest.shape.nodes.get(node) else { continue };
        if let (Some(DeviceShape::Functions(count)), true) =
            (shape.device, card.join("sriov_numvfs").exists())
        {
            put(card.join("sriov_numvfs"), &count.to_string())?;
            expected[node] += count;
        }
    }
    let machine = json(&["topology", "--empty", "-o", "json"])?;
    for (node, shape) in machine["nodes"].as_array().context("no nodes")?.iter().zip(&guest.shape.nodes) {
        let id = usize::try_from(node["id"].as_u64().context("a node has an id")?)?;
        let devices = node["devices"].as_array().map_or(&[][..], Vec::as_slice);
        let count = |of: &[&Value]| of.iter().filter_map(|device| device["count"].as_u64()).sum::<u64>();
        let is_function = |device: &&Value| device["what"].as_str().is_some_and(|what| what.contains(" VF"));
        let functions: Vec<&Value> = devices.iter().filter(is_function).collect();
        all[id] = usize::try_from(count(&functions))?;
        ensure!(shape.device.is_some() != devices.is_empty(), "node {id}: devices are {devices:?}");
    }
    ensure!(all == expected, "virtual functions by node are {all:?} instead of {expected:?}");
    let asked: usize = guest
        .shape
        .nodes
        .iter()
        .map(|node| match node.device {
            Some(DeviceShape::Functions(count)) => count,
            _ => 0,
        })
        .sum();
    ensure!(
        expected.iter().sum::<usize>() == asked,
        "the kernel made {expected:?} of {asked} virtual functions"
    );
    Ok(())
}

pub(crate) fn capture_and_back(_: &Guest) -> anyhow::Result<()> {
    let file = "/run/captured.tar.zst";
    topolet(&["capture", file])?;
    let without_name = |mut machine: Value| {
        machine["machine"] = Value::Null;
        machine
    };
    let live = without_name(json(&["topology", "--empty", "-o", "json"])?);
    let read = without_name(json(&["topology", "--empty", "-o", "json", "--machine", file])?);
    ensure!(live == read, "captured: {read}\nlive: {live}");
    topolet(&["capture", "--check", file]).map(drop)
}
