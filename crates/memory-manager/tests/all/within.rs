//! Memory that is booked on some nodes alone, against a machine that has no others.

use crate::pods::{Node, container, pod, policy};
use memory_manager::{Holdings, Static, WrappedTables};
use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::{Pod, Role, Unit};
use proptest::prelude::*;
use topology_hint::{Affinity, Answer, Answers, Hint, Preference};

const UNIT: u64 = 8 * (2 << 20);

/// Nodes of units of memory and of huge pages.
fn machine() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((1..20_u64, 0..4_u64), 1..=5)
}

fn node((memory, huge): (u64, u64)) -> Node {
    ((memory + huge) * UNIT, huge * 8)
}

/// The node sets of the first answer, each with whether it is preferred.
fn listed(policy: &Static, held: &Holdings, pod: &Pod) -> Vec<(Vec<usize>, Preference)> {
    let mut answers = Answers::new();
    let _ = policy.hints(held, Unit::Container(pod, &pod.containers[0]), &mut answers);
    let Some((_, Answer::Family(family))) = answers.get(0) else { return Vec::new() };
    let each = family.listed(NodeMask::all(5)).map(|listed| listed.hint);
    each.map(|hint| (numbers(hint.affinity.nodes().unwrap()), hint.preference)).collect()
}

fn numbers(mask: NodeMask) -> Vec<usize> {
    mask.iter().map(NodeIndex::get).collect()
}

fn mask(nodes: &[usize]) -> NodeMask {
    nodes.iter().map(|node| NodeIndex::new(*node).unwrap()).collect()
}

proptest! {
    #[test]
    fn other_nodes_are_as_if_they_were_not_there(
        nodes in machine(),
        mut usable in prop::collection::vec(any::<bool>(), 5),
        asked in prop::collection::vec((1..24_u64, prop::option::of(0..6_u64), 0..8_usize, any::<bool>()), 1..8),
    ) {
        // Something is reserved on the first.
        usable[0] = true;
        let usable: Vec<usize> = (0..nodes.len()).filter(|node| usable[*node]).collect();
        let all: Vec<Node> = nodes.iter().copied().map(node).collect();
        let only: Vec<Node> = usable.iter().map(|node| all[*node]).collect();
        let kept = UNIT.cast_signed();
        let within = policy(&all, kept, WrappedTables::Empty).within(mask(&usable));
        let alone = policy(&only, kept, WrappedTables::Empty);
        let (mut held, mut theirs) = (within.initial(), alone.initial());
        for (at, (memory, huge, choice, stays)) in asked.into_iter().enumerate() {
            let app = container("app", Role::App, memory * UNIT, huge.map(|huge| huge * UNIT));
            let pod = pod(&format!("p{at}"), vec![app]);
            let (own, expected) = (listed(&within, &held, &pod), listed(&alone, &theirs, &pod));
            let renumbered = expected.iter().map(|(nodes, preference)| {
                (nodes.iter().map(|node| usable[*node]).collect(), *preference)
            });
            prop_assert_eq!(&own, &renumbered.collect::<Vec<_>>());
            let chosen = choice.checked_rem(own.len()).map(|at| (mask(&own[at].0), mask(&expected[at].0)));
            let near = |nodes: Option<NodeMask>| Hint {
                affinity: nodes.map_or(Affinity::Any, Affinity::Nodes),
                preference: Preference::Acceptable,
            };
            let served = within.allocate(&held, &pod, &pod.containers[0], near(chosen.map(|of| of.0)));
            let wanted = alone.allocate(&theirs, &pod, &pod.containers[0], near(chosen.map(|of| of.1)));
            match (served, wanted) {
                (Ok(served), Ok(wanted)) if stays => (held, theirs) = (served.after, wanted.after),
                (Ok(_), Ok(_)) => {}
                (served, wanted) => prop_assert_eq!(served.map(|_| ()), wanted.map(|_| ())),
            }
            for (position, node) in usable.iter().enumerate() {
                let of = |held: &Holdings, at| {
                    let at = NodeIndex::new(at).unwrap();
                    let memory = held.amounts(at, &"memory".into());
                    (held.assignments(at), memory, held.amounts(at, &"hugepages-2Mi".into()))
                };
                prop_assert_eq!(of(&held, *node), of(&theirs, position));
            }
        }
    }
}
