//! Who is in the way of a request for memory that is free.

use crate::pods::{container, pod, policy};
use memory_manager::{Bound, Enough, HeldBack, Holdings, Static, WrappedTables};
use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::{PodUid, Role, Unit};
use topology_hint::{Affinity, Hint, Preference};

const GI: u64 = 1 << 30;

/// Three nodes of 10Gi, of which 1Gi of the first is reserved, with pods of so many Gi on such nodes.
fn held(pods: &[(&str, u64, &[usize])]) -> (Static, Holdings) {
    let policy = policy(&[(10 * GI, 0); 3], GI.cast_signed(), WrappedTables::Empty);
    let mut held = policy.initial();
    for (name, memory, nodes) in pods {
        let pod = pod(name, vec![container("app", Role::App, memory * GI, None)]);
        let near = Hint { affinity: Affinity::Nodes(mask(nodes)), preference: Preference::Acceptable };
        held = policy.allocate(&held, &pod, &pod.containers[0], near).unwrap().after;
    }
    (policy, held)
}

fn mask(nodes: &[usize]) -> NodeMask {
    nodes.iter().map(|node| NodeIndex::new(*node).unwrap()).collect()
}

/// What is in the way of a pod that asks for so many Gi.
fn held_back((policy, held): &(Static, Holdings), memory: u64, near: &[usize]) -> Option<HeldBack> {
    let pod = pod("new", vec![container("app", Role::App, memory * GI, None)]);
    policy.held_back(held, Unit::Container(&pod, &pod.containers[0]), mask(near))
}

fn bound(nodes: &[usize], pods: &[&str]) -> Bound {
    Bound { nodes: mask(nodes), pods: pods.iter().map(|pod| PodUid::new(pod)).collect() }
}

#[test]
fn a_group_keeps_what_is_free_on_its_nodes() {
    let node = held(&[("large", 12, &[0, 1]), ("small", 1, &[0, 1])]);
    let group = bound(&[0, 1], &["large", "small"]);
    let expected = HeldBack { enough: Enough::EachOf(mask(&[1])), bound: vec![group] };
    assert_eq!(held_back(&node, 6, &[]), Some(expected.clone()));
    // What must be on node 1 cannot be, though node 2 has enough.
    assert_eq!(held_back(&node, 6, &[1]), Some(expected));
    assert_eq!(held_back(&node, 6, &[2]), None);
}

#[test]
fn nodes_in_use_become_no_group() {
    let node = held(&[("left", 4, &[0]), ("right", 4, &[1]), ("last", 9, &[2])]);
    let bound = vec![bound(&[0], &["left"]), bound(&[1], &["right"]), bound(&[2], &["last"])];
    let expected = HeldBack { enough: Enough::Together(mask(&[0, 1, 2])), bound };
    assert_eq!(held_back(&node, 8, &[]), Some(expected));
}

#[test]
fn nothing_is_in_the_way_of_what_fits_or_is_not_there() {
    let node = held(&[("left", 4, &[0])]);
    assert_eq!(held_back(&node, 10, &[]), None, "it fits node 1");
    assert_eq!(held_back(&node, 20, &[]), None, "it fits nodes 1 and 2");
    assert_eq!(held_back(&node, 40, &[]), None, "no machine of 30Gi has it");
}
