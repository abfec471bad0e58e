//! Families whose allocations are counted: on machines of 8 and 34 nodes with two sizes of huge pages, in several states.
#![expect(clippy::unwrap_used, reason = "what is written down here is well formed")]

use std::hint::black_box;

use k8s_quantity::{Format, Quantity};
use memory_manager::{Config, Holdings, Opinion, Reservation, Reservations, Static};
use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceList, ResourceName, Role, Unit};
use topology_hint::{Affinity, Answers, Hint, Preference};
use topology_model::{HugePages, NodeId, NodeMemory, Nodes};

const GI: u64 = 1 << 30;

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

/// How much nodes differ.
#[derive(Clone, Copy)]
enum Nodewise {
    /// Not at all.
    Alike,
    /// Every other node has huge pages, and a third of the nodes have little memory besides: so no single node has
    /// most of everything.
    Mixed,
}

/// 256Gi a node, 32Gi of it in pages of 2Mi and 64Gi in pages of 1Gi; 1Gi of the first is kept.
fn machine(nodes: usize, nodewise: Nodewise) -> Static {
    let pages = |id: usize| match nodewise {
        Nodewise::Alike => (64, 16 << 10),
        Nodewise::Mixed => ([96, 0][id % 2], [0, 24 << 10, 8 << 10][id % 3]),
    };
    let memory = |id: usize| match nodewise {
        Nodewise::Mixed if id % 3 == 1 => 208 * GI,
        Nodewise::Alike | Nodewise::Mixed => 256 * GI,
    };
    let node = |id: usize| {
        let (large, small) = pages(id);
        NodeMemory {
            id: NodeId(i64::try_from(id).unwrap()),
            memory: memory(id),
            hugepages: vec![
                HugePages { page_size_kib: 2048, num_pages: small },
                HugePages { page_size_kib: 1 << 20, num_pages: large },
            ],
            distances: None,
        }
    };
    let memory: Vec<_> = (0..nodes).map(node).collect();
    let kept = ResourceList::from([("memory".into(), bytes(GI))]);
    let reserved = Reservations(vec![Reservation { node: NodeId(0), limits: kept.clone() }]);
    let config = Config { reserved, node_allocatable: kept, ..Config::default() };
    Static::new(&Nodes::new(memory.iter().map(|node| node.id)).unwrap(), &memory, &config).unwrap()
}

fn bytes(bytes: u64) -> Quantity {
    Quantity::from_units(bytes.cast_signed(), Format::BinarySi)
}

/// A pod of one container with so many Gi of memory, pages of 1Gi and pages of 2Mi.
fn pod(uid: &str, amounts: [u64; 3]) -> Pod {
    pod_of(uid, vec![container("app", Role::App, amounts)])
}

fn pod_of(uid: &str, containers: Vec<Container>) -> Pod {
    Pod { uid: PodUid::new(uid), ..Pod::new("default", uid, containers) }
}

fn container(name: &str, role: Role, [memory, large, small]: [u64; 3]) -> Container {
    let amounts: ResourceList = [
        ("cpu", bytes(2)),
        ("memory", bytes(memory * GI)),
        ("hugepages-1Gi", bytes(large * GI)),
        ("hugepages-2Mi", bytes(small * GI)),
    ]
    .map(|(name, amount)| (ResourceName::new(name), amount))
    .into();
    Container { name: ContainerName::new(name), role, requests: amounts.clone(), limits: amounts }
}

/// A node with so many pods of 1Gi each on every fourth node, and one on a group of the last two.
fn crowded(policy: &Static, nodes: usize, pods: usize) -> Holdings {
    let near = |nodes: &[usize]| Hint {
        affinity: Affinity::Nodes(nodes.iter().map(|node| NodeIndex::new(*node).unwrap()).collect()),
        preference: Preference::Acceptable,
    };
    let mut held = policy.initial();
    let mut admit = |uid: &str, amounts, near| {
        let pod = pod(uid, amounts);
        held = policy.allocate(&held, &pod, &pod.containers[0], near).unwrap().after;
    };
    for at in 0..pods {
        let uid = format!("8e0cbd5e-6f5f-4a3e-9d57-0000{at:08}");
        admit(&uid, [1, 0, 0], near(&[at % (nodes / 4) * 4]));
    }
    admit("8e0cbd5e-6f5f-4a3e-9d57-000100000000", [200, 0, 0], near(&[nodes - 2, nodes - 1]));
    held
}

pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for nodes in [8, 34] {
        for (kind, nodewise) in [("alike", Nodewise::Alike), ("mixed", Nodewise::Mixed)] {
            for (state, pods) in [("empty", None), ("100 pods", Some(100))] {
                let policy = machine(nodes, nodewise);
                let held = pods.map_or_else(|| policy.initial(), |pods| crowded(&policy, nodes, pods));
                for (size, amounts) in [("one node", [2, 2, 2]), ("several", [300, 90, 40])] {
                    let name = format!("family for {size}, {nodes} nodes {kind}, {state}");
                    let (policy, held, pod) = (policy.clone(), held.clone(), pod("new", amounts));
                    cases.push(Case::new(&name, move |answers| {
                        answers.clear();
                        let unit = Unit::Container(&pod, &pod.containers[0]);
                        assert_eq!(policy.hints(black_box(&held), unit, answers), Opinion::Given);
                    }));
                }
            }
        }
    }
    cases.push(whole_pod());
    for nodes in [8, 34] {
        let policy = machine(nodes, Nodewise::Alike);
        let held = crowded(&policy, nodes, 100);
        let pod = pod("new", [2, 2, 2]);
        let near = Hint {
            affinity: Affinity::Nodes(NodeMask::all(2).without(NodeIndex::new(0).unwrap())),
            preference: Preference::Preferred,
        };
        let after = policy.allocate(&held, &pod, &pod.containers[0], near).unwrap().after;
        let name = format!("family of what is booked, {nodes} nodes, 100 pods");
        cases.push(Case::new(&name, {
            let (policy, after, pod) = (policy.clone(), after.clone(), pod.clone());
            move |answers| {
                answers.clear();
                let unit = Unit::Container(&pod, &pod.containers[0]);
                assert_eq!(policy.hints(black_box(&after), unit, answers), Opinion::Given);
            }
        }));
    }
    cases
}

/// The family of a pod with containers of every role.
fn whole_pod() -> Case {
    let policy = machine(8, Nodewise::Mixed);
    let held = crowded(&policy, 8, 100);
    let containers = [("init", Role::Init), ("proxy", Role::Sidecar), ("app", Role::App), ("log", Role::App)];
    let containers = containers.map(|(name, role)| container(name, role, [40, 10, 5]));
    let pod = pod_of("new", containers.into());
    Case::new("family for a pod of 4 containers, 8 nodes mixed, 100 pods", {
        move |answers| {
            answers.clear();
            assert_eq!(policy.hints(black_box(&held), Unit::Pod(&pod), answers), Opinion::Given);
        }
    })
}
