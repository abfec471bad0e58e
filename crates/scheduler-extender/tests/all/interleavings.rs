//! A node admits and releases pods in an order that is unknown until it publishes its state. A pod that passes
//! fits in every order.

use std::sync::Arc;

use proptest::prelude::*;
use scheduler_extender::pod_spec::{Pod, PodUid};
use scheduler_extender::topology_admission::{Ledger, Node, Verdict as Admitted};
use scheduler_extender::{OneThread, View};

use crate::fixture::{node, pod, state};

/// Two NUMA nodes of eight CPUs.
const MACHINE: &str = "pack:2 [numa(memory=16GiB)] core:8 pu:1";

fn admit(node: &Node, ledger: &Ledger, pod: &Pod) -> Option<Ledger> {
    let attempt = node.admission(ledger, pod).attempt();
    let is_admitted = matches!(attempt.verdict, Admitted::Admitted(_));
    is_admitted.then(|| ledger.commit(attempt).unwrap())
}

/// Whether a pod that ends has gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// Its object is there.
    Begun,
    /// Its object has gone.
    Over,
}

/// The ledgers that the node may have after the pods of `bound` have come, in this order, and those of `ending` have gone
/// at any moment; one that has only begun to end may also still be there.
fn ledgers(node: &Node, ledger: &Ledger, bound: &[Arc<Pod>], ending: &[(PodUid, End)]) -> Vec<Ledger> {
    let mut all = Vec::new();
    if let Some((first, later)) = bound.split_first() {
        let after = admit(node, ledger, first).unwrap_or_else(|| ledger.clone());
        all.extend(ledgers(node, &after, later, ending));
    } else if ending.iter().all(|(_, end)| *end == End::Begun) {
        all.push(ledger.clone());
    }
    for (at, (gone, _)) in ending.iter().enumerate() {
        let mut rest = ending.to_vec();
        rest.remove(at);
        all.extend(ledgers(node, &ledger.release(gone), bound, &rest));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_pod_that_passes_fits_in_every_order(
        sizes in prop::collection::vec(1..6_u32, 1..6),
        ends in prop::collection::vec((0..6_usize, prop::bool::ANY), 1..3),
        comes in prop::collection::vec(1..6_u32, 0..3),
        asked in 1..7_u32,
    ) {
        let node = node(MACHINE, "single-numa-node", "container");
        let sized = |name: String, cpus: u32| pod(&format!("{name} cpu={cpus} memory=1Gi"));
        let mut ledger = node.empty_ledger();
        for (number, cpus) in sizes.iter().enumerate() {
            ledger = admit(&node, &ledger, &sized(format!("old{number}"), *cpus)).unwrap_or(ledger);
        }
        let mut view = View::new();
        view.update("a", state(1, &node, ledger.clone()));
        let mut ending: Vec<(PodUid, End)> = Vec::new();
        for (at, is_over) in ends {
            let uid = PodUid::new(&format!("default_old{at}"));
            let is_new = ending.iter().all(|(other, _)| *other != uid);
            if is_new && ledger.pods().any(|pod| pod.uid == uid) {
                view.ending(&uid, "a");
                ending.push((uid, if is_over { End::Over } else { End::Begun }));
            }
        }
        let mut bound = Vec::new();
        for (number, cpus) in comes.into_iter().enumerate() {
            let pod = sized(format!("new{number}"), cpus);
            // Only what passes is bound.
            if view.filter(&pod, ["a"], &OneThread)[0].verdict.fits() {
                view.bound(pod.clone(), "a");
                bound.push(pod);
            }
        }
        for (uid, end) in &ending {
            if *end == End::Over {
                view.ended(uid, "a");
            }
        }
        let asked = sized("asked".to_owned(), asked);
        if view.filter(&asked, ["a"], &OneThread)[0].verdict.fits() {
            for ledger in ledgers(&node, &ledger, &bound, &ending) {
                prop_assert!(admit(&node, &ledger, &asked).is_some(), "{bound:?} {ending:?}");
            }
        }
    }
}
