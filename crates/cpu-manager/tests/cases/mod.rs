//! Families whose allocations are counted, on a 512-CPU machine.
#![expect(clippy::unwrap_used, reason = "what is written down here is well formed")]

use std::hint::black_box;

use cpu_manager::{Config, Holdings, Reserved, Static};
use cpuset::CpuId;
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceList, ResourceName, Role, Unit};
use topology_hint::Answers;
use topology_model::{CacheId, CoreId, CpuCounts, CpuRow, CpuTable, NodeId, Nodes, SocketId};

/// One thing that is measured.
pub(crate) struct Case {
    pub(crate) name: String,
    run: Box<dyn Fn(&mut Answers)>,
}

impl Case {
    fn new(name: &str, run: impl Fn(&mut Answers) + 'static) -> Self {
        Self { name: name.to_owned(), run: Box::new(run) }
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
    for (name, pod) in [("container", pod("p", "8")), ("pod", pod("q", "70"))] {
        let policy = policy(8);
        let held = crowded(&policy, 100);
        cases.push(Case::new(&format!("family of a {name}, 8 nodes"), {
            let is_pod = name == "pod";
            move |answers| {
                answers.clear();
                let unit = if is_pod { Unit::Pod(&pod) } else { Unit::Container(&pod, &pod.containers[0]) };
                policy.hints(black_box(&held), unit, answers);
            }
        }));
    }
    cases
}
