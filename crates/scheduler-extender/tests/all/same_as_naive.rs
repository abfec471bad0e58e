//! The view, with everything that it keeps and two threads, against the obvious way: for every pod and node a fresh
//! attempt on a ledger that is put together anew.
//!
//! Histories are random: nodes publish what they know, later and out of order; pods are offered, bound and deleted.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use proptest::prelude::*;
use scheduler_extender::pod_spec::{HostPort, Pod, PodUid};
use scheduler_extender::topology_admission::{Ledger, Node, Verdict as Admitted};
use scheduler_extender::{
    Judgement, Knowledge, NodeState, OneThread, Reason, ScopedThreads, StateVersion, Updated, Verdict, View,
};

use crate::fixture::{SMALL, node, pod, state, with_devices};

const NODES: usize = 20;
const SHAPES: [&str; 7] = [
    "cpu=1 memory=1Gi",
    "cpu=2 memory=1Gi",
    "cpu=3 memory=3Gi",
    "cpu=5 memory=9Gi",
    "cpu=700m memory=2Gi",
    "cpu=1 memory=1Gi example.com/gpu=1",
    "cpu=1 memory=1Gi + cpu=2 memory=2Gi",
];
/// One more shape, which takes a port of the node.
const WITH_PORT: usize = SHAPES.len();

/// Something that happens. Numbers choose among what there is.
#[derive(Clone, Debug)]
enum Event {
    /// A pod passes a filter on a run of nodes.
    Offer { shape: usize, first: usize, count: usize },
    /// A new pod is bound, or the oldest that is in flight.
    Bind { shape: usize, node: usize, in_flight: bool },
    /// A node learns of some of the pods that were bound to it, and publishes what it does with them.
    Tell { node: usize, count: usize },
    /// A node's first pod ends; the node says so before or after the API server does.
    End { node: usize },
    /// A pod is deleted.
    Delete { pod: usize },
    /// A state comes again, too late.
    Late { node: usize },
    /// A node goes.
    Remove { node: usize },
    /// A scheduler asks.
    Filter { shape: usize },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let (shape, node) = (0..=WITH_PORT, 0..NODES);
    let event = prop_oneof![
        2 => (shape.clone(), node.clone(), 1..NODES).prop_map(|(shape, first, count)| Event::Offer { shape, first, count }),
        6 => (shape.clone(), 0..4_usize, any::<bool>())
            .prop_map(|(shape, node, in_flight)| Event::Bind { shape, node, in_flight }),
        2 => (shape.clone(), node.clone()).prop_map(|(shape, node)| Event::Bind { shape, node, in_flight: false }),
        4 => (0..4_usize, 1..4_usize).prop_map(|(node, count)| Event::Tell { node, count }),
        2 => (0..4_usize).prop_map(|node| Event::End { node }),
        2 => (0..40_usize).prop_map(|pod| Event::Delete { pod }),
        1 => (0..4_usize).prop_map(|node| Event::Late { node }),
        1 => node.prop_map(|node| Event::Remove { node }),
        5 => shape.prop_map(|shape| Event::Filter { shape }),
    ];
    prop::collection::vec(event, 1..60)
}

fn shaped(shape: usize, name: &str) -> Arc<Pod> {
    let Some(amounts) = SHAPES.get(shape) else {
        let mut pod = Pod::clone(&pod(&format!("{name} cpu=1 memory=1Gi")));
        pod.constraints.host_ports =
            vec![HostPort { address: "0.0.0.0".into(), protocol: "TCP".into(), port: 80 }];
        return Arc::new(pod);
    };
    pod(&format!("{name} {amounts}"))
}

fn name(at: usize) -> String {
    format!("node-{at}")
}

/// A node, and what it has published.
struct Real {
    node: Arc<Node>,
    ledger: Ledger,
    told: BTreeSet<PodUid>,
    change: u64,
    published: Option<NodeState>,
}

/// The facts of a cluster, without anything that is derived.
struct Model {
    nodes: Vec<Real>,
    /// Pods that were bound and not deleted, in order.
    bound: Vec<(Arc<Pod>, usize)>,
    offers: Vec<(Arc<Pod>, BTreeSet<usize>)>,
    pods: usize,
    view: View,
}

impl Model {
    fn new() -> Self {
        let kinds = [node(SMALL, "single-numa-node", "container"), node(SMALL, "restricted", "pod")];
        let real = |at: usize| {
            let node = Arc::clone(&kinds[at % 2]);
            let ledger = if at % 4 < 2 {
                with_devices(&node, "example.com/gpu", &[0, 1])
            } else {
                node.empty_ledger()
            };
            Real { node, ledger, told: BTreeSet::new(), change: 0, published: None }
        };
        let nodes = (0..NODES).map(real).collect();
        let view = View::remembering(4);
        let mut model = Self { nodes, bound: Vec::new(), offers: Vec::new(), pods: 0, view };
        (0..NODES).for_each(|at| model.publish(at));
        model
    }

    fn publish(&mut self, at: usize) {
        let real = &mut self.nodes[at];
        real.change += 1;
        let published =
            NodeState { told: real.told.clone(), ..state(real.change, &real.node, real.ledger.clone()) };
        real.published = Some(published.clone());
        assert_eq!(self.view.update(&name(at), published), Updated::Applied);
    }

    fn pod(&mut self, shape: usize) -> Arc<Pod> {
        self.pods += 1;
        shaped(shape, &format!("pod-{}", self.pods))
    }

    fn gone(&mut self, pod: &PodUid) {
        self.bound.retain(|(other, _)| other.uid != *pod);
        self.offers.retain(|(other, _)| other.uid != *pod);
        self.view.gone(pod);
    }

    fn happens(&mut self, event: &Event) {
        match *event {
            Event::Offer { shape, first, count } => {
                let pod = self.pod(shape);
                let nodes: BTreeSet<usize> = (first..first + count)
                    .map(|at| at % NODES)
                    .filter(|at| self.nodes[*at].published.is_some())
                    .collect();
                self.view.offered(&pod, nodes.iter().map(|at| name(*at)));
                if !nodes.is_empty() {
                    self.offers.push((pod, nodes));
                }
            }
            Event::Bind { shape, node, in_flight } => {
                let pod = match self.offers.first() {
                    Some((pod, _)) if in_flight => Arc::clone(pod),
                    _ => self.pod(shape),
                };
                self.offers.retain(|(other, _)| other.uid != pod.uid);
                self.bound.push((Arc::clone(&pod), node));
                self.view.bound(pod, &name(node));
            }
            Event::Tell { node, count } => {
                let of_node = self.bound.iter().filter(|(_, at)| *at == node).map(|(pod, _)| Arc::clone(pod));
                let new: Vec<Arc<Pod>> =
                    of_node.filter(|pod| !self.nodes[node].knows(&pod.uid)).take(count).collect();
                for pod in &new {
                    self.nodes[node].arrive(pod);
                    self.offers.retain(|(other, _)| other.uid != pod.uid);
                }
                self.publish(node);
            }
            Event::End { node } => {
                let real = &mut self.nodes[node];
                let Some(first) = real.ledger.pods_by_arrival().next().map(|pod| pod.uid.clone()) else {
                    return;
                };
                real.ledger = real.ledger.release(&first);
                // A node tells of it for as long as the pod is there.
                real.told.insert(first.clone());
                self.publish(node);
                if node % 2 == 0 {
                    self.gone(&first);
                }
            }
            Event::Delete { pod } => {
                let known =
                    self.bound.iter().map(|(pod, _)| pod).chain(self.offers.iter().map(|(pod, _)| pod));
                let Some(uid) = known.map(|pod| pod.uid.clone()).nth(pod) else { return };
                self.gone(&uid);
            }
            Event::Late { node } => {
                if let Some(published) = &self.nodes[node].published {
                    let late = NodeState { version: StateVersion { run: 0, change: 0 }, ..published.clone() };
                    assert_eq!(self.view.update(&name(node), late), Updated::Outdated);
                }
            }
            Event::Remove { node } => {
                self.view.remove(&name(node));
                self.nodes[node].published = None;
                for (_, nodes) in &mut self.offers {
                    nodes.remove(&node);
                }
                self.offers.retain(|(_, nodes)| !nodes.is_empty());
            }
            Event::Filter { shape } => self.compare(shape),
        }
    }

    /// What the view says, what a view says that has heard it all just now, and what fresh attempts say.
    fn compare(&mut self, shape: usize) {
        let pod = self.pod(shape);
        let names: Vec<String> = (0..NODES).map(name).collect();
        let threads = ScopedThreads(NonZeroUsize::new(2).unwrap());
        let kept = self.view.filter(&pod, &names, &threads);
        let scores = self.view.score(&pod, &names, &threads);
        let mut fresh = self.fresh_view();
        assert_eq!(kept, fresh.filter(&pod, &names, &OneThread), "reasons, too");
        assert_eq!(scores, fresh.score(&pod, &names, &OneThread));
        for (at, judgement) in kept.iter().enumerate() {
            assert_eq!(
                plain(judgement),
                self.naive(at, &pod),
                "{} on {}",
                SHAPES.get(shape).unwrap_or(&"port"),
                names[at]
            );
        }
        fits_where_it_scores(&kept, &scores.iter().map(|score| score.get()).collect::<Vec<_>>());
    }

    fn fresh_view(&self) -> View {
        let mut view = View::new();
        for (at, real) in self.nodes.iter().enumerate() {
            if let Some(published) = &real.published {
                view.update(&name(at), published.clone());
            }
        }
        for (pod, node) in &self.bound {
            view.bound(Arc::clone(pod), &name(*node));
        }
        for (pod, nodes) in &self.offers {
            view.offered(pod, nodes.iter().map(|at| name(*at)));
        }
        view
    }

    /// The verdict without anything that is kept.
    fn naive(&self, at: usize, new: &Pod) -> Plain {
        let real = &self.nodes[at];
        let Some(published) = &real.published else { return Plain::Unknown };
        let mut ledger = real.ledger_of(published);
        let knows = |pod: &PodUid| ledger.pods().any(|own| own.uid == *pod) || published.told.contains(pod);
        let assumed: Vec<&Arc<Pod>> = self
            .bound
            .iter()
            .filter(|(pod, node)| *node == at && !knows(&pod.uid))
            .map(|(pod, _)| pod)
            .collect();
        for pod in assumed {
            ledger = real.beside(&ledger, pod).0;
        }
        if !real.beside(&ledger, new).1 {
            let empty = real.node.empty_ledger().with_inventory(ledger.inventory().clone());
            return if real.beside(&empty, new).1 { Plain::NotNow } else { Plain::Never };
        }
        let here: Vec<&Arc<Pod>> =
            self.offers.iter().filter(|(_, nodes)| nodes.contains(&at)).map(|(pod, _)| pod).collect();
        let sets: Vec<u64> = if here.len() <= 3 { (0..1 << here.len()).collect() } else { vec![u64::MAX] };
        let fits_beside = |set: &u64| {
            let chosen = here.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1);
            let others: Vec<&Pod> = chosen.map(|(_, pod)| &***pod).collect();
            // Whichever of them come before it.
            (0..=others.len()).all(|before| {
                let arrive = |ledger: Ledger, pod: &&Pod| real.beside(&ledger, pod).0;
                let (earlier, later) = others.split_at(before);
                let without = earlier.iter().fold(ledger.clone(), arrive);
                let (with, fits) = real.beside(&without, new);
                let runs = |ledger: Ledger, pods: &[&Pod]| {
                    let after = pods.iter().fold(ledger, arrive);
                    after.pods().map(|pod| pod.uid.clone()).collect::<BTreeSet<PodUid>>()
                };
                let expected = runs(without, later);
                fits && expected.is_subset(&runs(with, later))
            })
        };
        if sets.iter().all(fits_beside) { Plain::Fits } else { Plain::Beside }
    }
}

impl Real {
    fn knows(&self, pod: &PodUid) -> bool {
        self.told.contains(pod) || self.ledger.pods().any(|own| own.uid == *pod)
    }

    /// The kubelet's decision on a pod that was bound to its node.
    fn arrive(&mut self, pod: &Pod) {
        let (after, admitted) = self.beside(&self.ledger, pod);
        self.ledger = after;
        if !admitted {
            self.told.insert(pod.uid.clone());
        }
    }

    /// The ledger after a pod, and whether it was admitted.
    fn beside(&self, ledger: &Ledger, pod: &Pod) -> (Ledger, bool) {
        let attempt = self.node.admission(ledger, pod).attempt();
        match attempt.verdict {
            Admitted::Admitted(_) => (ledger.commit(attempt).unwrap(), true),
            _ => (ledger.clone(), false),
        }
    }

    fn ledger_of(&self, published: &NodeState) -> Ledger {
        match &published.facts {
            scheduler_extender::NodeFacts::Exact { ledger, .. } => ledger.clone(),
            scheduler_extender::NodeFacts::Approximate(_) => self.node.empty_ledger(),
        }
    }
}

/// A judgement without its words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Plain {
    Fits,
    Beside,
    NotNow,
    Never,
    Unknown,
}

fn plain(judgement: &Judgement) -> Plain {
    match (&judgement.verdict, judgement.basis) {
        (_, Knowledge::Unknown) => Plain::Unknown,
        (Verdict::Fits, _) => Plain::Fits,
        (Verdict::DoesNotFit(Reason::ComeAndGo), _) => Plain::Beside,
        (Verdict::DoesNotFit(_), _) => Plain::NotNow,
        (Verdict::NeverFits(_), _) => Plain::Never,
    }
}

fn fits_where_it_scores(judged: &[Judgement], scores: &[u8]) {
    for (judgement, score) in judged.iter().zip(scores) {
        assert!(
            *score == 0 || matches!(plain(judgement), Plain::Fits | Plain::Beside),
            "{judgement:?} {score}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn what_is_kept_is_what_would_come_out_anew(events in events()) {
        let mut model = Model::new();
        for event in &events {
            model.happens(event);
        }
        for shape in 0..=WITH_PORT {
            model.compare(shape);
        }
    }
}
