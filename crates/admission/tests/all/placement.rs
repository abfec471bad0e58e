//! Placement strategies: which of equally good NUMA nodes a unit gets, and that nothing else changes.

use crate::fixture;
use crate::fixture::Asked;
use device_manager::{Device, Inventory};
use k8s_quantity::{Format, Quantity};
use node_config::{MixUnit, OwnOptions, Placement, Strategy};
use numa_bitmask::NodeMask;
use pod_spec::{Pod, Role};
use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};
use topology_admission::{Compat, Detail, Ledger, Node, Verdict};
use topology_policy::MergeReason;

/// Four nodes of eight CPUs, of which the first has one reserved; cards are on the first and third.
fn node(policy: &str, placement: Placement) -> Node {
    node_of(policy, "container", placement)
}

fn node_of(policy: &str, scope: &str, placement: Placement) -> Node {
    let info = fixture::machine("pack:4 [numa(memory=32GiB)] core:8 pu:1", 4);
    let config = fixture::config(&info, policy, scope, 1);
    fixture::node(&info, &config, Compat::default(), OwnOptions { placement, ..OwnOptions::default() })
}

fn empty(node: &Node) -> Ledger {
    let vfs =
        [0, 2].into_iter().flat_map(|id| (0..8).map(move |at| Device::new(&format!("vf-{id}-{at}"), &[id])));
    node.empty_ledger().with_inventory(Inventory::new(node.nodes().clone()).with("example.com/vf", vfs))
}

fn by(strategy: Strategy) -> Placement {
    Placement { strategy, ..Placement::default() }
}

fn forwarder(name: &str) -> Pod {
    fixture::pod(name, &[Asked { cpus: 2, memory: 1024, vfs: 2, ..Asked::default() }])
}

fn control(name: &str, cpus: u64) -> Pod {
    fixture::pod(name, &[Asked { cpus, memory: 1024, ..Asked::default() }])
}

/// The nodes of the pod's only container, and the ledger with it; `None` if it is refused.
fn admit(node: &Node, ledger: &Ledger, pod: &Pod) -> Option<(NodeMask, Ledger)> {
    let attempt = node.admission(ledger, pod).attempt();
    let Verdict::Admitted(_) = &attempt.verdict else { return None };
    let after = ledger.commit(attempt).unwrap();
    let hint = after.hint(&pod.key(&pod.containers[0])).unwrap();
    Some((hint.affinity.nodes().unwrap(), after))
}

/// Where a control pod of 2 CPUs goes when a forwarder is on node 0.
fn beside_a_forwarder(placement: Placement) -> NodeMask {
    let node = node("single-numa-node", placement);
    let (at, ledger) = admit(&node, &empty(&node), &forwarder("f")).unwrap();
    assert_eq!(at, NodeMask::from_bits(0b0001));
    admit(&node, &ledger, &control("c", 2)).unwrap().0
}

#[test]
fn each_strategy_has_its_own_node() {
    for (strategy, nodes) in [
        (Strategy::LowestNumber, 0b0001),
        // The forwarder is there.
        (Strategy::MostAllocated, 0b0001),
        (Strategy::LeastAllocated, 0b0010),
        // No cards are there.
        (Strategy::SpareDevices, 0b0010),
        (Strategy::KeepRoom, 0b0010),
    ] {
        assert_eq!(beside_a_forwarder(by(strategy)), NodeMask::from_bits(nodes), "{}", strategy.name());
    }
}

#[test]
fn weights_say_which_resource_counts() {
    let weighed = |strategy, name: &str| Placement {
        strategy,
        weights: [(name.to_owned(), 1)].into(),
        mix: Vec::new(),
    };
    // Six of eight cards are free on node 0; nodes 1 and 3 have none, which counts as nothing free.
    let most = weighed(Strategy::MostAllocated, "example.com/vf");
    assert_eq!(beside_a_forwarder(most), NodeMask::from_bits(0b0010));
    let least = weighed(Strategy::LeastAllocated, "example.com/vf");
    assert_eq!(beside_a_forwarder(least), NodeMask::from_bits(0b0100));
}

/// For units of so many CPUs.
fn keep_room_for(cpus: i64) -> Placement {
    let requests = [("cpu".to_owned(), Quantity::from_units(cpus, Format::DecimalSi))].into();
    Placement { mix: vec![MixUnit { count: 1, requests }], ..by(Strategy::KeepRoom) }
}

#[test]
fn room_is_kept_for_the_mix_that_is_given() {
    // Node 0 has 7 CPUs and the others 8: beside 1 CPU there is room for 7 on the others alone.
    for (placement, nodes) in [(keep_room_for(1), 0b0001), (keep_room_for(7), 0b0010)] {
        let node = node("single-numa-node", placement);
        let (at, _) = admit(&node, &empty(&node), &control("c", 1)).unwrap();
        assert_eq!(at, NodeMask::from_bits(nodes));
    }
}

#[test]
fn several_nodes_are_chosen_by_their_sum() {
    // Ten CPUs and 40 GiB need two nodes; a forwarder is on node 0, and the cards of node 2 are to be spared too.
    let node = node("restricted", by(Strategy::KeepRoom));
    let wide = fixture::pod("wide", &[Asked { cpus: 10, memory: 40 << 10, ..Asked::default() }]);
    let (_, ledger) = admit(&node, &empty(&node), &forwarder("f")).unwrap();
    let (at, _) = admit(&node, &ledger, &wide).unwrap();
    assert_eq!(at, NodeMask::from_bits(0b1010));
}

/// Six CPUs of two pods: 2 and 4, or 3 and 3. The same is held, but not by the same units.
#[test]
fn for_keep_room_ledgers_are_alike_only_if_their_units_are() {
    let node_of = |strategy| node("single-numa-node", by(strategy));
    let after = |node: &Node, pods: &[(&str, u64)]| {
        let asked = |cpus| Asked { cpus, memory: 1024, ..Asked::default() };
        let admitted = |ledger: Ledger, (name, cpus): &(&str, u64)| {
            admit(node, &ledger, &fixture::pod(name, &[asked(*cpus)])).unwrap().1
        };
        pods.iter().fold(empty(node), admitted)
    };
    for strategy in Strategy::ALL {
        let node = node_of(strategy);
        let one = after(&node, &[("a", 2), ("b", 4)]);
        assert!(one.decides_like(&after(&node, &[("c", 2), ("d", 4)]), &node), "{}", strategy.name());
        assert!(one.decides_like(&one.lean(), &node), "{}", strategy.name());
    }
    let shared = |placement| {
        let node = node("single-numa-node", placement);
        let ledger = after(&node, &[("a", 2), ("b", 4)]);
        let other = after(&node, &[("a", 3), ("b", 3)]);
        (
            ledger.decides_like(&other, &node),
            ledger.cpus().unwrap().shared() == other.cpus().unwrap().shared(),
        )
    };
    let (is_alike, same_cpus) = shared(by(Strategy::LowestNumber));
    assert!(is_alike && same_cpus, "the kubelet's rule does not look at who holds what");
    assert_eq!(shared(by(Strategy::KeepRoom)), (false, true));
    assert_eq!(shared(keep_room_for(4)), (true, true), "a mix that is given does not look at it either");
}

#[test]
fn a_trace_says_that_the_strategy_decided() {
    let node = node("single-numa-node", by(Strategy::SpareDevices));
    let (_, trace) = node.admission(&empty(&node), &control("c", 2)).trace(Detail::Merges);
    let merge = trace.units[0].merge.as_ref().unwrap();
    assert_eq!(merge.why, MergeReason::LowestNumber, "nodes 1 and 3 have no cards both");
    assert_eq!(merge.candidates[0].nodes, NodeMask::from_bits(0b0010));
    let scores: Vec<_> = merge.candidates.iter().map(|candidate| candidate.score).collect();
    assert_eq!(scores, [Some(0), Some(0), Some(1023), Some(1023)]);
    let (_, ledger) = admit(&node, &empty(&node), &control("c", 8)).unwrap();
    let (_, trace) = node.admission(&ledger, &control("d", 2)).trace(Detail::Merges);
    assert_eq!(trace.units[0].merge.as_ref().unwrap().why, MergeReason::LowestScore);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever runs, a pod of one container is admitted by all strategies or by none, on equally many nodes.
    #[test]
    fn strategies_decide_between_equals_alone(
        policy in proptest::sample::select(vec!["best-effort", "restricted", "single-numa-node"]),
        filling in 0..Strategy::ALL.len(),
        pods in proptest::collection::vec((1..12_u64, 0..4_u64), 1..14),
    ) {
        let nodes = Strategy::ALL.map(|strategy| node(policy, by(strategy)));
        let mut ledger = empty(&nodes[filling]);
        for (at, (cpus, vfs)) in pods.into_iter().enumerate() {
            let pod = fixture::pod(&format!("p{at}"), &[Asked { cpus, memory: 512, vfs, ..Asked::default() }]);
            let placed = nodes.each_ref().map(|node| admit(node, &ledger, &pod));
            let widths = placed.each_ref().map(|placed| placed.as_ref().map(|(nodes, _)| nodes.len()));
            prop_assert_eq!(widths, [widths[0]; 5]);
            // Who keeps only what decides has the same answer.
            let lean = ledger.lean();
            for (node, placed) in nodes.iter().zip(&placed) {
                let nodes = |placed: Option<(NodeMask, Ledger)>| placed.map(|(nodes, _)| nodes);
                prop_assert_eq!(nodes(admit(node, &lean, &pod)), nodes(placed.clone()));
            }
            if let Some((_, after)) = &placed[filling] {
                ledger = after.clone();
            }
        }
    }

    /// What a ledger knows of its mix is counted anew at each attempt where assertions are checked.
    #[cfg(debug_assertions)]
    #[test]
    fn a_ledger_knows_its_mix_through_all_changes(
        steps in proptest::collection::vec((0..7_usize, 0..8_usize, 1..4_u64, 0..3_u64), 1..30),
        scope in proptest::sample::select(&["container", "pod"][..]),
    ) {
        let node = node_of("restricted", scope, by(Strategy::KeepRoom));
        let mut ledger = empty(&node);
        for (step, at, cpus, vfs) in steps {
            let own = Asked { cpus, memory: 256, vfs, ..Asked::default() };
            let other = Asked { cpus: 1, memory: 128, ..Asked::default() };
            let mut pod = fixture::pod(&format!("p{at}"), &[own, other, own]);
            if at % 2 == 0 {
                pod.containers[0].role = Role::Init;
            }
            if step == 6 {
                // It comes again with fewer containers.
                pod.containers = pod.containers.iter().skip(1).take(1).cloned().collect::<Vec<_>>().into();
            }
            let is_there = ledger.has_pod(&pod.uid);
            ledger = match step {
                0 if is_there => ledger.release(&pod.uid),
                1 if is_there => ledger.end(&pod.uid),
                2 => ledger.collect(),
                3 if is_there => ledger.create(&pod.key(&pod.containers[0]), pod.uid.as_str().into()),
                _ => ledger.commit(node.admission(&ledger, &pod).attempt()).unwrap(),
            };
        }
    }
}
