//! The laws of every manager, kept by this one.

use std::collections::BTreeSet;

use device_manager::{AllocateError, Device, Devices, Holdings, Inventory, Outcome, Replies, Request};
use manager_contract::{Manager, Visit, check};
use numa_bitmask::NodeMask;
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceList, ResourceName, Role, Unit};
use proptest::prelude::*;
use topology_hint::{Answers, Hint};
use topology_model::{NodeId, Nodes};

const KINDS: [&str; 2] = ["vendor.io/gpu", "vendor.io/nic"];

/// Devices without plugins that would have to be asked.
struct Given(Inventory);

impl Manager for Given {
    type Holdings = Holdings;
    type Error = AllocateError;

    fn nodes(&self) -> NodeMask {
        self.0.nodes().all()
    }

    fn empty(&self) -> Holdings {
        Holdings::default()
    }

    fn hints(&self, held: &Holdings, unit: Unit<'_>, answers: &mut Answers) {
        Devices::default().hints(&self.0, held, unit, answers);
    }

    fn allocate(
        &self,
        held: &Holdings,
        pod: &Pod,
        container: &Container,
        near: Hint,
    ) -> Result<Holdings, AllocateError> {
        let request = Request::new(pod, container, near.affinity);
        match Devices::default().allocate(&self.0, held, &request, &Replies::new()) {
            Ok(Outcome::Done(allocation)) => Ok(allocation.after),
            Ok(Outcome::NeedsPlugin(question)) => panic!("nobody answers {question:?}"),
            Err(failure) => Err(failure.error),
        }
    }

    fn release(&self, held: &Holdings, pod: &PodUid) -> Holdings {
        held.release(pod)
    }

    fn conflict(&self, held: &Holdings) -> Option<String> {
        let mut owned = BTreeSet::new();
        for (pod, container, resource, held) in held.iter() {
            for id in &held.devices() {
                if !owned.insert((resource.clone(), id.clone())) {
                    return Some(format!("{container} of {pod} holds {id:?}, which another container holds"));
                }
            }
        }
        let taken: BTreeSet<_> = held
            .all_taken()
            .flat_map(|(resource, ids)| ids.iter().map(move |id| (resource.clone(), id.clone())))
            .collect();
        (taken != owned).then(|| format!("{taken:?} are taken, and {owned:?} are held"))
    }
}

fn container(at: usize, counts: [u8; 2]) -> Container {
    let kinds = KINDS.into_iter().zip(counts).filter(|(_, count)| *count > 0);
    let limits: ResourceList =
        kinds.map(|(kind, count)| (ResourceName::new(kind), count.to_string().parse().unwrap())).collect();
    let name = ContainerName::new(&format!("c{at}"));
    Container { name, role: Role::App, requests: limits.clone(), limits }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_laws_hold(
        places in prop::collection::vec((0..2_usize, prop::collection::btree_set(0..4_i64, 0..3)), 1..14),
        counts in prop::collection::vec(prop::collection::vec(any::<[u8; 2]>(), 1..3), 1..5),
        visits in prop::collection::vec((any::<usize>(), any::<usize>()), 1..12),
    ) {
        let nodes = Nodes::new((0..4).map(NodeId)).unwrap();
        let of_kind = |kind: usize| {
            let own = places.iter().enumerate().filter(move |(_, (of, _))| *of == kind);
            own.map(|(at, (_, nodes))| {
                Device::new(&format!("device-{at}"), &nodes.iter().copied().collect::<Vec<_>>())
            })
        };
        let inventory = Inventory::new(nodes).with(KINDS[0], of_kind(0)).with(KINDS[1], of_kind(1));
        let pod = |(at, counts): (usize, &Vec<[u8; 2]>)| {
            let counts = counts.iter().map(|counts| counts.map(|count| count % 4)).enumerate();
            let containers = counts.map(|(at, counts)| container(at, counts));
            Pod::new("default", &format!("pod-{at}"), containers.collect())
        };
        let pods: Vec<Pod> = counts.iter().enumerate().map(pod).collect();
        let visits: Vec<Visit> = visits.into_iter().map(|(pod, hint)| Visit { pod, hint }).collect();
        let happened = check(&Given(inventory), &pods, &visits);
        prop_assert!(happened.admitted + happened.refused > 0);
    }
}
