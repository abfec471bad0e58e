//! A machine that is imagined to have more decides as one that has it.

use std::fs;
use std::path::{Path, PathBuf};

use kubelet_checkpoint::store::StateFile;
use node_input::{
    Addition, DeviceText, LoadedMachine, LoadedNode, MachineSource, ResidentsSource, RulesSource, state_of,
};
use node_state::{PodList, files};
use pod_spec::{Container, Pod, PodUid, ResourceList, Role};
use proptest::prelude::*;
use serde_json::{Value, json};
use topology_admission::{Ledger, Node, RunningPods, Verdict};

/// A machine in a few numbers.
#[derive(Clone, Debug)]
struct Shape {
    packages: usize,
    /// NUMA nodes of a package.
    nodes: usize,
    /// Caches of level 3 of a node, and cores of each.
    caches: usize,
    cores: usize,
    threads: usize,
    /// Whether threads of a core have numbers in a row.
    in_a_row: bool,
    gibibytes: u64,
    /// Huge pages of 1Gi of a node; `None`: the size does not exist.
    pages: Option<u64>,
    devices: usize,
}

/// So much more of the resource with this number on a node.
type More = (usize, usize, u64);

impl Shape {
    fn nodes(&self) -> usize {
        self.packages * self.nodes
    }

    /// The arguments: CPUs in whole cores, memory and huge pages in GiB, devices.
    fn arguments(&self, more: &[More]) -> Vec<Addition> {
        let text = |(what, node, count): &More| match what {
            0 => format!("cpu@{node}={}", count * self.threads as u64),
            1 => format!("memory@{node}={count}Gi"),
            2 => format!("hugepages-1Gi@{node}={count}Gi"),
            3 => format!("example.com/new@{node}={count}"),
            _ => format!("example.com/nic@{node}={count}"),
        };
        more.iter().map(|more| text(more).parse().unwrap()).collect()
    }

    /// The machine with that as cAdvisor reports it.
    fn machine(&self, more: &[More]) -> String {
        let per_node = self.caches * self.cores;
        let total = self.nodes() * per_node;
        let row = |first: usize, cores: usize, core: usize| -> Vec<usize> {
            // One core alone has them in a row in any case.
            let is_in_a_row = self.in_a_row || total == 1;
            let cpu = |thread| if is_in_a_row { core * self.threads + thread } else { thread * cores + core };
            (0..self.threads).map(|thread| first + cpu(thread)).collect()
        };
        let core = |cpus: Vec<usize>, id: usize, cache: usize, node: usize| {
            let cache = json!([{ "id": cache, "size": 1 << 25, "type": "Unified", "level": 3 }]);
            let uncore = if self.caches > 1 { cache } else { Value::Null };
            json!({ "core_id": id, "thread_ids": cpus, "uncore_caches": uncore, "socket_id": node / self.nodes })
        };
        let mut cores: Vec<Vec<Value>> = (0..self.nodes())
            .map(|node| {
                let of_node = node * per_node..(node + 1) * per_node;
                of_node.map(|at| core(row(0, total, at), at, at / self.cores, node)).collect()
            })
            .collect();
        let (mut cpus, mut ids, mut caches) = (total * self.threads, total, self.nodes() * self.caches);
        let sum = |what: usize, node: usize| {
            let of = more.iter().filter(|(other, on, _)| (*other, *on) == (what, node));
            of.map(|(.., count)| count).sum::<u64>()
        };
        let mut seen = Vec::new();
        for (what, node, _) in more {
            if *what != 0 || seen.contains(node) {
                continue;
            }
            seen.push(*node);
            let count = usize::try_from(sum(0, *node)).unwrap();
            for at in 0..count {
                cores[*node].push(core(row(cpus, count, at), ids + at, caches + at / self.cores, *node));
            }
            (cpus, ids, caches) =
                (cpus + count * self.threads, ids + count, caches + count.div_ceil(self.cores));
        }
        let has_pages = self.pages.is_some() || more.iter().any(|(what, ..)| *what == 2);
        let pages = |count: u64| has_pages.then(|| json!([{ "page_size": 1 << 20, "num_pages": count }]));
        let own_pages = |node| self.pages.unwrap_or(0) + sum(2, node);
        let memory = |node| (self.gibibytes + sum(1, node)) << 30;
        let topology = cores.into_iter().enumerate().map(|(node, cores)| {
            let distances: Vec<u64> =
                (0..self.nodes()).map(|other| if other == node { 10 } else { 20 }).collect();
            json!({
                "node_id": node, "memory": memory(node), "hugepages": pages(own_pages(node)),
                "cores": cores, "distances": distances,
            })
        });
        let topology: Vec<Value> = topology.collect();
        let all = 0..self.nodes();
        json!({
            "num_cores": cpus, "num_physical_cores": ids, "num_sockets": self.packages,
            "memory_capacity": all.clone().map(memory).sum::<u64>(),
            "hugepages": pages(all.map(own_pages).sum()), "topology": topology,
        })
        .to_string()
    }

    fn devices(&self, more: &[More]) -> String {
        let mut nics = Vec::new();
        for node in 0..self.nodes() {
            nics.extend(
                (0..self.devices).map(|at| json!({ "id": format!("nic-{node}-{at}"), "nodes": [node] })),
            );
        }
        let mut added = [Vec::new(), Vec::new()];
        for (what, node, count) in more.iter().filter(|(what, ..)| *what > 2) {
            let list = &mut added[what - 3];
            let before = list.iter().filter(|device: &&Value| device["nodes"][0] == *node).count() as u64;
            let ids = before..before + count;
            list.extend(ids.map(|at| json!({ "id": format!("added-{node}-{at}"), "nodes": [node] })));
        }
        let [new, nic] = added;
        nics.extend(nic);
        let mut all = vec![json!({ "resource": "example.com/nic", "list": nics })];
        if !new.is_empty() {
            all.push(json!({ "resource": "example.com/new", "list": new }));
        }
        json!({ "devices": all }).to_string()
    }
}

const CONFIG: &str = "\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: \"0\"
memoryManagerPolicy: Static
systemReserved: {memory: 924Mi}
reservedMemory:
- {numaNode: 0, limits: {memory: 1Gi}}
";

fn load(folder: &Path, name: &str, policy: &str, add: Vec<Addition>) -> anyhow::Result<LoadedNode> {
    let path = |end: &str| folder.join(format!("{name}{end}"));
    let machine = path(".json").display().to_string();
    let source = MachineSource { add, ..MachineSource::named(&machine) };
    let config = Some(folder.join("kubelet.yaml").display().to_string());
    let devices = Some(path("-devices.json"));
    let policy = Some(policy.to_owned());
    let rules = RulesSource { config, devices, policy, ..RulesSource::default() };
    let machine = LoadedMachine::load_node(&source)?;
    let devices = DeviceText::on(&rules, &source, &ResidentsSource::default())?;
    LoadedNode::on(&machine, &rules, devices)
}

fn write_state(root: &Path, node: &Node, ledger: &Ledger) {
    for file in [StateFile::Cpu, StateFile::Memory, StateFile::Device] {
        let path = root.join(file.path());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, files::text(file, node, ledger)).unwrap();
    }
}

fn ledger_of(node: &LoadedNode, root: PathBuf) -> anyhow::Result<Ledger> {
    let residents = ResidentsSource { state: Some(root), ..ResidentsSource::default() };
    Ok(node.residents(&residents)?.ledger)
}

/// CPUs, GiB, huge pages and devices that a pod asks for.
type Wish = (usize, u64, u64, u64);

fn pod(number: usize, (cpus, memory, pages, devices): Wish) -> Pod {
    let mut limits = ResourceList::new();
    let mut add = |name: &str, text: String| limits.insert(name.into(), text.parse().unwrap());
    add("cpu", cpus.to_string());
    add("memory", format!("{memory}Gi"));
    if pages > 0 {
        add("hugepages-1Gi", format!("{pages}Gi"));
    }
    if devices > 0 {
        add(if devices > 3 { "example.com/new" } else { "example.com/nic" }, devices.to_string());
    }
    let container = Container { name: "main".into(), role: Role::App, requests: limits.clone(), limits };
    let mut pod = Pod::new("default", &format!("p{number}"), vec![container]);
    pod.uid = PodUid::new(&format!("uid-{number}"));
    pod
}

fn decide(node: &Node, ledger: &Ledger, pod: &Pod) -> (Verdict, Ledger) {
    let attempt = node.admission(ledger, pod).attempt();
    let verdict = attempt.verdict.clone();
    (verdict, ledger.commit(attempt).unwrap())
}

fn shapes() -> impl Strategy<Value = Shape> {
    let counts = (1..3_usize, 1..3_usize, 1..3_usize, 1..5_usize, 1..3_usize);
    let rest = (any::<bool>(), 8..40_u64, prop::option::of(0..4_u64), 0..4_usize);
    (counts, rest).prop_map(
        |((packages, nodes, caches, cores, threads), (in_a_row, gibibytes, pages, devices))| Shape {
            packages,
            nodes,
            caches,
            cores,
            threads,
            in_a_row,
            gibibytes,
            pages,
            devices,
        },
    )
}

fn wishes(most: usize) -> impl Strategy<Value = Vec<Wish>> {
    prop::collection::vec((1..9_usize, 1..24_u64, 0..4_u64, 0..5_u64), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn an_imagined_machine_decides_as_a_real_one(
        shape in shapes(),
        more in prop::collection::vec((0..5_usize, 0..4_usize, 1..9_u64), 1..6),
        policy in prop::sample::select(vec!["none", "best-effort", "restricted", "single-numa-node"]),
        before in wishes(8),
        after in wishes(8),
    ) {
        let more: Vec<More> =
            more.into_iter().map(|(what, node, count)| (what, node % shape.nodes(), count)).collect();
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let write = |name: &str, text: String| fs::write(folder.join(name), text).unwrap();
        write("kubelet.yaml", CONFIG.to_owned());
        write("small.json", shape.machine(&[]));
        write("small-devices.json", shape.devices(&[]));
        write("large.json", shape.machine(&more));
        write("large-devices.json", shape.devices(&more));
        let small = load(folder, "small", policy, Vec::new()).unwrap();
        let imagined = load(folder, "small", policy, shape.arguments(&more));
        // Huge pages take memory, of which there may be too little.
        prop_assume!(imagined.is_ok());
        let (imagined, large) = (imagined.unwrap(), load(folder, "large", policy, Vec::new()).unwrap());
        prop_assert!(imagined.decides_as(&large), "{:?}\n{:?}", imagined.view(), large.view());
        prop_assert!(!small.decides_as(&large));
        // What the kubelet of the small machine has written.
        let mut ledger = small.empty_ledger();
        for (number, wish) in before.iter().enumerate() {
            ledger = decide(&small.node, &ledger, &pod(number, *wish)).1;
        }
        write_state(&folder.join("small"), &small.node, &ledger);
        let found = ledger_of(&imagined, folder.join("small"));
        // Pods can hold the memory that huge pages would take.
        prop_assume!(found.as_ref().err().is_none_or(|error| !error.to_string().contains("hugepages")));
        let mut found = found.unwrap();
        // The same on the large machine: its books, from what is held.
        let plan = state_of(&folder.join("small")).unwrap().plan_repair(&large.node, &PodList::Unknown).unwrap();
        let stored = large.node.restore(plan.start.stored, RunningPods::default()).unwrap();
        write_state(&folder.join("large"), &large.node, &stored.with_inventory(large.inventory.clone()));
        let mut expected = ledger_of(&large, folder.join("large")).unwrap();
        prop_assert_eq!(found.cpus(), expected.cpus());
        prop_assert_eq!(found.memory(), expected.memory());
        for (number, wish) in after.iter().enumerate() {
            let pod = pod(100 + number, *wish);
            let (verdict, next) = decide(&imagined.node, &found, &pod);
            let (as_large, next_large) = decide(&large.node, &expected, &pod);
            prop_assert_eq!(&verdict, &as_large, "{:?} {:?}", wish, more);
            (found, expected) = (next, next_large);
        }
    }
}
