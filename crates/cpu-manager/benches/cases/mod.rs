//! What is measured: a 512-CPU machine in three states, and what must be reached on it.
#![expect(clippy::unwrap_used, reason = "what is written down here is well formed")]

use std::hint::black_box;

use cpu_manager::{Allocator, BusySibling, Config, Holdings, Options, Order, Reserved, Static, WholeCores};
use cpuset::{CpuId, CpuSet};
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceList, ResourceName, Role, Unit};
use topology_hint::Answers;
use topology_model::{CacheId, CoreId, CpuCounts, CpuRow, CpuTable, NodeId, Nodes, SocketId};

/// One thing that is measured.
pub(crate) struct Case {
    pub(crate) name: String,
    /// In nanoseconds.
    pub(crate) must_reach: u64,
    pub(crate) allocates: Allocates,
    run: Box<dyn Fn(&mut Answers)>,
}

/// Whether memory may be allocated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allocates {
    Nothing,
    Something,
}

impl Case {
    fn new(name: &str, must_reach: u64, allocates: Allocates, run: impl Fn(&mut Answers) + 'static) -> Self {
        Self { name: name.to_owned(), must_reach, allocates, run: Box::new(run) }
    }

    /// `answers` is the room to work in.
    pub(crate) fn run(&self, answers: &mut Answers) {
        (self.run)(answers);
    }
}

/// 2 sockets of 128 two-thread cores, in nodes of equal size with caches of 8 cores.
pub(crate) fn machine(nodes: usize) -> CpuTable {
    let row = |cpu: usize| {
        let core = cpu % 256;
        let id = |number: usize| i64::try_from(number).unwrap();
        CpuRow {
            cpu: CpuId::new(cpu).unwrap(),
            core: CoreId(id(core)),
            socket: SocketId(id(core / 128)),
            node: NodeId(id(core * nodes / 256)),
            cache: CacheId(id(core / 8)),
        }
    };
    CpuTable::from_rows(CpuCounts { cpus: 512, cores: 256, sockets: 2 }, (0..512).map(row))
}

pub(crate) fn policy(nodes: usize) -> Static {
    let cpus = machine(nodes);
    let config = Config { reserved: Reserved::count(4), ..Config::default() };
    Static::new(&cpus, &all_nodes(&cpus), config).unwrap()
}

fn all_nodes(cpus: &CpuTable) -> Nodes {
    Nodes::new(cpus.nodes().map(|(id, _)| id)).unwrap()
}

/// Free sets: of a new node, of one with every third core taken, of one with single CPUs taken all over.
fn states() -> [(&'static str, CpuSet); 3] {
    let cpus =
        |keep: fn(usize) -> bool| (0..512).filter(move |cpu| keep(*cpu)).map(|cpu| CpuId::new(cpu).unwrap());
    [
        ("empty", cpus(|_| true).collect()),
        ("two thirds free", cpus(|cpu| cpu % 256 % 3 != 0).collect()),
        ("fragmented", cpus(|cpu| cpu * 7919 % 13 > 4).collect()),
    ]
}

pub(crate) fn pod(uid: &str, cpus: &str) -> Pod {
    let amounts: ResourceList = [("cpu", cpus), ("memory", "1Gi")]
        .map(|(name, amount)| (ResourceName::new(name), amount.parse().unwrap()))
        .into();
    let container = Container {
        name: ContainerName::new("app"),
        role: Role::App,
        requests: amounts.clone(),
        limits: amounts,
    };
    Pod { uid: PodUid::new(uid), ..Pod::new("default", uid, vec![container]) }
}

/// A node with so many pods of one CPU.
pub(crate) fn crowded(policy: &Static, pods: usize) -> Holdings {
    let mut held = policy.initial();
    for at in 0..pods {
        let pod = pod(&format!("8e0cbd5e-6f5f-4a3e-9d57-0000{at:08}"), "1");
        let near = topology_hint::Affinity::Any;
        held = policy.allocate(&held, &pod, &pod.containers[0], near).unwrap().after;
    }
    held
}

pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for (state, free) in states() {
        for (order, count, must_reach) in [
            (Order::Packed, 2, 3_000),
            (Order::Packed, 16, 20_000),
            (Order::AcrossNodes, 16, 20_000),
            (Order::ByCache, 16, 40_000),
            (Order::AcrossCores, 16, 20_000),
        ] {
            let allocator = Allocator::new(&machine(8), order, WholeCores::NotRequired, BusySibling::Skip);
            let free = free.clone();
            let name = format!("take {count} of 512, {order:?}, {state}");
            cases.push(Case::new(&name, must_reach, Allocates::Something, move |_| {
                black_box(allocator.take(black_box(&free), count)).unwrap();
            }));
        }
        for whole_cores in [WholeCores::NotRequired, WholeCores::Required] {
            let allocator = Allocator::new(&machine(32), Order::AcrossNodes, whole_cores, BusySibling::Skip);
            let free = free.clone();
            let name = format!("take 200 of 512 over 32 nodes, whole cores {whole_cores:?}, {state}");
            cases.push(Case::new(&name, 5_000_000, Allocates::Something, move |_| {
                black_box(allocator.take(black_box(&free), 200)).unwrap();
            }));
        }
    }
    for (name, pod) in [("container", pod("p", "8")), ("pod", pod("q", "70"))] {
        let policy = policy(8);
        let held = crowded(&policy, 100);
        cases.push(Case::new(&format!("family of a {name}, 8 nodes"), 2_000, Allocates::Nothing, {
            let is_pod = name == "pod";
            move |answers| {
                answers.clear();
                let unit = if is_pod { Unit::Pod(&pod) } else { Unit::Container(&pod, &pod.containers[0]) };
                policy.hints(black_box(&held), unit, answers);
            }
        }));
    }
    let (cpus, config) = (machine(8), Config { reserved: Reserved::count(4), ..Config::default() });
    let nodes = all_nodes(&cpus);
    cases.push(Case::new("policy of 512 CPUs", 1_000_000, Allocates::Something, move |_| {
        let options = Options { order: Order::ByCache, ..Options::default() };
        black_box(Static::new(black_box(&cpus), &nodes, Config { options, ..config.clone() })).unwrap();
    }));
    cases
}
