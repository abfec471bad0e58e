//! Scores, preemptions, nodes of which only amounts are known, and nodes that are shared.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use scheduler_extender::node_resource_topology::NodeResourceTopology;
use scheduler_extender::pod_spec::{Pod, PodUid};
use scheduler_extender::topology_admission::Node;
use scheduler_extender::{
    NodeFacts, NodeState, OneThread, Score, SharedNodes, Sparing, StateVersion, View, Zones,
};

use crate::fixture::{SMALL, judged, node, pod, running, state, uid, view, with_devices};

const STRICT: &str = "single-numa-node";

fn scores(view: &mut View, pod_text: &str, nodes: &[&str]) -> Vec<u8> {
    view.score(&pod(pod_text), nodes, &OneThread).into_iter().map(Score::get).collect()
}

#[test]
fn alignment_comes_before_fullness() {
    let lax = node(SMALL, "best-effort", "container");
    let mut view = view(&[
        ("empty", &lax, &[]),
        ("half", &lax, &["x cpu=3 memory=4Gi"]),
        // One CPU is left on each NUMA node.
        ("torn", &lax, &["x cpu=2 memory=1Gi", "y cpu=3 memory=1Gi"]),
        ("full", &lax, &["x cpu=3 memory=1Gi", "y cpu=4 memory=1Gi"]),
    ]);
    let nodes = ["empty", "half", "torn", "full", "nobody"];
    assert_eq!(scores(&mut view, "new cpu=2 memory=1Gi", &nodes), [8, 9, 3, 0, 0]);
    // Two containers: three and one CPUs on the NUMA nodes of the empty node, or all four on the one that is left.
    let two = "new cpu=3 memory=1Gi + cpu=1 memory=1Gi";
    assert_eq!(scores(&mut view, two, &["empty", "half"]), [6, 10]);
    // A pod without anything that has a place is aligned everywhere.
    assert_eq!(scores(&mut view, "new cpu=500m memory=1Gi", &["empty", "half"]), [8, 9]);
}

#[test]
fn a_remote_device_is_better_than_two_numa_nodes_and_worse_than_none() {
    // Policy none: CPUs come from NUMA node 0, wherever the device is.
    let none = node(SMALL, "none", "container");
    let gpu = "example.com/gpu";
    let mut view = View::new();
    view.update("near", state(1, &none, with_devices(&none, gpu, &[0])));
    view.update("remote", state(1, &none, with_devices(&none, gpu, &[1])));
    let new = "new cpu=2 memory=1Gi example.com/gpu=1";
    let found = scores(&mut view, new, &["near", "remote"]);
    assert!((8..=10).contains(&found[0]) && (4..=5).contains(&found[1]), "{found:?}");
}

#[test]
fn only_nodes_on_which_the_victims_make_room_stay_candidates() {
    let small = node(SMALL, STRICT, "container");
    let pods = ["a cpu=3 memory=1Gi", "b cpu=2 memory=1Gi", "c cpu=2 memory=1Gi"];
    // a is on NUMA node 0, b and c on 1.
    let mut view = view(&[("x", &small, &pods), ("y", &small, &pods), ("z", &small, &pods)]);
    let uids = |names: &[&str]| names.iter().map(|name| uid(name)).collect::<Vec<PodUid>>();
    let candidates: BTreeMap<String, Vec<PodUid>> = [
        // In sum four CPUs are free then, on two NUMA nodes: one and three, or two and two.
        ("x", uids(&["a", "b"])),
        ("y", uids(&["a", "b", "c"])),
        ("z", uids(&["b", "c"])),
        ("unknown", uids(&["d"])),
    ]
    .map(|(node, victims)| (node.to_owned(), victims))
    .into();
    let four = pod("new cpu=4 memory=1Gi");
    let all = view.preempt(&four, &candidates, Sparing::Nobody);
    let names: Vec<&str> = all.keys().map(String::as_str).collect();
    assert_eq!(names, ["unknown", "y", "z"]);
    assert_eq!(all["y"], candidates["y"]);
    let fewest = view.preempt(&four, &candidates, Sparing::WhoeverCanStay);
    assert_eq!((&fewest["y"], &fewest["z"]), (&uids(&["b", "c"]), &uids(&["b", "c"])));
    assert_eq!(fewest["unknown"], uids(&["d"]));
    // A pod that may come to z, too, is counted.
    view.offered(&pod("other cpu=4 memory=1Gi"), ["z"]);
    let beside = view.preempt(&four, &candidates, Sparing::Nobody);
    assert!(!beside.contains_key("z"), "{beside:?}");
}

#[test]
fn the_more_important_victim_is_spared() {
    let small = node(SMALL, "none", "container");
    let with_priority = |text: &str, priority| {
        let mut pod = Pod::clone(&pod(text));
        pod.constraints.priority = priority;
        Arc::new(pod)
    };
    let mut view = view(&[("x", &small, &[])]);
    for (text, priority) in
        [("low cpu=3 memory=1Gi", 1), ("high cpu=3 memory=1Gi", 5), ("mid cpu=1 memory=1Gi", 3)]
    {
        view.bound(with_priority(text, priority), "x");
    }
    let candidates =
        BTreeMap::from([("x".to_owned(), vec![uid("high"), uid("low"), uid("mid"), uid("stranger")])]);
    let two = pod("new cpu=2 memory=1Gi");
    let going = view.preempt(&two, &candidates, Sparing::WhoeverCanStay);
    assert_eq!(going["x"], [uid("low")]);
}

/// NUMA nodes with allocatable and available CPUs, and as many GiB of memory.
fn zones(policy: &str, of: &[(u64, u64)]) -> Zones {
    let zone = |(id, (all, free)): (usize, &(u64, u64))| {
        let amount = |name: &str, unit: &str| {
            serde_json::json!({"name": name, "capacity": format!("{all}{unit}"),
                "allocatable": format!("{all}{unit}"), "available": format!("{free}{unit}")})
        };
        serde_json::json!({"name": format!("node-{id}"), "type": "Node",
            "resources": [amount("cpu", ""), amount("memory", "Gi")]})
    };
    let zones: Vec<serde_json::Value> = of.iter().enumerate().map(zone).collect();
    let object = serde_json::json!({
        "apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology",
        "metadata": {"name": "n"}, "topologyPolicies": [policy], "zones": zones,
    });
    Zones::read(&serde_json::from_value::<NodeResourceTopology>(object).unwrap()).unwrap()
}

fn approximate(policy: &str, of: &[(u64, u64)]) -> View {
    let facts = NodeFacts::Approximate(zones(policy, of));
    let mut view = View::new();
    view.update("n", NodeState { version: StateVersion::default(), facts, told: BTreeSet::new() });
    view
}

#[test]
fn amounts_decide_where_nothing_better_is_known() {
    let check = |policy: &str, of: &[(u64, u64)], pod: &str, expected: &str| {
        assert_eq!(judged(&mut approximate(policy, of), pod, &["n"]), [expected], "{policy} {of:?} {pod}");
    };
    let torn = [(8, 3), (8, 2)];
    let no = "~not now: no NUMA node has 4 exclusive CPUs or 4Gi of memory free";
    check("SingleNUMANodeContainerLevel", &torn, "p cpu=3 memory=3Gi", "~fits");
    check("SingleNUMANodeContainerLevel", &torn, "p cpu=4 memory=4Gi", no);
    check(
        "SingleNUMANodeContainerLevel",
        &torn,
        "p cpu=9 memory=1Gi",
        "~never: no NUMA node has 9 exclusive CPUs free",
    );
    // Each container by itself, the second after the first.
    check("SingleNUMANodeContainerLevel", &torn, "p cpu=3 memory=1Gi + cpu=2 memory=1Gi", "~fits");
    let no = "~not now: no NUMA node has 3 exclusive CPUs free";
    check("SingleNUMANodeContainerLevel", &torn, "p cpu=3 memory=1Gi + cpu=3 memory=1Gi", no);
    let no = "~not now: no NUMA node has 5 exclusive CPUs free";
    check("SingleNUMANodePodLevel", &torn, "p cpu=3 memory=1Gi + cpu=2 memory=1Gi", no);
    // Burstable: nothing is aligned.
    check("SingleNUMANodeContainerLevel", &torn, "p cpu=4", "~fits");
    let wider =
        "~not now: free only on more NUMA nodes than restricted accepts: 4 exclusive CPUs and 4Gi of memory";
    check("RestrictedContainerLevel", &torn, "p cpu=4 memory=4Gi", wider);
    check("RestrictedContainerLevel", &[(8, 8), (8, 6)], "p cpu=12 memory=12Gi", "~fits");
    let lack = "~not now: all NUMA nodes together do not have 12 exclusive CPUs free";
    check("RestrictedContainerLevel", &[(8, 5), (8, 5)], "p cpu=12 memory=12Gi", lack);
    check("BestEffortContainerLevel", &torn, "p cpu=400 memory=4Gi", "~fits");
    check("NoneContainerLevel", &torn, "p cpu=400 memory=4Gi", "~fits");
    check("SomethingNew", &torn, "p cpu=400 memory=4Gi", "~fits");
}

#[test]
fn assumed_pods_are_taken_off_published_amounts() {
    let mut view = approximate("SingleNUMANodeContainerLevel", &[(8, 4), (8, 4)]);
    view.bound(pod("one cpu=3 memory=1Gi"), "n");
    assert_eq!(judged(&mut view, "new cpu=4 memory=1Gi", &["n"]), ["~fits"]);
    view.offered(&pod("two cpu=2 memory=1Gi"), ["n"]);
    let may_not = "~not now: it may not fit beside pods that come or go right now";
    assert_eq!(judged(&mut view, "new cpu=4 memory=1Gi", &["n"]), [may_not]);
    view.bound(pod("two cpu=2 memory=1Gi"), "n");
    let no = "~not now: no NUMA node has 4 exclusive CPUs free";
    assert_eq!(judged(&mut view, "new cpu=4 memory=1Gi", &["n"]), [no]);
    // The producer counts both now.
    view.update(
        "n",
        NodeState {
            version: StateVersion { run: 0, change: 1 },
            facts: NodeFacts::Approximate(zones("SingleNUMANodeContainerLevel", &[(8, 1), (8, 4)])),
            told: [uid("one"), uid("two")].into(),
        },
    );
    assert_eq!(judged(&mut view, "new cpu=4 memory=1Gi", &["n"]), ["~fits"]);
}

#[test]
fn equal_nodes_are_one_value() {
    let mut shared = SharedNodes::default();
    let mut make = |key: &'static str| {
        let made = shared.share(key, || Ok::<Node, Infallible>(Node::clone(&node(SMALL, key, "container"))));
        made.unwrap()
    };
    let (first, second, other) = (make(STRICT), make(STRICT), make("restricted"));
    assert!(Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &other));
    let mut view = View::new();
    for (name, node) in [("a", &first), ("b", &second), ("c", &other)] {
        view.update(name, state(1, node, running(node, &["x cpu=1 memory=1Gi"])));
    }
    assert_eq!(view.size().situations, 2);
}
