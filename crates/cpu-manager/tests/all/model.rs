//! Random lives of nodes, on every machine there is and on some odd ones: after each step every CPU is accounted for
//! once, and belongs to one pod.

use std::sync::LazyLock;

use cpu_manager::{
    Alignment, CacheAlignment, Config, Fit, Granted, Holdings, Options, Order, PodGranted, PodLevel,
    Reserved, ReservedCpus, Static, WholeCores,
};
use cpuset::{CpuId, CpuSet};
use numa_bitmask::NodeMask;
use pod_spec::{Container, ContainerName, Pod, PodResources, PodUid, ResourceList, ResourceName, Role, Unit};
use proptest::prelude::*;
use topology_discovery::SysfsTree;
use topology_hint::{Affinity, Answer, Answers};
use topology_model::{CacheId, CoreId, CpuCounts, CpuRow, CpuTable, KubeletView, NodeId, Nodes, SocketId};

/// A machine with the nodes that have no CPUs.
struct Machine {
    name: String,
    cpus: CpuTable,
    nodes: Nodes,
}

static MACHINES: LazyLock<Vec<Machine>> = LazyLock::new(|| {
    let captured = machine_fixtures::names().map(|name| {
        let archive = machine_fixtures::archive(name).expect("a name of the list");
        let tree = SysfsTree::archive(archive).expect("an archive of the list");
        let found = topology_discovery::read(&tree).expect("a machine of the list");
        let view = KubeletView::new(&found.info).expect("as the kubelet sees it");
        Machine { name: name.into(), cpus: view.cpus().clone(), nodes: view.nodes().clone() }
    });
    let captured: Vec<_> = captured.collect();
    let offline = captured.iter().filter(|machine| machine.cpus.all().len() <= 128).map(without_some);
    let offline: Vec<_> = offline.collect();
    captured.into_iter().chain(offline).chain([hybrid(), one_cpu_nodes()]).collect()
});

/// The machine with every fifth CPU offline, and so some cores with fewer threads than others.
fn without_some(machine: &Machine) -> Machine {
    let rows: Vec<_> = machine.cpus.rows().filter(|row| row.cpu.get() % 5 != 3).copied().collect();
    built(&format!("{}, some CPUs offline", machine.name), rows)
}

/// Cores with two threads and with one: on average one.
fn hybrid() -> Machine {
    let row = |cpu: usize| {
        let core = if cpu < 8 { cpu / 2 * 2 } else { cpu };
        row(cpu, core, 0, 0)
    };
    built("hybrid", (0..14).map(row).collect())
}

fn one_cpu_nodes() -> Machine {
    built("one-CPU nodes", (0..6).map(|cpu| row(cpu, cpu, cpu / 3, cpu)).collect())
}

fn row(cpu: usize, core: usize, socket: usize, node: usize) -> CpuRow {
    let id = |number: usize| i64::try_from(number).expect("a small number");
    CpuRow {
        cpu: CpuId::new(cpu).expect("a small number"),
        core: CoreId(id(core)),
        socket: SocketId(id(socket)),
        node: NodeId(id(node)),
        cache: CacheId(id(socket)),
    }
}

fn built(name: &str, rows: Vec<CpuRow>) -> Machine {
    let count = |mut ids: Vec<i64>| {
        ids.sort_unstable();
        ids.dedup();
        ids.len()
    };
    let counts = CpuCounts {
        cpus: rows.len(),
        cores: count(rows.iter().map(|row| row.core.0).collect()),
        sockets: count(rows.iter().map(|row| row.socket.0).collect()),
    };
    let cpus = CpuTable::from_rows(counts, rows);
    let nodes = Nodes::new(cpus.nodes().map(|(id, _)| id)).expect("few nodes");
    Machine { name: name.into(), cpus, nodes }
}

/// What happens next on a node. Numbers choose, of whatever there is.
#[derive(Clone, Debug)]
enum Step {
    /// A pod comes, container by container.
    Admit { containers: Vec<(Role, u8)>, near: u8 },
    /// A pod with pod-level resources comes as a whole.
    AdmitWhole { containers: Vec<(Role, u8)>, budget: u8, near: u8 },
    /// A pod that is there is admitted again.
    Again { which: u8 },
    /// A container is removed.
    Remove { which: u8 },
    /// Pods go.
    Collect { which: u8 },
    /// The kubelet restarts.
    Restart,
}

fn any_step() -> impl Strategy<Value = Step> {
    let containers = || {
        let role = prop_oneof![Just(Role::Init), Just(Role::Sidecar), Just(Role::App), Just(Role::App)];
        // Init containers come first.
        prop::collection::vec((role, 0..=9_u8), 1..5).prop_map(|mut containers| {
            containers.sort_by_key(|(role, _)| *role == Role::App);
            containers
        })
    };
    prop_oneof![
        6 => (containers(), any::<u8>()).prop_map(|(containers, near)| Step::Admit { containers, near }),
        4 => (containers(), 1..20_u8, any::<u8>())
            .prop_map(|(containers, budget, near)| Step::AdmitWhole { containers, budget, near }),
        2 => any::<u8>().prop_map(|which| Step::Again { which }),
        2 => any::<u8>().prop_map(|which| Step::Remove { which }),
        3 => any::<u8>().prop_map(|which| Step::Collect { which }),
        1 => Just(Step::Restart),
    ]
}

fn any_config() -> impl Strategy<Value = Config> {
    let order = prop_oneof![
        Just(Order::Packed),
        Just(Order::ByCache),
        Just(Order::AcrossCores),
        Just(Order::AcrossNodes)
    ];
    let options = (order, any::<[bool; 4]>()).prop_map(|(order, [whole, strict, socket, cache])| {
        let choose = |on| if on { CacheAlignment::Required } else { CacheAlignment::BestEffort };
        let options = Options {
            order,
            whole_cores: if whole { WholeCores::Required } else { WholeCores::NotRequired },
            reserved: if strict { ReservedCpus::SystemOnly } else { ReservedCpus::InSharedPool },
            alignment: if socket { Alignment::BySocket } else { Alignment::ByNode },
        };
        (options, choose(cache))
    });
    let pod_level = prop_oneof![Just(PodLevel::NotPinned), Just(PodLevel::Managed)];
    let fit = prop_oneof![Just(Fit::First), Just(Fit::Best)];
    (options, pod_level, fit, 1..5_usize).prop_map(
        |((options, cache_alignment), pod_level, fit, reserved)| Config {
            options,
            cache_alignment,
            fit,
            pod_level,
            reserved: Reserved::count(reserved),
            ..Config::default()
        },
    )
}

/// One node and the pods that were admitted.
struct Node<'a> {
    machine: &'a Machine,
    policy: Static,
    held: Holdings,
    pods: Vec<Pod>,
    named: usize,
}

impl Node<'_> {
    fn near(&self, near: u8) -> Affinity {
        match near % 3 {
            0 => Affinity::Any,
            1 => Affinity::Nodes(NodeMask::from_bits(1 << (usize::from(near) % self.machine.nodes.len()))),
            _ => Affinity::Nodes(NodeMask::from_bits(u64::from(near)) & self.machine.nodes.all()),
        }
    }

    /// Each container with so many CPUs: zero is none, nine half of one.
    fn pod(&mut self, containers: &[(Role, u8)]) -> Pod {
        self.named += 1;
        let containers = containers.iter().enumerate().map(|(at, &(role, cpus))| {
            let cpu = match cpus {
                0 => None,
                9 => Some("500m".to_owned()),
                cpus => Some(cpus.to_string()),
            };
            let requests = amounts(cpu.as_deref());
            let name = ContainerName::new(&format!("c{at}"));
            Container { name, role, limits: requests.clone(), requests }
        });
        let uid = format!("p{}", self.named);
        Pod { uid: PodUid::new(&uid), ..Pod::new("default", &uid, containers.collect()) }
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Admit { containers, near } => {
                let pod = self.pod(containers);
                self.admit(&pod, *near)?;
                self.pods.push(pod);
            }
            Step::AdmitWhole { containers, budget, near } => {
                let mut pod = self.pod(containers);
                let amounts = amounts(Some(&budget.to_string()));
                pod.resources = Some(PodResources { requests: amounts.clone(), limits: amounts });
                if self.policy.allocates_whole(&pod) {
                    self.admit_whole(&pod, *near)?;
                    self.pods.push(pod);
                }
            }
            Step::Again { which } => {
                let at = usize::from(*which) % self.pods.len().max(1);
                let Some(pod) = self.pods.get(at).cloned() else { return Ok(()) };
                let before = self.held.shared().clone();
                if self.policy.allocates_whole(&pod) {
                    let was_there = self.held.whole_pod(&pod.uid).is_some();
                    self.admit_whole(&pod, *which)?;
                    prop_assert!(!was_there || before == *self.held.shared(), "it keeps what it has");
                } else {
                    self.admit(&pod, *which)?;
                }
            }
            Step::Remove { which } => {
                let all: Vec<_> =
                    self.held.iter().map(|(pod, name, _)| (pod.clone(), name.clone())).collect();
                if let Some((pod, name)) = all.get(usize::from(*which) % all.len().max(1)) {
                    self.held = self.held.release(pod, name);
                }
            }
            Step::Collect { which } => {
                let mut at = 0;
                self.pods.retain(|_| {
                    at += 1;
                    at % 3 != usize::from(*which) % 3
                });
                self.held = self.held.retain(|pod, _| self.pods.iter().any(|it| it.uid == *pod));
            }
            Step::Restart => {
                let containers =
                    self.held.iter().map(|(pod, name, cpus)| (pod.clone(), name.clone(), cpus.clone()));
                let whole = self.held.whole_pods().map(|(pod, cpus)| (pod.clone(), cpus.clone()));
                let stored = Holdings::new(self.held.shared().clone(), containers).with_whole_pods(whole);
                let restored = self.policy.restore(stored.clone());
                prop_assert_eq!(restored.as_ref(), Ok(&stored), "a node can start from what it had");
                self.held = stored;
            }
        }
        Ok(())
    }

    fn admit(&mut self, pod: &Pod, near: u8) -> Result<(), TestCaseError> {
        for container in &pod.containers {
            let near = self.near(near);
            let had = self.held.assigned(&pod.uid, &container.name).cloned();
            let outcome = self.policy.allocate(&self.held, pod, container, near);
            prop_assert_eq!(&outcome, &self.policy.allocate(&self.held, pod, container, near));
            let Ok(allocation) = outcome else { break };
            if let (Granted::Exclusive(cpus), None) = (&allocation.granted, had) {
                prop_assert_eq!(Some(cpus.len()), self.policy.asked(Unit::Container(pod, container)));
            }
            self.held = allocation.after;
        }
        Ok(())
    }

    fn admit_whole(&mut self, pod: &Pod, near: u8) -> Result<(), TestCaseError> {
        let before = self.held.clone();
        let near = self.near(near);
        match self.policy.allocate_pod_in(&mut self.held, pod, near).granted {
            Err(_) => prop_assert_eq!(&self.held, &before, "a failed pod holds nothing"),
            Ok(granted) => {
                if let PodGranted::Bubble { cpus, containers } = &granted {
                    prop_assert_eq!(Some(cpus.len()), self.policy.asked(Unit::Pod(pod)));
                    for (_, share) in containers {
                        prop_assert!(share.cpus().is_subset(cpus) && !share.cpus().is_empty());
                    }
                }
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.policy.check(&self.held), Ok(()));
        prop_assert_eq!(self.held.two_owners(), None);
        for (pod, _, cpus) in self.held.iter() {
            prop_assert!(cpus.is_disjoint(self.policy.reserved()));
            prop_assert!(self.held.whole_pod(pod).is_none_or(|whole| cpus.is_subset(whole)));
        }
        Ok(())
    }

    /// A hint that was given can be honoured, on its nodes alone.
    fn check_hints(&mut self) -> Result<(), TestCaseError> {
        let pod = self.pod(&[(Role::App, 2)]);
        let mut answers = Answers::new();
        self.policy.hints(&self.held, Unit::Pod(&pod), &mut answers);
        let Some((_, Answer::Family(family))) = answers.get(0) else { return Ok(()) };
        for hint in family.listed(self.machine.nodes.all()).take(20) {
            let Some(mask) = hint.hint.affinity.nodes() else { continue };
            let near = Affinity::Nodes(mask);
            // The kubelet looks for whole cores, and ours for whole caches, after the hint was given.
            let Ok(allocation) = self.policy.allocate(&self.held, &pod, &pod.containers[0], near) else {
                continue;
            };
            let own = allocation.granted.exclusive().cloned().unwrap_or_default();
            let node_of = |(id, cpus): (NodeId, &CpuSet)| {
                self.machine.nodes.index_of(id).filter(|_| !cpus.is_disjoint(&own))
            };
            let mut on = self.machine.cpus.nodes().filter_map(node_of);
            prop_assert!(on.all(|node| mask.meets(NodeMask::single(node))), "{} on {:?}", own, mask);
        }
        Ok(())
    }
}

fn amounts(cpu: Option<&str>) -> ResourceList {
    [Some(("memory", "1Gi")), cpu.map(|cpu| ("cpu", cpu))]
        .into_iter()
        .flatten()
        .map(|(name, amount)| (ResourceName::new(name), amount.parse().expect("an amount")))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_cpu_belongs_to_one(config in any_config(), steps in prop::collection::vec(any_step(), 1..30)) {
        for machine in MACHINES.iter() {
            // Some options exclude each other, or the machine.
            let Ok(policy) = Static::new(&machine.cpus, &machine.nodes, config.clone()) else { continue };
            let held = policy.initial();
            let mut node = Node { machine, policy, held, pods: Vec::new(), named: 0 };
            node.check()?;
            for step in &steps {
                node.step(step).and_then(|()| node.check()).map_err(|error| {
                    TestCaseError::fail(format!("{} at {step:?}: {error}", machine.name))
                })?;
            }
            // A list is as long as there are sets of nodes.
            if config.options.alignment == Alignment::ByNode && machine.nodes.len() <= 8 {
                node.check_hints()?;
            }
            let empty = node.held.retain(|_, _| false);
            let initial = node.policy.initial();
            prop_assert_eq!(empty.shared(), initial.shared(), "{}", machine.name);
        }
    }
}
