//! The score where a mix is known: the room that nodes lose decides below the alignment.

use std::sync::Arc;

use proptest::prelude::*;
use scheduler_extender::pod_spec::{Pod, PodUid};
use scheduler_extender::topology_admission::{Ledger, Node, Verdict};
use scheduler_extender::{OneThread, Score, View};

use crate::fixture::{SMALL, node, pod, state, view, with_devices};

const STRICT: &str = "single-numa-node";

fn scores(view: &mut View, pod_text: &str, nodes: &[&str]) -> Vec<u16> {
    view.score(&pod(pod_text), nodes, &OneThread).into_iter().map(|score| score.of(100)).collect()
}

fn kinds(texts: &[(&str, u32)]) -> Vec<(Pod, u32)> {
    texts.iter().map(|(text, count)| (Pod::clone(&pod(text)), *count)).collect()
}

/// A small pod would get NUMA node 1 of either node: on the first it is the last that has room for four CPUs.
#[test]
fn the_last_place_of_a_large_kind_is_spared() {
    let small = node(SMALL, STRICT, "container");
    let mut view = view(&[
        ("whole", &small, &["x cpu=3 memory=5Gi"]),
        ("half", &small, &["x cpu=2 memory=1Gi", "y cpu=2 memory=1Gi"]),
    ]);
    let nodes = ["whole", "half"];
    // Without a mix nothing but how full they become is compared.
    assert_eq!(scores(&mut view, "new cpu=2 memory=1Gi", &nodes), [90, 90]);
    for _ in 0..8 {
        view.learn(&pod("large cpu=4 memory=1Gi"));
        view.learn(&pod("small cpu=2 memory=1Gi"));
    }
    let found = scores(&mut view, "new cpu=2 memory=1Gi", &nodes);
    assert!(found == [80, 99], "{found:?}");
    let shown: Vec<(f64, f64)> =
        view.mix().into_iter().map(|(_, weight, places)| (weight, places.floor())).collect();
    assert_eq!(shown, [(8.0, 1.0), (8.0, 3.0)]);
}

#[test]
fn alignment_comes_before_room() {
    let lax = node(SMALL, "best-effort", "container");
    let mut view =
        view(&[("empty", &lax, &[]), ("torn", &lax, &["x cpu=2 memory=1Gi", "y cpu=3 memory=1Gi"])]);
    view.pin_mix(kinds(&[("large cpu=4 memory=1Gi", 1000)]));
    let found = scores(&mut view, "new cpu=2 memory=1Gi", &["empty", "torn"]);
    assert!(found[0] >= 80 && (20..40).contains(&found[1]), "{found:?}");
}

/// A small pod keeps away from the node with devices as long as pods for them come.
#[test]
fn devices_are_kept_for_those_who_ask_for_them() {
    let small = node(SMALL, STRICT, "container");
    let mut view = View::new();
    let gpu = "example.com/gpu";
    view.update("gpus", state(1, &small, with_devices(&small, gpu, &[0, 1])));
    view.update("none", state(1, &small, small.empty_ledger()));
    view.pin_mix(kinds(&[("gpu cpu=3 memory=1Gi example.com/gpu=1", 1), ("small cpu=1 memory=1Gi", 3)]));
    let found = scores(&mut view, "new cpu=1 memory=1Gi", &["gpus", "none"]);
    assert!(found[0] < found[1], "{found:?}");
    let places: Vec<f64> = view.mix().into_iter().map(|(_, _, places)| places.floor()).collect();
    assert_eq!(places, [14.0, 2.0], "only the node with devices has room for those who ask for them");
}

#[test]
fn what_says_nothing_about_nodes_changes_nothing() {
    let small = node(SMALL, STRICT, "container");
    let nodes = ["a", "b", "nobody"];
    let with = |mix: &[(&str, u32)]| {
        let mut view = view(&[("a", &small, &[]), ("b", &small, &["x cpu=3 memory=1Gi"])]);
        view.pin_mix(kinds(mix));
        scores(&mut view, "new cpu=2 memory=1Gi", &nodes)
    };
    assert_eq!(with(&[]), [80, 90, 0], "no mix: the fuller one, and nothing is known of the last");
    // Pods that never fit, and those that take nothing with a place, lose no room: the fuller one is a little better.
    for mix in ["never cpu=400 memory=1Gi", "other cpu=2 memory=1Gi example.com/none=1", "shared cpu=500m"] {
        let found = with(&[(mix, 1)]);
        assert!(found[0] >= 99 && found[0] <= found[1] && found[2] == 0, "{mix}: {found:?}");
    }
    // On the empty node it gets NUMA node 0, where one CPU is reserved.
    let one = with(&[("one cpu=4 memory=1Gi", 1)]);
    assert!(one[0] > one[1], "a mix of one pod: {one:?}");
}

/// Whatever comes, so much is kept, and of it the largest.
#[test]
fn of_very_many_kinds_those_are_kept_that_come_most_often() {
    let hostile = |at: u32| Pod::clone(&pod(&format!("p cpu=1 memory={}Mi", 1 + at)));
    let mut pinned = View::new();
    let heavy = Pod::clone(&pod("heavy cpu=4 memory=1Gi"));
    let million = (0..1_000_000_u32).map(|at| (hostile(at), 1 + at % 7));
    pinned.pin_mix(million.take(20_000).chain([(heavy.clone(), 9_000_000)]).chain([(hostile(9999), 1)]));
    let kept = pinned.mix();
    assert_eq!(kept.len(), 16);
    assert!((kept[0].1 - 9_000_000.0).abs() < 1.0 && kept[0].0.containers == heavy.containers);
    let mut learnt = View::new();
    for at in 0..20_000 {
        learnt.learn(&hostile(at));
        if at % 10 == 0 {
            learnt.learn(&heavy);
        }
    }
    let kept = learnt.mix();
    assert_eq!(kept.len(), 16);
    assert!(kept[0].0.containers == heavy.containers && kept[0].1 > 10.0 && kept[1].1 <= 1.0);
}

#[test]
fn a_kind_that_comes_no_more_fades() {
    let mut view = View::new();
    let (former, later) = (pod("former cpu=4 memory=1Gi"), pod("later cpu=2 memory=1Gi"));
    (0..700).for_each(|_| view.learn(&former));
    let before = view.mix()[0].1;
    (0..700).for_each(|_| view.learn(&later));
    let after = view.mix();
    assert_eq!(after[0].0.containers, later.containers);
    assert!((0.4..0.6).contains(&(after[1].1 / before)), "{} {before}", after[1].1);
}

#[test]
fn equal_nodes_are_decided_once() {
    let small = node(SMALL, STRICT, "container");
    let names: Vec<String> = (0..500).map(|at| format!("n{at}")).collect();
    let mut view = View::new();
    view.pin_mix(kinds(&[("large cpu=4 memory=1Gi", 1)]));
    for name in &names {
        view.update(name, state(1, &small, small.empty_ledger()));
    }
    let scores = view.score(&pod("new cpu=2 memory=1Gi"), &names, &OneThread);
    assert!(scores.iter().all(|score| *score == scores[0]));
    assert_eq!((view.size().situations, view.size().verdicts), (1, 1));
}

#[derive(Clone, Debug)]
enum Event {
    /// A pod is bound to a node, which publishes it or not.
    Come {
        node: usize,
        cpus: u32,
        is_published: bool,
    },
    /// The first pod of a node ends.
    End {
        node: usize,
    },
    Remove {
        node: usize,
    },
    Learn {
        cpus: u32,
    },
    Ask {
        cpus: u32,
    },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let (node, cpus) = (0..5_usize, 1..=4_u32);
    let event = prop_oneof![
        4 => (node.clone(), cpus.clone(), any::<bool>())
            .prop_map(|(node, cpus, is_published)| Event::Come { node, cpus, is_published }),
        2 => node.clone().prop_map(|node| Event::End { node }),
        1 => node.prop_map(|node| Event::Remove { node }),
        3 => cpus.clone().prop_map(|cpus| Event::Learn { cpus }),
        2 => cpus.prop_map(|cpus| Event::Ask { cpus }),
    ];
    proptest::collection::vec(event, 1..60)
}

struct Cluster {
    node: Arc<Node>,
    ledgers: Vec<Option<Ledger>>,
    learnt: Vec<Arc<Pod>>,
    bound: Vec<(Arc<Pod>, usize)>,
}

impl Cluster {
    /// A view that knows nothing but how it is now.
    fn fresh(&self) -> View {
        let mut view = View::new();
        self.learnt.iter().for_each(|pod| view.learn(pod));
        for (at, ledger) in self.ledgers.iter().enumerate() {
            if let Some(ledger) = ledger {
                view.update(&format!("n{at}"), state(1, &self.node, ledger.clone()));
            }
        }
        self.bound.iter().for_each(|(pod, at)| view.bound(Arc::clone(pod), &format!("n{at}")));
        view
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What is kept from question to question gives the scores that are worked out anew.
    #[test]
    fn scores_are_those_of_a_fresh_view(events in events()) {
        let node = node(SMALL, STRICT, "container");
        let empty = node.empty_ledger();
        let mut cluster =
            Cluster { node: node.clone(), ledgers: vec![Some(empty); 5], learnt: Vec::new(), bound: Vec::new() };
        let mut view = cluster.fresh();
        let names: Vec<String> = (0..5).map(|at| format!("n{at}")).collect();
        for (change, event) in (2..).zip(events) {
            match event {
                Event::Come { node: at, cpus, is_published } => {
                    let pod = pod(&format!("p{change} cpu={cpus} memory=512Mi"));
                    let Some(ledger) = cluster.ledgers[at].clone() else { continue };
                    if !is_published {
                        view.bound(Arc::clone(&pod), &names[at]);
                        cluster.bound.push((pod, at));
                        continue;
                    }
                    let attempt = node.admission(&ledger, &pod).attempt();
                    if !matches!(attempt.verdict, Verdict::Admitted(_)) {
                        continue;
                    }
                    let after = ledger.commit(attempt).unwrap();
                    view.update(&names[at], state(change, &node, after.clone()));
                    cluster.ledgers[at] = Some(after);
                }
                Event::End { node: at } => {
                    let Some(ledger) = cluster.ledgers[at].clone() else { continue };
                    let Some(first) = ledger.pods().next().map(|pod| PodUid::clone(&pod.uid)) else { continue };
                    let after = ledger.release(&first);
                    view.update(&names[at], state(change, &node, after.clone()));
                    cluster.ledgers[at] = Some(after);
                }
                Event::Remove { node: at } => {
                    view.remove(&names[at]);
                    cluster.ledgers[at] = None;
                }
                Event::Learn { cpus } => {
                    let pod = pod(&format!("k cpu={cpus} memory=512Mi"));
                    view.learn(&pod);
                    cluster.learnt.push(pod);
                }
                Event::Ask { cpus } => {
                    let pod = pod(&format!("q cpu={cpus} memory=512Mi"));
                    let mut fresh = cluster.fresh();
                    let kept: Vec<Score> = view.score(&pod, &names, &OneThread);
                    prop_assert_eq!(kept, fresh.score(&pod, &names, &OneThread));
                    prop_assert_eq!(view.mix().len(), fresh.mix().len());
                    for (own, other) in view.mix().iter().zip(fresh.mix()) {
                        prop_assert_eq!((own.1, own.2), (other.1, other.2));
                    }
                }
            }
        }
    }
}
