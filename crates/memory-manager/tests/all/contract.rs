//! The laws of every manager, kept by this one.

use crate::pods::{Node, container, pod, policy};
use manager_contract::{Manager, Visit, check};
use memory_manager::{AllocateError, Holdings, Static, WrappedTables};
use numa_bitmask::NodeMask;
use pod_spec::{Container, Pod, PodUid, ResourceName, Role, Unit};
use proptest::prelude::*;
use topology_hint::{Answers, Hint};

const UNIT: u64 = 8 * (2 << 20);

struct Memory {
    policy: Static,
    nodes: NodeMask,
}

impl Manager for Memory {
    type Holdings = Holdings;
    type Error = AllocateError;

    fn nodes(&self) -> NodeMask {
        self.nodes
    }

    fn empty(&self) -> Holdings {
        self.policy.initial()
    }

    fn hints(&self, held: &Holdings, unit: Unit<'_>, answers: &mut Answers) {
        let _ = self.policy.hints(held, unit, answers);
    }

    fn allocate(
        &self,
        held: &Holdings,
        pod: &Pod,
        container: &Container,
        near: Hint,
    ) -> Result<Holdings, AllocateError> {
        self.policy.allocate(held, pod, container, near).map(|allocation| allocation.after)
    }

    fn release(&self, held: &Holdings, pod: &PodUid) -> Holdings {
        held.release_pod(pod)
    }

    /// What is booked on nodes that meet must be what is not free there any more.
    fn conflict(&self, held: &Holdings) -> Option<String> {
        let empty = self.policy.initial();
        for resource in ["memory", "hugepages-2Mi"].map(ResourceName::new) {
            let free = |held: &Holdings| -> u64 {
                self.nodes.iter().map(|node| held.amounts(node, &resource).free).sum()
            };
            let blocks = held.iter().flat_map(|(_, _, blocks)| blocks);
            let booked: u64 = blocks.filter(|block| block.resource == resource).map(|block| block.size).sum();
            if free(held) + booked != free(&empty) {
                return Some(format!("{resource}: {booked} booked, {} free of {}", free(held), free(&empty)));
            }
        }
        let apart = |(_, _, own): &(&PodUid, _, &[memory_manager::Block])| {
            own.iter().map(|block| block.nodes.mask()).collect()
        };
        let nodes: Vec<Vec<NodeMask>> = held.iter().map(|entry| apart(&entry)).collect();
        let nodes: Vec<NodeMask> = nodes.into_iter().flatten().collect();
        let overlaps = |a: &&NodeMask| nodes.iter().any(|b| a.meets(*b) && **a != *b);
        nodes.iter().find(overlaps).map(|mask| format!("{mask:?} shares nodes with another group"))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_laws_hold(
        nodes in prop::collection::vec((2..20_u64, 0..4_u64), 1..=4),
        asked in prop::collection::vec((1..24_u64, prop::option::of(1..6_u64)), 1..6),
        visits in prop::collection::vec((any::<usize>(), any::<usize>()), 1..16),
    ) {
        let all: Vec<Node> = nodes.iter().map(|(memory, huge)| ((memory + huge) * UNIT, huge * 8)).collect();
        let policy = policy(&all, UNIT.cast_signed(), WrappedTables::Empty);
        let manager = Memory { policy, nodes: NodeMask::all(all.len()) };
        let named = |(at, (memory, huge)): (usize, &(u64, Option<u64>))| {
            let app = container("app", Role::App, memory * UNIT, huge.map(|huge| huge * UNIT));
            pod(&format!("pod-{at}"), vec![app])
        };
        let pods: Vec<Pod> = asked.iter().enumerate().map(named).collect();
        let visits: Vec<Visit> = visits.into_iter().map(|(pod, hint)| Visit { pod, hint }).collect();
        let happened = check(&manager, &pods, &visits);
        prop_assert!(happened.admitted + happened.refused > 0);
    }
}
