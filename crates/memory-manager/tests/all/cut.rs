//! A machine on which the fewest nodes for a request cannot be found within the steps of a search.

use crate::pods::{Node, container, pod, policy};
use memory_manager::{Granted, WrappedTables};
use numa_bitmask::NodeMask;
use pod_spec::{Role, Unit};
use topology_hint::{Answers, Hint};

const UNIT: u64 = 2 << 20;

/// 42 nodes, each with 202 units of memory and huge pages together and an even number of both. 21 nodes have 4242
/// units: never 2121 of each, which is odd, and only trying all sets shows it.
fn machine() -> Vec<Node> {
    let memory = |node: u64| 62 + 2 * (node * node * 7 % 39);
    let kept = |node: u64| u64::from(node == 0);
    (0..42).map(|node| ((202 + kept(node)) * UNIT, 202 - memory(node))).collect()
}

#[test]
fn a_cut_search_is_reported_and_its_nodes_have_enough() {
    let policy = policy(&machine(), UNIT.cast_signed(), WrappedTables::Empty);
    let held = policy.initial();
    let pod = pod("large", vec![container("app", Role::App, 2121 * UNIT, Some(2121 * UNIT))]);

    let mut answers = Answers::new();
    let _ = policy.hints(&held, Unit::Container(&pod, &pod.containers[0]), &mut answers);
    assert!(answers.is_cut());

    let served = policy.allocate_in(&mut held.clone(), &pod, &pod.containers[0], Hint::ANY);
    assert!(served.is_cut);
    let Ok(Granted::Blocks(blocks)) = served.granted else { panic!("{:?}", served.granted) };
    let nodes = blocks[0].nodes.mask();
    for block in &*blocks {
        let free: u64 = nodes.iter().map(|node| held.amounts(node, &block.resource).free).sum();
        assert!(free >= block.size, "{block:?}");
    }
    assert!(nodes.is_subset(NodeMask::all(42)) && nodes.len() >= 22);
}
