//! Single searches for moves: which order is found, who is left alone, when a search ends, and when a plan is not carried
//! out.

use crate::fixture;
use crate::repacking;

use std::collections::BTreeSet;

use crate::fixture::Asked;
use crate::repacking::{admit, repack};
use device_manager::{DeviceIds, Replies};
use node_config::OwnOptions;
use pod_spec::{Origin, Pod, PodUid, Wishes};
use topology_admission::{
    ApplyError, Change, Compat, Detail, Differs, Hopeless, Ledger, LeftAlone, Limits, Move, Node, Placed,
    Plan, Plugins, Search, Step, Tries, Turn, Verdict,
};

/// Two nodes of eight CPUs and 32 GiB, of which the first has one reserved.
fn node() -> Node {
    let info = fixture::machine("pack:2 [numa(memory=32GiB)] core:8 pu:1", 0);
    let config = fixture::config(&info, "single-numa-node", "container", 1);
    fixture::node(&info, &config, Compat::default(), OwnOptions::default())
}

fn pod(name: &str, cpus: u64) -> Pod {
    fixture::pod(name, &[Asked { cpus, memory: 1024 * cpus, ..Asked::default() }])
}

fn with(node: &Node, pods: &[Pod]) -> Ledger {
    let empty = node.empty_ledger();
    pods.iter().fold(empty, |ledger, pod| admit(node, &ledger, pod).unwrap().0)
}

/// `first` has four CPUs of node 0 and `second` four of node 1, so that six fit on neither.
fn in_pieces(node: &Node, first: Pod, second: Pod) -> Ledger {
    let filler = pod("filler", 3);
    with(node, &[first, filler.clone(), second]).release(&filler.uid)
}

/// `- name` is deleted, `+ name` created.
fn shown(plan: &Plan) -> Vec<String> {
    let each = plan.steps.iter().map(|step| match step {
        Step::Delete(uid) => format!("- {uid}"),
        Step::Create { pod, .. } => format!("+ {pod}"),
    });
    each.map(|step| step.replace("test_", "")).collect()
}

#[test]
fn the_smaller_of_two_pods_makes_room() {
    let node = node();
    let ledger = in_pieces(&node, pod("first", 4), pod("second", 3));
    // Three are free on node 0 and five on node 1.
    let found = repack(&node, &ledger, &pod("new", 7), Tries::default().into(), 3);
    let plan = found.plan.unwrap();
    assert_eq!(shown(&plan), ["- second", "+ new", "+ second"]);
    assert_eq!((plan.bytes, found.search, found.movable), (3 << 30, Search::Complete, 2));
    let after = plan.apply(&node, &ledger, &pod("new", 7), &Replies::new()).unwrap();
    let names: Vec<&str> = after.pods().map(|pod| pod.name.as_str()).collect();
    assert_eq!(names, ["first", "new", "second"]);
}

#[test]
fn sums_tell_that_a_node_is_full() {
    let node = node();
    let ledger = with(&node, &[pod("a", 7), pod("b", 7)]);
    let found = repack(&node, &ledger, &pod("new", 2), Tries::default().into(), 4);
    assert!(matches!(found.hopeless, Some(Hopeless::NodeIsFull(_))), "{:?}", found.hopeless);
    assert_eq!((found.plan, found.attempts), (None, 0));
}

#[test]
fn who_must_not_restart_is_left_alone() {
    let node = node();
    let wishing = |value: &str| {
        let mut pod = pod("second", 3);
        pod.constraints.wishes = Wishes::among([("topolet.dev/move", value)]);
        pod
    };
    let of = |origin, priority| {
        let mut pod = pod("second", 3);
        pod.constraints.origin = origin;
        pod.constraints.priority = priority;
        pod
    };
    for (second, why) in [
        (wishing("never"), Some(LeftAlone::Annotated)),
        (wishing("Never"), Some(LeftAlone::UnknownValue("Never".into()))),
        (wishing("restart"), None),
        (of(Origin::Static, 0), Some(LeftAlone::Static)),
        (of(Origin::Mirror, 0), Some(LeftAlone::Mirror)),
        (of(Origin::ApiServer, 2_000_000_000), Some(LeftAlone::Critical)),
        (of(Origin::ApiServer, 1_000_000), None),
    ] {
        let ledger = in_pieces(&node, pod("first", 4), second);
        let found = repack(&node, &ledger, &pod("new", 7), Tries::default().into(), 3);
        let expected: Vec<_> = why.map(|why| (PodUid::new("test_second"), why)).into_iter().collect();
        assert_eq!(found.left_alone, expected);
        let moved = found.plan.map(|plan| plan.moved);
        let expected = if expected.is_empty() { Some(vec![PodUid::new("test_second")]) } else { None };
        // The other pod is on node 0, where one CPU is reserved: seven fit there only without other pods.
        assert_eq!(moved, expected.or_else(|| alone(&node, &ledger)), "{:?}", found.left_alone);
    }
    let ledger = in_pieces(&node, pod("first", 4), pod("second", 3));
    let kept = BTreeSet::from([PodUid::new("test_second")]);
    let found = repack(&node, &ledger, &pod("new", 7), Limits::default().keeping(&kept), 3);
    assert_eq!(found.left_alone, [(PodUid::new("test_second"), LeftAlone::Quarantined)]);
    assert_eq!(found.plan.map(|plan| plan.moved), alone(&node, &ledger));
}

/// The plan in which `first` is the only one that moves.
fn alone(node: &Node, ledger: &Ledger) -> Option<Vec<PodUid>> {
    let first = ledger.pods().find(|pod| pod.name == "first")?;
    let (after, _) = admit(node, &ledger.release(&first.uid), &pod("new", 7))?;
    admit(node, &after, first).map(|_| vec![first.uid.clone()])
}

#[test]
fn a_stale_plan_is_not_carried_out() {
    let node = node();
    let ledger = in_pieces(&node, pod("first", 4), pod("second", 3));
    let new = pod("new", 7);
    let plan = repack(&node, &ledger, &new, Tries::default().into(), 3).plan.unwrap();
    let later = admit(&node, &ledger, &pod("other", 1)).unwrap().0;
    let refused = plan.apply(&node, &later, &new, &Replies::new());
    assert!(matches!(refused, Err(ApplyError::Stale(_))), "{refused:?}");
    let of_another = plan.apply(&node, &ledger, &pod("other", 7), &Replies::new());
    assert_eq!(of_another, Err(ApplyError::OtherPod(new.uid.clone())));
    assert!(plan.apply(&node, &ledger, &new, &Replies::new()).is_ok());
}

#[test]
fn a_plan_is_not_carried_out_where_a_pod_would_run_elsewhere() {
    let node = node();
    let ledger = in_pieces(&node, pod("first", 4), pod("second", 3));
    let new = pod("new", 7);
    let plan = repack(&node, &ledger, &new, Tries::default().into(), 3).plan.unwrap();
    let elsewhere = |differs| Err(ApplyError::Elsewhere { pod: PodUid::new("test_second"), differs });
    let container = || "c0".into();
    let (other, missing) = (Placed { name: "c1".into(), ..placed(&plan, 2) }, Vec::new());
    for (containers, expected) in [
        (vec![Placed { hint: None, ..placed(&plan, 2) }], Differs::Nodes(container())),
        (vec![Placed { cpus: placed(&plan, 1).cpus, ..placed(&plan, 2) }], Differs::Cpus(container())),
        (vec![Placed { memory: placed(&plan, 1).memory, ..placed(&plan, 2) }], Differs::Memory(container())),
        (
            vec![Placed { devices: [("a".into(), DeviceIds::new())].into(), ..placed(&plan, 2) }],
            Differs::Devices(container()),
        ),
        (vec![other], Differs::Containers),
        (missing, Differs::Containers),
    ] {
        let mut plan = plan.clone();
        let Step::Create { placement, .. } = &mut plan.steps[2] else { panic!("{plan:?}") };
        placement.containers = containers;
        assert_eq!(plan.apply(&node, &ledger, &new, &Replies::new()), elsewhere(expected));
    }
    // Plugins may prefer other devices than those that were taken without asking them.
    let mut unasked = Plan { plugins: Plugins::TakenAsWilling, ..plan.clone() };
    let Step::Create { placement, .. } = &mut unasked.steps[2] else { panic!("{plan:?}") };
    placement.containers[0].devices.insert("a".into(), DeviceIds::new());
    assert!(unasked.apply(&node, &ledger, &new, &Replies::new()).is_ok());
}

/// The container of the pod that a step creates.
fn placed(plan: &Plan, step: usize) -> Placed {
    let Step::Create { placement, .. } = &plan.steps[step] else { panic!("{plan:?}") };
    placement.containers[0].clone()
}

#[test]
fn a_plan_of_another_node_with_the_same_ledger_is_not_carried_out() {
    let info = fixture::machine("pack:2 [numa(memory=32GiB)] core:8 pu:2", 0);
    let mut config = fixture::config(&info, "single-numa-node", "container", 2);
    let node = |config: &_| fixture::node(&info, config, Compat::default(), OwnOptions::default());
    let packed = node(&config);
    config.cpu_manager_policy_options.insert("distribute-cpus-across-cores".to_owned(), "true".to_owned());
    config.feature_gates.insert("CPUManagerPolicyAlphaOptions".to_owned(), true);
    let spread = node(&config);
    let ledger = in_pieces(&packed, pod("first", 11), pod("second", 2));
    let new = pod("new", 15);
    let plan = repack(&packed, &ledger, &new, Tries::default().into(), 3).plan.unwrap();
    assert!(plan.apply(&packed, &ledger, &new, &Replies::new()).is_ok());
    let refused = plan.apply(&spread, &ledger, &new, &Replies::new());
    let is_elsewhere = matches!(&refused, Err(ApplyError::Elsewhere { differs: Differs::Cpus(_), .. }));
    assert!(is_elsewhere, "{refused:?}");
}

#[test]
fn a_search_without_attempts_says_so_and_claims_nothing() {
    let node = node();
    let ledger = in_pieces(&node, pod("first", 4), pod("second", 3));
    for attempts in 0..3 {
        let found = repack(&node, &ledger, &pod("new", 7), Tries(attempts).into(), 3);
        assert_eq!((found.plan, found.search), (None, Search::Cut), "{attempts} attempts");
        assert!(found.attempts <= attempts);
    }
    let none = repack(&node, &ledger, &pod("new", 7), Tries::default().into(), 0);
    assert_eq!((none.plan, none.search), (None, Search::Complete), "no pod may restart");
}

#[test]
fn what_never_fits_costs_no_search() {
    let node = node();
    let ledger = in_pieces(&node, pod("first", 4), pod("second", 3));
    let wide = fixture::pod(
        "wide",
        &[
            Asked { cpus: 8, memory: 64, ..Asked::default() },
            Asked { cpus: 9, memory: 64, ..Asked::default() },
        ],
    );
    let found = repack(&node, &ledger, &wide, Tries::default().into(), 3);
    assert!(matches!(found.hopeless, Some(Hopeless::NodeIsFull(_))));
    // Nine CPUs are free, and eight the most of one node.
    let found =
        repack(&node, &ledger.release(&"test_first".into()), &pod("nine", 9), Tries::default().into(), 3);
    assert_eq!((found.hopeless, found.attempts), (Some(Hopeless::NotWithoutThem), 1));
}

#[test]
fn an_explanation_offers_the_restart_of_one_pod() {
    let node = node();
    let ledger = in_pieces(&node, pod("first", 4), pod("second", 3));
    let new = pod("new", 7);
    let admission = node.admission(&ledger, &new);
    let (attempt, trace) = admission.trace(Detail::Short);
    let Verdict::Refused(refused) = &attempt.verdict else { panic!("it fits") };
    let explained = admission.explain(refused, &trace, Tries::default());
    let moves: Vec<&Move> = explained
        .would_fit
        .iter()
        .filter_map(|fit| match &fit.change {
            Change::Move(moved) => Some(moved),
            _ => None,
        })
        .collect();
    let [Move { pod, turn: Turn::Last, nodes: Some(nodes) }] = moves.as_slice() else { panic!("{moves:?}") };
    assert_eq!((pod, nodes.len()), (&PodUid::new("test_second"), 1));
}

/// An attempt takes much the same time on every machine; so they are counted, and no time is asserted.
#[test]
fn moves_on_eight_nodes_with_a_hundred_pods_take_few_attempts() {
    let info = fixture::machine("pack:2 numa:4(memory=128GiB) core:16 pu:2", 4);
    let config = fixture::config(&info, "single-numa-node", "container", 2);
    let node = fixture::node(&info, &config, Compat::default(), OwnOptions::default());
    let ledger = repacking::spread(&node, 100);
    assert_eq!(ledger.pods().count(), 100);
    for (cpus, moves) in [(12, Some(1)), (14, Some(2)), (16, Some(3)), (20, None)] {
        let new = fixture::pod("new", &[Asked { cpus, memory: 4096, ..Asked::default() }]);
        let began = std::time::Instant::now();
        let found = repack(&node, &ledger, &new, Tries(5000).into(), 3);
        let plan = found.plan.as_ref();
        let count = plan.map(|plan| plan.moved.len());
        println!(
            "{cpus} CPUs: {count:?} pods; {} attempts; {:?}; {:?}",
            found.attempts,
            found.search,
            began.elapsed()
        );
        assert_eq!(count, moves, "{cpus} CPUs");
        assert!(found.attempts <= 5000);
        assert!(plan.is_none_or(|plan| plan.apply(&node, &ledger, &new, &Replies::new()).is_ok()));
    }
}
