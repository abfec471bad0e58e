//! What has to be reached, on ordinary machines and on those that the kubelet was not made for.

use anyhow::Context as _;
use node_config::Strategy;
use serde_json::{Value, json};

use crate::claims::ClaimsWork;
use crate::machines::{captured, devices, distances, made_up, pinned};
use crate::pods::{pod, residents};
use crate::work::{Merge, NodeWork, Task, Work, WorkHint};

/// Work, and what must be reached with it.
#[derive(Clone, Debug)]
pub struct Row {
    /// What is done.
    pub work: Work,
    /// What must be reached.
    pub target: Target,
}

/// What must be reached on an idle core of 2.5 GHz.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// In nanoseconds.
    pub nanoseconds: u64,
    /// How many allocations of memory at most; `None`: any.
    pub allocations: Option<u64>,
}

const fn within(nanoseconds: u64) -> Target {
    Target { nanoseconds, allocations: None }
}

/// With so many allocations as it has now: more of them would slow it down unnoticed.
const fn allocating(allocations: u64, nanoseconds: u64) -> Target {
    Target { nanoseconds, allocations: Some(allocations) }
}

const fn without_allocation(nanoseconds: u64) -> Target {
    Target { nanoseconds, allocations: Some(0) }
}

/// Every row of the table.
///
/// # Errors
/// A captured machine that cannot be read.
pub fn catalogue() -> anyhow::Result<Vec<Row>> {
    let row = |entry: Entry| {
        let work = Work { name: entry.name, task: (entry.task)()? };
        Ok(Row { work, target: entry.target })
    };
    entries().into_iter().map(row).collect()
}

/// The row of this name alone; nothing else is made.
///
/// # Errors
/// As [`catalogue`].
pub fn row(name: &str) -> anyhow::Result<Option<Work>> {
    let found = entries().into_iter().find(|entry| entry.name == name);
    found.map(|entry| Ok(Work { name: entry.name, task: (entry.task)()? })).transpose()
}

/// The names of those of which every instruction is counted, and which are compared with what they were.
pub fn hot_paths() -> impl Iterator<Item = String> {
    entries().into_iter().filter(|entry| !entry.name.starts_with("discovery")).map(|entry| entry.name)
}

/// A row that has not been made.
struct Entry {
    name: String,
    target: Target,
    task: Box<dyn FnOnce() -> anyhow::Result<Task>>,
}

fn entries() -> Vec<Entry> {
    let mut all = Vec::new();
    let mut add = |name: &str, target, task: Box<dyn FnOnce() -> anyhow::Result<Task>>| {
        all.push(Entry { name: name.to_owned(), target, task });
    };
    for (name, must_reach, (nodes, providers, hints)) in [
        ("merge, 2 nodes, 3 providers of 3 hints", 200, (2, 3, 3)),
        ("merge, 8 nodes, 3 providers of 255 hints", 15_000, (8, 3, 255)),
        ("merge, 8 nodes, 4 providers of 255 hints", 20_000, (8, 4, 255)),
    ] {
        let task = move || Ok(Task::Merge { merge: lists(nodes, providers, hints) });
        add(name, without_allocation(must_reach), Box::new(task));
    }
    add("CPU hints, 8 nodes", without_allocation(2_000), Box::new(|| Ok(Task::CpuHints(eight_nodes()))));
    add(
        "memory hints with 2 page sizes, 8 nodes",
        without_allocation(3_000),
        Box::new(|| Ok(Task::MemoryHints(eight_nodes()))),
    );
    add(
        "hints of 128 VFs on 8 nodes",
        without_allocation(5_000),
        Box::new(|| {
            let mut work = eight_nodes();
            work.devices = vec![devices("example.com/vf", 128, &[0, 1, 2, 3, 4, 5, 6, 7])];
            work.pod = pod("p", 1, &json!({"example.com/vf": "8"}));
            Ok(Task::DeviceHints(work))
        }),
    );
    for (order, option, target) in [
        ("packed", None, allocating(12, 20_000)),
        ("distributed", Some("distribute-cpus-across-numa"), allocating(44, 20_000)),
        ("by cache", Some("prefer-align-cpus-by-uncorecache"), allocating(11, 40_000)),
    ] {
        let task = move || Ok(Task::TakeCpus(sixteen_cpus(option)));
        add(&format!("take 16 CPUs of 512, {order}"), target, Box::new(task));
    }
    for (nodes, cpus, target) in [(2, 128, allocating(84, 30_000)), (8, 256, allocating(84, 100_000))] {
        let task = move || Ok(Task::Admit(four_containers(nodes, cpus)));
        add(&format!("admit 4 containers, {nodes} nodes"), target, Box::new(task));
    }
    // A debug build, as tests have it, checks the rows and the mix of keep-room, which allocates too.
    for (strategy, target) in
        [(Strategy::LowestNumber, allocating(158, 150_000)), (Strategy::KeepRoom, allocating(313, 250_000))]
    {
        let name = format!("admit 4 containers beside 100 others, 8 nodes, {}", strategy.name());
        let task = move || Ok(Task::Admit(beside_others(strategy)));
        add(&name, target, Box::new(task));
    }
    add(
        "admit 4 containers, GB200 tray of 34 nodes",
        allocating(90, 300_000),
        Box::new(|| Ok(Task::Admit(gb200()?))),
    );
    add(
        "admit 4 containers, 512-CPU EPYC of 32 nodes",
        allocating(118, 300_000),
        Box::new(|| Ok(Task::Admit(turin()?))),
    );
    add(
        "filter of 20 nodes unlike, new shape",
        within(3_000_000),
        Box::new(|| Ok(Task::Filter(nearly_full()))),
    );
    for (name, target, work) in claims() {
        add(name, within(target), Box::new(move || Ok(Task::Claims(work()))));
    }
    let archive = "turin-9755-nps4-l3numa-32node";
    add(
        "discovery of 512 CPUs from an archive",
        within(20_000_000),
        Box::new(|| Ok(Task::Discover { archive })),
    );
    all
}

/// A name, nanoseconds to reach, and the work.
type ClaimsRow = (&'static str, u64, fn() -> ClaimsWork);

/// Claims, decided from the pools on, with expressions that were compiled before.
fn claims() -> Vec<ClaimsRow> {
    vec![
        ("claim of 1 request, 16 devices", 50_000, || ClaimsWork::ordinary(&[2], true)),
        ("claim of 2 requests, 16 devices", 50_000, || ClaimsWork::ordinary(&[2, 4], true)),
        ("claim of 2 requests, 16 devices, refused", 50_000, || ClaimsWork::ordinary(&[5, 4], false)),
        ("claim of 6 CPUs then 1 GPU on one NUMA node", 10_000_000, || ClaimsWork::cpus_then_gpu(96, 6)),
        ("claim of 16 CPUs after 1 GPU on one NUMA node", 1_000_000, || ClaimsWork::gpu_then_cpus(128, 16)),
        ("claim of 6 NICs then 13 GPUs, refused", 10_000_000, || ClaimsWork::nics_then_gpus(12)),
        ("claim of 9 devices with 8 values to differ in", 10_000_000, || ClaimsWork::distinct(64, 8)),
        ("claim of 8 partitions then 7 of 8 GPUs, refused", 10_000_000, || {
            ClaimsWork::partitions(8, 8, 7, false)
        }),
        ("claim of 4 requests, 1000 devices in 20 classes", 5_000_000, || ClaimsWork::thousand(20)),
        ("claim of 4 requests, 250 devices all unlike, refused", 10_000_000, || ClaimsWork::unlike(250)),
    ]
}

fn eight_nodes() -> NodeWork {
    let asked = json!({"cpu": "16", "memory": "1Gi", "hugepages-2Mi": "2Mi", "hugepages-1Gi": "1Gi"});
    NodeWork::empty(made_up(8, 256), pinned("0", 8), pod("p", 1, &asked))
}

fn sixteen_cpus(option: Option<&str>) -> NodeWork {
    let mut config = pinned("0", 2);
    if let Some(option) = option {
        config["cpuManagerPolicyOptions"] = json!({option: "true"});
        config["featureGates"] = json!({"CPUManagerPolicyAlphaOptions": true});
    }
    NodeWork::empty(made_up(2, 512), config, pod("p", 1, &json!({"cpu": "16", "memory": "1Gi"})))
}

/// So many equal lists: the first `hints` node sets by size, single nodes preferred.
pub(crate) fn lists(nodes: usize, providers: usize, hints: usize) -> Merge {
    let mut sets: Vec<Vec<usize>> =
        (1_u64..1 << nodes).map(|set| (0..nodes).filter(|node| set >> node & 1 == 1).collect()).collect();
    sets.sort_by_key(Vec::len);
    let list: Vec<WorkHint> =
        sets.into_iter().take(hints).map(|nodes| WorkHint { preferred: nodes.len() == 1, nodes }).collect();
    Merge {
        policy: "best-effort",
        closest: false,
        distances: distances(nodes),
        providers: vec![list; providers],
    }
}

fn limits(cpus: &str) -> Value {
    json!({
        "cpu": cpus, "memory": "1Gi", "hugepages-2Mi": "64Mi", "example.com/gpu": "1", "example.com/nic": "1",
    })
}

/// CPUs, memory, huge pages and two kinds of devices, on a machine of nodes alike.
fn four_containers(nodes: usize, cpus: usize) -> NodeWork {
    let ids: Vec<i64> = (0..).take(nodes).collect();
    let mut work = NodeWork::empty(made_up(nodes, cpus), pinned("0", nodes), pod("p", 4, &limits("2")));
    work.devices = vec![devices("example.com/gpu", 16, &ids), devices("example.com/nic", 64, &ids)];
    work
}

/// The machine of eight nodes with pods on it, and a placement strategy.
fn beside_others(strategy: Strategy) -> NodeWork {
    NodeWork { residents: residents(100), strategy, ..four_containers(8, 256) }
}

/// The machine of eight nodes with few CPUs left.
fn nearly_full() -> NodeWork {
    let mut work = NodeWork { residents: residents(250), ..four_containers(8, 256) };
    work.pod = pod("p", 1, &json!({"cpu": "8", "memory": "1Gi"}));
    work
}

fn gb200() -> anyhow::Result<NodeWork> {
    let machine = captured("gb200-nvl4-34node", Some((&[0, 1], 8192))).context("the GB200 tray")?;
    let mut work = NodeWork::empty(machine, pinned("0", 34), pod("p", 4, &limits("8")));
    work.devices = vec![devices("example.com/gpu", 4, &[0, 1]), devices("example.com/nic", 4, &[0, 1])];
    Ok(work)
}

fn turin() -> anyhow::Result<NodeWork> {
    let ids: Vec<i64> = (0..32).collect();
    let machine = captured("turin-9755-nps4-l3numa-32node", Some((&ids, 1024))).context("the EPYC")?;
    let mut work = NodeWork::empty(machine, pinned("0", 32), pod("p", 4, &limits("8")));
    work.devices = vec![devices("example.com/gpu", 32, &ids), devices("example.com/nic", 64, &ids)];
    Ok(work)
}
