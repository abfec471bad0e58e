//! What a view makes of states, bindings, offers and ends, in the order in which a cluster tells of them.

use crate::fixture;
use std::sync::Arc;

use scheduler_extender::pod_spec::{Constraints, HostPort, Pod};
use scheduler_extender::topology_admission::Verdict as Admitted;
use scheduler_extender::{NodeState, OneThread, StateVersion, Updated, View};

use crate::fixture::{SMALL, judged, node, pod, running, state, uid, view};

const STRICT: &str = "single-numa-node";
const NO_FOUR: &str = "not now: no NUMA node has 4 exclusive CPUs free";

#[test]
fn a_bound_pod_is_counted_until_its_node_tells_of_it() {
    let small = node(SMALL, STRICT, "container");
    let mut view = view(&[("a", &small, &[])]);
    let four = "new cpu=4 memory=1Gi";
    assert_eq!(judged(&mut view, four, &["a"]), ["fits"]);
    view.bound(pod("first cpu=4 memory=1Gi"), "a");
    view.bound(pod("first cpu=4 memory=1Gi"), "a");
    assert_eq!(view.assumed("a").count(), 1);
    // CPU 0 is reserved, so that only NUMA node 1 has four.
    assert_eq!(judged(&mut view, four, &["a"]), [NO_FOUR]);
    // The node runs something else, and does not know of the first yet.
    view.update("a", state(2, &small, running(&small, &["other cpu=1 memory=1Gi"])));
    assert_eq!(judged(&mut view, four, &["a"]), [NO_FOUR]);
    // It runs the first now, which is not counted twice.
    let pods = ["first cpu=4 memory=1Gi", "other cpu=1 memory=1Gi"];
    view.update("a", state(3, &small, running(&small, &pods)));
    assert_eq!(view.assumed("a").count(), 0);
    assert_eq!(judged(&mut view, "new cpu=2 memory=1Gi", &["a"]), ["fits"]);
    // A binding that is heard of late changes nothing.
    view.bound(pod("first cpu=4 memory=1Gi"), "a");
    assert_eq!(view.assumed("a").count(), 0);
}

#[test]
fn a_pod_that_its_node_refused_or_that_is_gone_holds_nothing() {
    let small = node(SMALL, STRICT, "container");
    let four = "new cpu=4 memory=1Gi";
    for told in [true, false] {
        let mut view = view(&[("a", &small, &[])]);
        view.bound(pod("first cpu=4 memory=1Gi"), "a");
        assert_eq!(judged(&mut view, four, &["a"]), [NO_FOUR]);
        if told {
            let told = [uid("first")].into();
            view.update("a", NodeState { told, ..state(2, &small, small.empty_ledger()) });
        } else {
            view.gone(&uid("first"));
        }
        assert_eq!(judged(&mut view, four, &["a"]), ["fits"], "{told}");
        assert_eq!(view.size().assumed, 0);
    }
}

#[test]
fn what_a_pod_held_is_free_once_it_has_ended_whatever_its_node_lists() {
    let small = node(SMALL, STRICT, "container");
    let four = "new cpu=4 memory=1Gi";
    let running_first = || running(&small, &["first cpu=4 memory=1Gi"]);
    let mut view = view(&[("a", &small, &[])]);
    view.update("a", state(2, &small, running_first()));
    assert_eq!(judged(&mut view, four, &["a"]), [NO_FOUR]);
    view.ended(&uid("first"), "a");
    assert_eq!(judged(&mut view, four, &["a"]), ["fits"]);
    // Its binding is heard of late, and the node tells of something else first.
    view.bound(pod("first cpu=4 memory=1Gi"), "a");
    view.update("a", state(3, &small, running_first()));
    assert_eq!(judged(&mut view, four, &["a"]), ["fits"]);
    // Once it is not listed any more, it may come again under its old name.
    view.update("a", state(4, &small, small.empty_ledger()));
    view.update("a", state(5, &small, running_first()));
    assert_eq!(judged(&mut view, four, &["a"]), [NO_FOUR]);
    view.ended(&uid("first"), "b");
    assert_eq!(judged(&mut view, four, &["a"]), [NO_FOUR]);
}

#[test]
fn a_pod_that_was_bound_may_have_come_before_another_had_gone_or_after() {
    let small = node(SMALL, STRICT, "container");
    let mut view = view(&[("a", &small, &[])]);
    // Three CPUs of NUMA node 0 are held, and the next pod comes to NUMA node 1; or to node 0, if the first had gone.
    view.update("a", state(2, &small, running(&small, &["first cpu=3 memory=1Gi"])));
    view.bound(pod("second cpu=2 memory=1Gi"), "a");
    let two = "new cpu=2 memory=1Gi";
    assert_eq!(judged(&mut view, two, &["a"]), ["fits"]);
    let three = "new cpu=3 memory=1Gi";
    assert_eq!(judged(&mut view, three, &["a"]), ["not now: no NUMA node has 3 exclusive CPUs free"]);
    view.ending(&uid("first"), "a");
    assert_eq!(judged(&mut view, two, &["a"]), ["fits"]);
    // It has gone: the second is on node 0 or on node 1, where the other one has room for as many.
    view.ended(&uid("first"), "a");
    assert_eq!(judged(&mut view, three, &["a"]), ["fits"]);
    // A pod of four CPUs fits node 1 only, on which the second may be.
    let four = "new cpu=4 memory=1Gi";
    assert_eq!(
        judged(&mut view, four, &["a"]),
        ["not now: it may not fit beside pods that come or go right now"]
    );
    // The node says where it is.
    view.update("a", state(3, &small, running(&small, &["second cpu=2 memory=1Gi"])));
    assert_eq!(judged(&mut view, four, &["a"]), ["fits"]);
}

#[test]
fn pods_are_assumed_in_the_order_of_binding() {
    let small = node(SMALL, STRICT, "container");
    let mut view = view(&[("a", &small, &[])]);
    // The second does not fit beside the first: the node will refuse it, and the third has its place.
    for text in ["first cpu=4 memory=1Gi", "second cpu=4 memory=1Gi", "third cpu=3 memory=1Gi"] {
        view.bound(pod(text), "a");
    }
    let none = ["not now: no NUMA node has 1 exclusive CPU free"];
    assert_eq!(judged(&mut view, "new cpu=1 memory=1Gi", &["a"]), none);
    view.gone(&uid("first"));
    assert_eq!(
        judged(&mut view, "new cpu=1 memory=1Gi", &["a"]),
        none,
        "the second has the place of the first"
    );
    view.gone(&uid("second"));
    assert_eq!(judged(&mut view, "new cpu=4 memory=1Gi", &["a"]), ["fits"]);
}

#[test]
fn an_older_state_is_ignored_and_a_new_run_counts_from_the_beginning() {
    let small = node(SMALL, STRICT, "container");
    let full = || running(&small, &["full cpu=4 memory=1Gi"]);
    let mut view = View::new();
    assert_eq!(view.update("a", state(7, &small, full())), Updated::Applied);
    assert_eq!(view.update("a", state(6, &small, small.empty_ledger())), Updated::Outdated);
    assert_eq!(view.update("a", state(7, &small, small.empty_ledger())), Updated::Outdated);
    assert_eq!(judged(&mut view, "new cpu=4 memory=1Gi", &["a"]), [NO_FOUR]);
    let version = StateVersion { run: 1, change: 0 };
    let restarted = NodeState { version, ..state(0, &small, small.empty_ledger()) };
    assert_eq!(view.update("a", restarted), Updated::Applied);
    assert_eq!(judged(&mut view, "new cpu=4 memory=1Gi", &["a"]), ["fits"]);
}

#[test]
fn a_pod_in_flight_counts_everywhere_until_it_is_bound() {
    let small = node(SMALL, STRICT, "container");
    let mut view = view(&[("a", &small, &[]), ("b", &small, &[]), ("c", &small, &[])]);
    let (first, second) = (pod("first cpu=4 memory=1Gi"), "second cpu=4 memory=1Gi");
    view.offered(&first, ["a", "b"]);
    assert_eq!(view.in_flight().collect::<Vec<_>>(), [&uid("first")]);
    let may_not = "not now: it may not fit beside pods that come or go right now";
    assert_eq!(judged(&mut view, second, &["a", "b", "c"]), [may_not, may_not, "fits"]);
    assert_eq!(judged(&mut view, "small cpu=3 memory=1Gi", &["a"]), ["fits"], "there is room for both");
    assert_eq!(judged(&mut view, "first cpu=4 memory=1Gi", &["a"]), ["fits"], "it is not in its own way");
    // The node can be faster than the news of the binding.
    view.update("a", state(2, &small, running(&small, &["first cpu=4 memory=1Gi"])));
    assert_eq!(view.in_flight().count(), 0);
    view.offered(&pod("third cpu=4 memory=1Gi"), ["b"]);
    view.bound(first, "a");
    view.bound(pod("third cpu=4 memory=1Gi"), "b");
    assert_eq!(view.in_flight().count(), 0);
    assert_eq!(judged(&mut view, second, &["a", "b", "c"]), [NO_FOUR, NO_FOUR, "fits"]);
}

#[test]
fn a_pod_must_fit_beside_every_few_pods_in_flight_and_without_them() {
    let small = node(SMALL, STRICT, "container");
    let mut view = view(&[("a", &small, &[])]);
    for text in ["one cpu=2 memory=1Gi", "two cpu=2 memory=1Gi"] {
        view.offered(&pod(text), ["a"]);
    }
    let may_not = ["not now: it may not fit beside pods that come or go right now"];
    // One of them alone goes to NUMA node 0 (three CPUs), and both leave one CPU on 0 and two on 1.
    assert_eq!(judged(&mut view, "new cpu=3 memory=1Gi", &["a"]), may_not);
    assert_eq!(judged(&mut view, "new cpu=2 memory=1Gi", &["a"]), ["fits"]);
    for text in ["three cpu=2 memory=1Gi", "four cpu=1 memory=1Gi"] {
        view.offered(&pod(text), ["a"]);
    }
    assert_eq!(judged(&mut view, "new cpu=1 memory=1Gi", &["a"]), may_not, "all four leave nothing");
    view.gone(&uid("three"));
    assert_eq!(judged(&mut view, "new cpu=2 memory=1Gi", &["a"]), ["fits"]);
    view.remove("a");
    assert_eq!(view.in_flight().count(), 0);
}

#[test]
fn a_node_that_is_not_known_takes_every_pod_and_keeps_those_bound_to_it() {
    let small = node(SMALL, STRICT, "container");
    let mut view = View::new();
    assert_eq!(judged(&mut view, "huge cpu=400 memory=1Gi", &["a"]), ["?"]);
    view.bound(pod("first cpu=4 memory=1Gi"), "a");
    view.update("a", state(1, &small, small.empty_ledger()));
    assert_eq!(judged(&mut view, "new cpu=4 memory=1Gi", &["a"]), [NO_FOUR]);
    view.remove("a");
    assert_eq!(judged(&mut view, "new cpu=4 memory=1Gi", &["a"]), ["?"]);
    view.update("a", state(1, &small, small.empty_ledger()));
    assert_eq!(judged(&mut view, "new cpu=4 memory=1Gi", &["a"]), [NO_FOUR]);
    view.remove("a");
    view.gone(&uid("first"));
    let size = view.size();
    assert_eq!((size.nodes, size.situations, size.verdicts, size.assumed), (0, 0, 0, 0));
}

#[test]
fn a_pod_that_fits_no_empty_node_is_told_from_one_that_has_to_wait() {
    let (strict, wide) = (node(SMALL, STRICT, "container"), node(SMALL, "restricted", "container"));
    let mut view = view(&[
        ("a", &strict, &["full cpu=4 memory=1Gi"]),
        ("b", &wide, &["full cpu=4 memory=1Gi"]),
        ("c", &wide, &[]),
    ]);
    assert_eq!(
        judged(&mut view, "new cpu=5 memory=9Gi", &["a", "b"]),
        [
            "never: no NUMA node has 5 exclusive CPUs or 9Gi of memory free",
            "not now: all NUMA nodes together do not have 5 exclusive CPUs free"
        ]
    );
    let sizes = "never: cpu and memory need different numbers of NUMA nodes, which restricted refuses";
    assert_eq!(judged(&mut view, "new cpu=5 memory=1Gi", &["c"]), [sizes]);
    assert_eq!(
        judged(&mut view, "new cpu=1 memory=9Gi", &["a"]),
        ["never: no NUMA node has 9Gi of memory free"]
    );
    // The kubelet's own check of the node as a whole.
    assert_eq!(
        judged(&mut view, "new cpu=1500m memory=40Gi", &["a"]),
        ["never: no NUMA node has 40Gi of memory free"]
    );
    let huge = "new cpu=1 memory=1Gi hugepages-1Gi=1Gi";
    assert_eq!(
        judged(&mut view, huge, &["b"]),
        ["never: all NUMA nodes together do not have 1Gi of hugepages-1Gi free"]
    );
}

#[test]
fn equal_causes_are_told_in_equal_words() {
    let small = node(SMALL, STRICT, "container");
    let mut view = view(&[
        ("a", &small, &["x cpu=4 memory=1Gi"]),
        ("b", &small, &["x cpu=4 memory=2Gi", "y cpu=1 memory=1Gi"]),
        ("c", &small, &["x cpu=4 memory=2Gi", "y cpu=3 memory=1Gi"]),
    ]);
    let judged = judged(&mut view, "new cpu=4 memory=1Gi", &["a", "b", "c"]);
    assert_eq!(judged, [NO_FOUR, NO_FOUR, NO_FOUR]);
}

#[test]
fn nobody_is_ended_for_a_critical_pod() {
    let small = node(SMALL, "none", "container");
    let fill = ["one cpu=1900m memory=1Gi", "two cpu=1900m memory=1Gi", "three cpu=1900m memory=1Gi"];
    let mut view = view(&[("a", &small, &fill)]);
    let mut critical = Pod::clone(&pod("new cpu=1500m memory=1Gi"));
    critical.constraints.priority = 2_000_001_000;
    let attempt = small.admission(&running(&small, &fill), &critical).attempt();
    let Admitted::Admitted(placement) = attempt.verdict else { panic!("its kubelet would end another pod") };
    assert_eq!(placement.preempted.len(), 1);
    let judged = view.filter(&critical, ["a"], &OneThread);
    assert_eq!(fixture::shown(&judged[0]), "not now: pods would ask for more cpu than the node has for them");
}

#[test]
fn ports_of_the_node_are_taken_by_assumed_pods_too() {
    let small = node(SMALL, STRICT, "container");
    let with_port = |name: &str| {
        let port = HostPort { address: "0.0.0.0".into(), protocol: "TCP".into(), port: 80 };
        let constraints = Constraints { host_ports: vec![port], ..Constraints::default() };
        Arc::new(Pod { constraints, ..Pod::clone(&pod(&format!("{name} cpu=1 memory=1Gi"))) })
    };
    let mut view = view(&[("a", &small, &[]), ("b", &small, &[])]);
    view.bound(with_port("first"), "a");
    let judged = view.filter(&with_port("second"), ["a", "b"], &OneThread);
    let shown: Vec<String> = judged.iter().map(fixture::shown).collect();
    assert_eq!(shown, ["not now: the kubelet refuses it: NodePorts", "fits"]);
}

#[test]
fn nodes_in_the_same_state_are_decided_on_once() {
    let small = node(SMALL, STRICT, "container");
    let names: Vec<String> = (0..1000).map(|at| format!("node-{at}")).collect();
    let mut view = View::remembering(2);
    for name in &names {
        let pods = [format!("pod-of-{name} cpu=2 memory=1Gi")];
        view.update(name, state(1, &small, running(&small, &[pods[0].as_str()])));
    }
    view.filter(&pod("new cpu=4 memory=1Gi"), &names, &OneThread);
    assert_eq!((view.size().situations, view.size().verdicts), (1, 1));
    view.filter(&pod("same cpu=4 memory=1Gi"), &names, &OneThread);
    assert_eq!(view.size().verdicts, 1, "a name is no other shape");
    view.bound(pod("same cpu=4 memory=1Gi"), "node-5");
    view.filter(&pod("other cpu=4 memory=1Gi"), &names, &OneThread);
    // It is refused on node-5: the empty node is a situation, too.
    assert_eq!((view.size().situations, view.size().verdicts), (3, 3));
    for cpus in 1..20 {
        view.filter(&pod(&format!("new cpu={cpus} memory=1Gi")), &names, &OneThread);
        let size = view.size();
        assert!(size.questions <= 3 && size.verdicts <= 9, "{size:?}");
    }
    view.gone(&uid("same"));
    assert_eq!(view.filter(&pod("new cpu=4 memory=1Gi"), ["node-5"], &OneThread)[0].verdict.reason(), None);
}

#[test]
fn captured_machines_are_judged_as_their_kubelets_would() {
    let xeon = node("xeon-2s-96cpu-sriov", STRICT, "pod");
    let mut view = view(&[("x", &xeon, &["db cpu=40 memory=16Gi"])]);
    // 48 CPUs on each of two NUMA nodes, one of them reserved.
    let both = "web cpu=30 memory=4Gi + cpu=18 memory=4Gi";
    assert_eq!(judged(&mut view, both, &["x"]), ["fits"]);
    view.bound(pod(both), "x");
    let none = "not now: no NUMA node has 10 exclusive CPUs free";
    assert_eq!(judged(&mut view, "new cpu=10 memory=1Gi", &["x"]), [none]);
    assert_eq!(judged(&mut view, "new cpu=7 memory=1Gi", &["x"]), ["fits"]);
}
