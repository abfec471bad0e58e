//! The laws of every manager, kept by this one.

use cpu_manager::{AllocateError, Config, Holdings, Options, Order, Reserved, Static};
use manager_contract::{Manager, Visit, check};
use numa_bitmask::NodeMask;
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceList, Role, Unit};
use proptest::prelude::*;
use topology_hint::{Answers, Hint};
use topology_model::{KubeletView, MachineInfo};

struct Cpus {
    policy: Static,
    nodes: NodeMask,
}

impl Manager for Cpus {
    type Holdings = Holdings;
    type Error = AllocateError;

    fn nodes(&self) -> NodeMask {
        self.nodes
    }

    fn empty(&self) -> Holdings {
        self.policy.initial()
    }

    fn hints(&self, held: &Holdings, unit: Unit<'_>, answers: &mut Answers) {
        self.policy.hints(held, unit, answers);
    }

    fn allocate(
        &self,
        held: &Holdings,
        pod: &Pod,
        container: &Container,
        near: Hint,
    ) -> Result<Holdings, AllocateError> {
        self.policy.allocate(held, pod, container, near.affinity).map(|allocation| allocation.after)
    }

    fn release(&self, held: &Holdings, pod: &PodUid) -> Holdings {
        held.release_pod(pod)
    }

    fn conflict(&self, held: &Holdings) -> Option<String> {
        let mut left = self.policy.initial().shared().clone();
        for (pod, container, cpus) in held.iter() {
            if !cpus.is_subset(&left) {
                return Some(format!("{container} of {pod} holds {cpus}, of which {left} are left"));
            }
            left -= cpus;
        }
        (left != *held.shared()).then(|| format!("{left} are left, and {} are shared", held.shared()))
    }
}

fn container(at: usize, cpus: u8) -> Container {
    let cpus = cpus.to_string();
    let amounts: ResourceList =
        [("cpu".into(), cpus.parse().unwrap()), ("memory".into(), "1Gi".parse().unwrap())].into();
    let name = ContainerName::new(&format!("c{at}"));
    Container { name, role: Role::App, requests: amounts.clone(), limits: amounts }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_laws_hold(
        order in prop_oneof![Just(Order::Packed), Just(Order::AcrossCores), Just(Order::AcrossNodes)],
        reserved in 1..4_usize,
        cpus in prop::collection::vec(prop::collection::vec(1..9_u8, 1..3), 1..5),
        visits in prop::collection::vec((any::<usize>(), any::<usize>()), 1..12),
    ) {
        let info: MachineInfo = "pack:2 numa:2 core:2 pu:2".parse().unwrap();
        let view = KubeletView::new(&info).unwrap();
        let options = Options { order, ..Options::default() };
        let config = Config { options, reserved: Reserved::count(reserved), ..Config::default() };
        let policy = Static::new(view.cpus(), view.nodes(), config).unwrap();
        let manager = Cpus { policy, nodes: view.nodes().all() };
        let pod = |(at, cpus): (usize, &Vec<u8>)| {
            let containers = cpus.iter().enumerate().map(|(at, cpus)| container(at, *cpus));
            Pod::new("default", &format!("pod-{at}"), containers.collect())
        };
        let pods: Vec<Pod> = cpus.iter().enumerate().map(pod).collect();
        let visits: Vec<Visit> = visits.into_iter().map(|(pod, hint)| Visit { pod, hint }).collect();
        let happened = check(&manager, &pods, &visits);
        prop_assert!(happened.admitted + happened.refused > 0);
    }
}
