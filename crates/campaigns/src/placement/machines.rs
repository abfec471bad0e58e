//! Six machines with 2 to 32 NUMA nodes that have CPUs.

use anyhow::{Context as _, ensure};
use cpuset::CpuSet;
use serde::Deserialize;
use workspace_tools::workspace::cargo;

/// The program without what speaks with clusters, which no simulation needs.
pub(super) const TOPOLET: &[&str] =
    &["run", "--release", "--quiet", "-p", "topolet", "--no-default-features", "--"];

pub(super) const MACHINES: [&str; 6] = [
    "xeon-2s-96cpu-sriov",
    "gb200-nvl4-34node",
    "mi300a-4apu-4node",
    "spr-8480-snc4-8node",
    "milan-7763-l3numa-16node",
    "turin-9755-nps4-l3numa-32node",
];

/// A NUMA node with CPUs.
#[derive(Debug)]
pub(super) struct NumaNode {
    pub(super) id: i64,
    pub(super) cpus: u64,
    pub(super) bytes: u64,
}

#[derive(Deserialize)]
struct Topology {
    nodes: Vec<Described>,
}

#[derive(Deserialize)]
struct Described {
    id: i64,
    cpus: String,
    memory: u64,
}

/// The NUMA nodes of a built-in machine that have CPUs.
pub(super) fn nodes(machine: &str) -> anyhow::Result<Vec<NumaNode>> {
    let mut command = cargo(&[TOPOLET, &["topology", "-o", "json", "--machine"]].concat());
    let output = command.arg(machine).output().context("cargo cannot be started")?;
    ensure!(output.status.success(), "{machine}: {}", String::from_utf8_lossy(&output.stderr));
    let topology: Topology = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("`topolet topology` of {machine} is no JSON"))?;
    let mut nodes = Vec::new();
    for Described { id, cpus, memory } in topology.nodes {
        let cpus: CpuSet = cpus.parse().with_context(|| format!("CPUs of NUMA node {id} of {machine}"))?;
        if !cpus.is_empty() {
            nodes.push(NumaNode { id, cpus: cpus.len() as u64, bytes: memory });
        }
    }
    Ok(nodes)
}
