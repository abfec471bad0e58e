//! `cargo xtask hint-costs`: how long the kubelet's own code takes to walk sets of NUMA nodes and to merge hints, for
//! the constants of `crates/config-advice/src/cost.rs`.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use fs_err as fs;
use serde::Deserialize;
use serde_json::{Value, json};
use workspace_tools::kubelet::go_build;
use workspace_tools::workspace::target;

/// Measures what a kubelet's hints cost for each set of NUMA nodes and each combination. Needs Go.
#[derive(Debug, clap::Args)]
pub(crate) struct HintCosts {}

/// A piece of work, and by how much its time is divided.
struct Work {
    name: String,
    of: &'static str,
    steps: f64,
    described: Value,
}

#[derive(Deserialize)]
struct Timed {
    name: String,
    ns_per_op: Option<f64>,
}

impl HintCosts {
    #[expect(clippy::unused_self, reason = "every command is run alike")]
    #[expect(clippy::print_stdout, reason = "the output of the command")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let program = go_build(&["admission"])?.join("admission");
        let work = all();
        let described: String = work.iter().map(|own| format!("{}\n", own.described)).collect();
        let input = target().join("hint-costs.jsonl");
        fs::write(&input, described)?;
        let mut child = Command::new(&program)
            .args(["bench", "-limit", "20s", "-each", "200ms"])
            .stdin(fs::File::open(&input)?.into_file())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("failed to start {}", program.display()))?;
        let output = child.stdout.take().context("the program has no output")?;
        println!("{:<24} {:>14} {:>10}  for each", "WORK", "NANOSECONDS", "EACH");
        for line in BufReader::new(output).lines() {
            let timed: Timed = serde_json::from_str(&line?)?;
            let own = work.iter().find(|own| own.name == timed.name).context("no such work")?;
            match timed.ns_per_op {
                Some(all) => println!("{:<24} {all:>14.0} {:>10.1}  {}", own.name, all / own.steps, own.of),
                None => println!("{:<24} not finished in time", own.name),
            }
        }
        let status = child.wait()?;
        ensure!(status.success(), "the kubelet's side failed: {status}");
        Ok(())
    }
}

fn all() -> Vec<Work> {
    let mut all = Vec::new();
    for (nodes, cores) in [(4, 8), (8, 8), (8, 64), (12, 8), (12, 16), (14, 8), (16, 8), (16, 16)] {
        let name = format!("{nodes} nodes, {} CPUs", nodes * cores);
        let steps = sets(nodes) * f64::from(nodes * cores);
        let described = hints(&name, "cpuHints", nodes, cores);
        all.push(Work { name, of: "CPU in a set of nodes", steps, described });
    }
    for nodes in [4, 8, 12, 16, 18, 20] {
        let name = format!("{nodes} nodes' memory");
        let described = hints(&name, "memoryHints", nodes, 2);
        all.push(Work { name, of: "set of nodes", steps: sets(nodes), described });
    }
    for (nodes, lists) in [(6, 1), (6, 2), (6, 3), (7, 2), (7, 3), (8, 1), (8, 2)] {
        let name = format!("{lists} lists on {nodes} nodes");
        let described = merge(&name, nodes, lists);
        all.push(Work { name, of: "combination", steps: sets(nodes).powi(lists), described });
    }
    all
}

fn sets(nodes: i32) -> f64 {
    f64::from(nodes).exp2() - 1.0
}

/// One container of two CPUs and 1Gi on a machine of nodes that are alike.
fn hints(name: &str, kind: &str, nodes: i32, cores: i32) -> Value {
    const MEMORY: i64 = 64 << 30;
    let core =
        |node: i32, core: i32| json!({"core_id": core, "socket_id": 0, "thread_ids": [node * cores + core]});
    let node = |id: i32| {
        let own: Vec<Value> = (0..cores).map(|at| core(id, at)).collect();
        json!({"node_id": id, "memory": MEMORY, "cores": own, "distances": distances(nodes)[usize::try_from(id).unwrap_or(0)]})
    };
    let topology: Vec<Value> = (0..nodes).map(node).collect();
    let amounts = json!({"cpu": "2", "memory": "1Gi"});
    json!({
        "name": name,
        "kind": kind,
        "machine": {
            "num_cores": nodes * cores,
            "num_physical_cores": nodes * cores,
            "num_sockets": 1,
            "memory_capacity": MEMORY * i64::from(nodes),
            "topology": topology,
        },
        "config": {
            "cpuManagerPolicy": "static",
            "reservedSystemCPUs": "0",
            "memoryManagerPolicy": "Static",
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
            "topologyManagerPolicy": "restricted",
            "topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "64"},
        },
        "pod": {
            "metadata": {"name": "p", "uid": "p", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "resources": {"requests": amounts, "limits": amounts}}]},
        },
    })
}

/// Lists with a hint for every set of nodes.
fn merge(name: &str, nodes: i32, lists: i32) -> Value {
    let hint = |set: u32| {
        let members: Vec<i32> = (0..nodes).filter(|node| set >> node & 1 == 1).collect();
        json!({"nodes": members, "preferred": members.len() == 1})
    };
    let list: Vec<Value> = (1..1_u32 << nodes).map(hint).collect();
    let providers: Vec<&Vec<Value>> = (0..lists).map(|_| &list).collect();
    let merge = json!({"policy": "restricted", "distances": distances(nodes), "providers": providers});
    json!({"name": name, "kind": "merge", "merge": merge})
}

fn distances(nodes: i32) -> Vec<Vec<u64>> {
    let row = |from: i32| (0..nodes).map(|to| if from == to { 10 } else { 20 }).collect();
    (0..nodes).map(row).collect()
}
