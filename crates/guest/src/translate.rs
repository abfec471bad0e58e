//! A fixture machine as QEMU can emulate it: fewer cores, less memory, the same nodes, threads, packages and distances.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::shape::{DeviceShape, NodeShape, Shape};

/// The least memory of a node, in MiB.
const LEAST: u64 = 96;
/// Memory is given in steps of so many MiB.
const STEP: u64 = 32;
/// Virtual functions of a node that has any.
const FUNCTIONS: usize = 4;

/// The distance between nodes if the machine names none: the kernel's default without a table of the firmware.
const REMOTE: u32 = 20;
/// Bytes that count for a node whose memory is not known: all such nodes get the same share.
const UNKNOWN: u64 = 1 << 30;

/// How far a machine is scaled down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// The most cores of a node.
    pub(crate) cores: usize,
    /// Memory of all nodes together, in MiB.
    pub(crate) memory: u64,
}

/// Translates what `topolet topology -o json` prints of a machine. Nodes that have neither CPUs nor memory are left
/// out, since no kernel brings them online under QEMU, and the ids of the others close up. What a capture lacks is as
/// plain as can be: nodes of unknown memory get the same share, and unknown distances are those of a kernel without a table.
///
/// # Errors
/// QEMU cannot emulate its packages, which all have the same number of cores there, and their nodes one after the other.
pub(crate) fn translate(topology: &Value, scale: Scale) -> anyhow::Result<Shape> {
    let machine = topology["machine"].as_str().context("the machine has no name")?.to_owned();
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let all: Vec<&Value> = topology["nodes"].as_array().context("the machine has no nodes")?.iter().collect();
    let bytes = |at: usize| all[at]["memory"].as_u64().unwrap_or(UNKNOWN);
    let kept: Vec<usize> =
        (0..all.len()).filter(|&at| number(&all[at]["cores"]) > 0 || bytes(at) > 0).collect();
    let cores = number(&topology["cores"]).max(1);
    let threads = usize::try_from(number(&topology["cpus"]) / cores)?.max(1);
    // QEMU's x86 machines know one thread a core or two.
    let threads = threads.min(2);
    let total: u64 = kept.iter().map(|&at| bytes(at)).sum();
    let mut packages: Vec<i64> = Vec::new();
    let mut nodes = Vec::new();
    for &at in &kept {
        let node = all[at];
        let own = node["packages"].as_array().map_or(&[][..], Vec::as_slice);
        ensure!(own.len() <= 1, "node {} of {machine} spans packages, which QEMU cannot emulate", node["id"]);
        let package = own.first().and_then(Value::as_i64).map(|id| {
            packages.iter().position(|known| *known == id).unwrap_or_else(|| {
                packages.push(id);
                packages.len() - 1
            })
        });
        let distances: Option<Vec<u32>> = match node["distances"].as_array() {
            Some(row) => kept.iter().map(|&to| row.get(to)?.as_u64()?.try_into().ok()).collect(),
            None => Some(kept.iter().map(|&to| if to == at { 10 } else { REMOTE }).collect()),
        };
        nodes.push(NodeShape {
            package,
            cores: package
                .map_or(0, |_| scale.cores.min(usize::try_from(number(&node["cores"])).unwrap_or(1))),
            memory: memory(bytes(at), total, scale.memory),
            distances: distances.context("a distance is missing")?,
            huge_pages: huge_pages(bytes(at), nodes.len()),
            device: device(node),
        });
    }
    // The kernel numbers nodes in the order in which it sees their CPUs, package by package.
    ensure!(
        nodes.iter().filter_map(|node: &NodeShape| node.package).is_sorted(),
        "the nodes of {machine} go back and forth between packages, which has other ids under QEMU"
    );
    for package in 0..packages.len() {
        let cores =
            |of| nodes.iter().filter(|node| node.package == Some(of)).map(|node| node.cores).sum::<usize>();
        ensure!(
            cores(package) == cores(0),
            "the packages of {machine} differ in their number of cores, which QEMU cannot emulate"
        );
    }
    Ok(Shape { machine, threads, nodes })
}

/// MiB of a node in the guest: of `scaled` MiB its share of `own` in `total` bytes, or [`LEAST`]; 0 for a node without memory.
fn memory(own: u64, total: u64, scaled: u64) -> u64 {
    if own == 0 {
        return 0;
    }
    let share = u128::from(own) * u128::from(scaled) / u128::from(total.max(1));
    (u64::try_from(share).unwrap_or(scaled) / STEP * STEP).max(LEAST)
}

/// Huge pages of 2 MiB of a node. Neighbours have different numbers, so that a test notices when two nodes are confused.
fn huge_pages(memory: u64, position: usize) -> u64 {
    if memory > 0 { 4 + u64::try_from(position % 4).unwrap_or(0) } else { 0 }
}

fn device(node: &Value) -> Option<DeviceShape> {
    let devices = node["devices"].as_array().filter(|devices| !devices.is_empty())?;
    let is_function = |device: &Value| device["what"].as_str().is_some_and(|what| what.contains(" VF "));
    Some(if devices.iter().any(is_function) { DeviceShape::Functions(FUNCTIONS) } else { DeviceShape::Plain })
}

/// QEMU's arguments for a machine, its devices included.
pub(crate) fn arguments(shape: &Shape) -> Vec<String> {
    let packages = shape.nodes.iter().filter_map(|node| node.package).max().map_or(1, |last| last + 1);
    let cores = shape.cpus() / shape.threads / packages;
    let total: u64 = shape.nodes.iter().map(|node| node.memory).sum();
    let mut arguments = Vec::new();
    let mut add = |option: &str, value: String| arguments.extend([option.to_owned(), value]);
    add("-m", format!("{total}M"));
    add("-smp", format!("{},sockets={packages},cores={cores},threads={}", shape.cpus(), shape.threads));
    let mut next = vec![0; packages];
    for (id, node) in shape.nodes.iter().enumerate() {
        let memory = node.memory;
        if memory > 0 {
            add("-object", format!("memory-backend-ram,id=m{id},size={memory}M"));
        }
        let own = if memory > 0 { format!(",memdev=m{id}") } else { String::new() };
        add("-numa", format!("node,nodeid={id}{own}"));
        let Some(package) = node.package else { continue };
        for core in next[package]..next[package] + node.cores {
            for thread in 0..shape.threads {
                add(
                    "-numa",
                    format!("cpu,node-id={id},socket-id={package},core-id={core},thread-id={thread}"),
                );
            }
        }
        next[package] += node.cores;
    }
    for (from, node) in shape.nodes.iter().enumerate() {
        for (to, distance) in node.distances.iter().enumerate().filter(|(to, _)| *to != from) {
            add("-numa", format!("dist,src={from},dst={to},val={distance}"));
        }
    }
    let devices = shape.nodes.iter().enumerate().filter_map(|(id, node)| Some((id, node.device?)));
    for (at, (id, device)) in devices.enumerate() {
        let functions = match device {
            DeviceShape::Plain => String::new(),
            DeviceShape::Functions(count) => format!(
                ",sriov_max_vfs={count},sriov_vq_flexible={},sriov_vi_flexible={count},max_ioqpairs=26,msix_qsize=32",
                2 * count
            ),
        };
        let bus = 32 + 16 * at;
        add("-device", format!("pxb-pcie,id=pxb{id},bus_nr={bus},bus=pcie.0,numa_node={id}"));
        add("-device", format!("pcie-root-port,id=rp{id},bus=pxb{id},chassis={}", at + 1));
        add("-device", format!("nvme-subsys,id=s{id}"));
        add("-device", format!("nvme,id=n{id},serial=node{id},subsys=s{id},bus=rp{id}{functions}"));
    }
    arguments
}

/// Words of the kernel's command line for a machine: its huge pages by node.
pub(crate) fn kernel_line(shape: &Shape) -> String {
    let pages: Vec<String> = shape
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| node.huge_pages > 0)
        .map(|(id, node)| format!("{id}:{}", node.huge_pages))
        .collect();
    if pages.is_empty() { String::new() } else { format!("hugepagesz=2M hugepages={}", pages.join(",")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(id: u64, package: Option<u64>, memory: u64) -> Value {
        let cores = if package.is_some() { 24 } else { 0 };
        json!({"id": id, "packages": package.into_iter().collect::<Vec<_>>(), "cores": cores, "memory": memory << 30,
            "distances": [10, 20, 30],
            "devices": [{"what": "Ethernet VF 8086", "count": 8}]})
    }

    const SCALE: Scale = Scale { cores: 2, memory: 1024 };

    #[test]
    fn a_node_without_anything_is_left_out() {
        let machine = json!({"machine": "m", "cores": 24, "cpus": 48,
            "nodes": [node(0, Some(3), 48), node(1, None, 0), node(2, None, 16)]});
        let shape = translate(&machine, SCALE).expect("a machine that QEMU can emulate");
        let rows: Vec<_> = shape
            .nodes
            .iter()
            .map(|node| (node.package, node.cores, node.memory, node.distances.clone()))
            .collect();
        assert_eq!(rows, [(Some(0), 2, 768, vec![10, 30]), (None, 0, 256, vec![10, 30])]);
        assert_eq!(kernel_line(&shape), "hugepagesz=2M hugepages=0:4,1:5");
        let arguments = arguments(&shape).join(" ");
        for part in [
            "-smp 4,sockets=1,cores=2,threads=2",
            "dist,src=1,dst=0,val=10",
            "numa_node=1",
            "sriov_max_vfs=4",
        ] {
            assert!(arguments.contains(part), "{part}: {arguments}");
        }
    }

    #[test]
    fn what_a_capture_lacks_is_as_plain_as_can_be() {
        let bare = |id| {
            let mut bare = node(id, Some(0), 0);
            (bare["memory"], bare["distances"]) = (Value::Null, Value::Null);
            bare
        };
        let machine = json!({"machine": "m", "cores": 48, "cpus": 48, "nodes": [bare(0), bare(1)]});
        let shape = translate(&machine, SCALE).expect("a machine that QEMU can emulate");
        let rows: Vec<_> = shape.nodes.iter().map(|node| (node.memory, node.distances.clone())).collect();
        assert_eq!(rows, [(512, vec![10, 20]), (512, vec![20, 10])]);
    }

    #[test]
    fn packages_of_different_size_are_refused() {
        let mut small = node(1, Some(1), 8);
        small["cores"] = json!(1);
        let machine = json!({"machine": "m", "cores": 25, "cpus": 25, "nodes": [node(0, Some(0), 8), small]});
        let error = translate(&machine, SCALE).expect_err("QEMU's packages are all alike");
        assert!(error.to_string().contains("packages of m differ"), "{error}");
    }
}
