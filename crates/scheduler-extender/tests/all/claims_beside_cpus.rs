//! Nodes where the devices of a pod's claims would lie beside its CPUs and memory, and others.

use std::collections::BTreeSet;
use std::sync::Arc;

use scheduler_extender::pod_spec::{ClaimPlaces, ContainerName, PlacedDevice, Pod};
use scheduler_extender::topology_admission::topology_model::NodeId;
use scheduler_extender::topology_admission::{Ledger, Node, Verdict as Admitted};
use scheduler_extender::{ClaimRule, OneThread, Score, View};

use crate::fixture::{SMALL, node, pod, running, shown, state};

/// Devices of claim `gpu` that the first container has on these NUMA nodes.
#[expect(clippy::unnecessary_wraps, reason = "beside those that are not known")]
fn places(nodes: &[i64]) -> Option<Arc<ClaimPlaces>> {
    let device = |node: &i64| PlacedDevice {
        claim: "gpu".to_owned(),
        containers: vec![ContainerName::new("c0")],
        node: *node,
    };
    let known = nodes.iter().map(device).collect();
    Some(Arc::new(ClaimPlaces { known, unknown: Vec::new() }))
}

fn scores(view: &mut View, text: &str, nodes: &[(&str, Option<Arc<ClaimPlaces>>)]) -> Vec<u8> {
    let scores = view.score_placed(&pod(text), nodes.to_vec(), &OneThread);
    scores.into_iter().map(Score::get).collect()
}

fn judged(
    view: &mut View,
    text: &str,
    nodes: &[(&str, Option<Arc<ClaimPlaces>>)],
    rule: ClaimRule,
) -> Vec<String> {
    view.filter_placed(&pod(text), nodes.to_vec(), rule, &OneThread).iter().map(shown).collect()
}

#[test]
fn a_node_where_they_meet_is_better_and_none_is_left_out_unless_that_is_required() {
    let small = node(SMALL, "single-numa-node", "container");
    let mut view = View::new();
    for name in ["near", "far", "unknown"] {
        view.update(name, state(1, &small, small.empty_ledger()));
    }
    // CPU 0 is reserved, so that four CPUs are on node 1.
    let nodes = [("near", places(&[1])), ("far", places(&[0])), ("unknown", None)];
    let text = "a cpu=4 memory=1Gi";
    let found = scores(&mut view, text, &nodes);
    assert!(found[0] >= 8 && found[0] == found[2], "{found:?}");
    assert!((4..=5).contains(&found[1]), "{found:?}");
    assert_eq!(judged(&mut view, text, &nodes, ClaimRule::Prefer), ["fits", "fits", "fits"]);
    let why = "not now: claim gpu would get devices on NUMA 0, and its container CPUs and memory on NUMA 1";
    assert_eq!(judged(&mut view, text, &nodes, ClaimRule::Require), ["fits", why, "fits"]);
    // What the node refuses has the node's reason.
    let large = judged(&mut view, "b cpu=5 memory=1Gi", &nodes, ClaimRule::Require);
    assert!(large.iter().all(|one| one.starts_with("never: ") && !one.contains("claim")), "{large:?}");
    // A container without exclusive CPUs is where its devices are.
    let shared = scores(&mut view, "c memory=1", &[("near", places(&[1])), ("far", places(&[0]))]);
    assert_eq!(shared[0], shared[1], "{shared:?}");
}

#[test]
fn questions_differ_only_where_devices_do() {
    let small = node(SMALL, "single-numa-node", "container");
    let mut view = View::new();
    let names: Vec<String> = (0..100).map(|at| format!("n{at}")).collect();
    for name in &names {
        view.update(name, state(1, &small, small.empty_ledger()));
    }
    let nodes = names.iter().zip([0, 1].into_iter().cycle()).map(|(name, node)| (name, places(&[node])));
    let _ = view.score_placed(&pod("a cpu=4 memory=1Gi"), nodes, &OneThread);
    let size = view.size();
    assert_eq!((size.situations, size.questions, size.verdicts), (1, 2, 2));
}

/// Numbers that depend on a seed alone.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// The NUMA nodes of each container's CPUs and memory, the plain way; `None`: the kubelet refuses the pod.
fn own_nodes(node: &Node, ledger: &Ledger, pod: &Pod) -> Option<Vec<BTreeSet<i64>>> {
    let view = node.origin().unwrap().view.clone();
    let Admitted::Admitted(placement) = node.admission(ledger, pod).attempt().verdict else { return None };
    let of = placement.containers.iter().map(|placed| {
        let mut nodes = BTreeSet::new();
        if let Some(cpus) = placed.cpus.as_ref().and_then(|granted| granted.exclusive()) {
            let has = |id: &NodeId| view.cpus().cpus_in_node(*id).is_some_and(|own| !own.is_disjoint(cpus));
            nodes.extend(node.nodes().ids().filter(has).map(|id| id.0));
        }
        let blocks = match &placed.memory {
            Some(memory_manager::Granted::Blocks(blocks)) => &blocks[..],
            _ => &[],
        };
        for block in blocks.iter().filter(|block| block.size > 0) {
            nodes.extend(block.nodes.mask().iter().filter_map(|at| node.nodes().id(at)).map(|id| id.0));
        }
        nodes
    });
    Some(of.collect())
}

/// On 100 random nodes: a node scores less for claims, and is left out where that is required, exactly if a device is off the NUMA
/// nodes of its container's CPUs and memory.
#[test]
fn claims_are_elsewhere_exactly_where_brute_force_says_so() {
    let machines = [SMALL, "xeon-2s-96cpu-sriov", "gb200-nvl4-34node"];
    let policies = ["none", "best-effort", "restricted", "single-numa-node"];
    let (mut together, mut elsewhere, mut refused) = (0, 0, 0);
    for seed in 0..100_u64 {
        let random = &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
        let name = machines[random.below(3)];
        let node = node(name, policies[random.below(4)], ["container", "pod"][random.below(2)]);
        let most = if name == SMALL { 2 } else { 30 };
        let resident = format!("r cpu={} memory=1Gi", 1 + random.below(most));
        let ledger = running(&node, &[&resident]);
        let text = format!("p cpu={} memory=1Gi", 1 + random.below(2 * most));
        let with_cpus: Vec<i64> = {
            let view = node.origin().unwrap().view.clone();
            view.cpus().nodes().map(|(id, _)| id.0).collect()
        };
        let devices: Vec<i64> =
            (0..=random.below(2)).map(|_| with_cpus[random.below(with_cpus.len())]).collect();
        let mut view = View::new();
        view.update("n", state(1, &node, ledger.clone()));
        let own = own_nodes(&node, &ledger, &pod(&text));
        let placed = [("n", places(&devices))];
        let score = scores(&mut view, &text, &placed)[0];
        let plain = scores(&mut view, &text, &[("n", None)])[0];
        let prefer = judged(&mut view, &text, &placed, ClaimRule::Prefer).remove(0);
        let require = judged(&mut view, &text, &placed, ClaimRule::Require).remove(0);
        match own {
            None => {
                refused += 1;
                assert_eq!(prefer, require, "seed {seed}");
                assert_eq!((score, plain), (0, 0), "seed {seed}");
            }
            Some(own) if own[0].is_empty() || devices.iter().all(|device| own[0].contains(device)) => {
                together += 1;
                assert_eq!((score, require.as_str()), (plain, "fits"), "seed {seed}");
            }
            Some(own) => {
                elsewhere += 1;
                assert!(score < 6 && score <= plain, "seed {seed}: {score} {plain}");
                assert!(
                    require.starts_with("not now: claim gpu would get devices on NUMA"),
                    "seed {seed}: {require} {own:?}"
                );
                assert_eq!(prefer, "fits", "seed {seed}");
            }
        }
    }
    println!("{together} together, {elsewhere} elsewhere, {refused} refused");
    assert!(together >= 15 && elsewhere >= 15 && refused >= 3, "{together} {elsewhere} {refused}");
}
