//! A node of the fleet: its ledger, and the pods that are bound to it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use device_manager::Reply;
use kubelet_status::{PodObject, Refusal, Step, Surroundings, Verdict as Decided};
use node_input::{NodeHoldings, PublishedRefusal, told_object};
use node_resource_topology::{Fingerprint, FingerprintMethod, NodeFacts, NodeResourceTopology};
use pod_spec::{Pod, PodUid, Role};
use serde_json::Value;
use topology_admission::{ContainerId, Ledger, Placement, Refused, Verdict};

use crate::fleet_pod::{FleetPod, Sending};
use crate::kind::{Counters, Kind};

/// A node of the fleet.
pub(crate) struct FleetNode {
    pub(crate) name: String,
    pub(crate) ledger: Ledger,
    /// By UID.
    pub(crate) pods: BTreeMap<String, FleetPod>,
    /// Pods that only this node knows, the oldest first.
    pub(crate) churning: VecDeque<PodUid>,
    /// How many there have been.
    pub(crate) churned: u64,
    /// The UID of its object; empty until it is registered.
    pub(crate) uid: String,
    /// The status that was sent last.
    pub(crate) status: Value,
    pub(crate) publication: PublicationState,
    /// When writing it began last.
    pub(crate) written: Option<Instant>,
    /// Since when it has been another one than what was written.
    pub(crate) changed: Option<Instant>,
}

/// How what schedulers read of a node compares with the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PublicationState {
    /// It is the same.
    Same,
    /// It will be written.
    Queued,
    /// It is being written.
    Sending,
    /// It is being written, and another one already.
    Outdated,
}

/// What was decided on a pod.
pub(crate) enum Outcome {
    Admitted(Placement),
    Refused(Refused),
}

/// What a node leaves to do after it acted on a pod.
#[derive(Default)]
pub(crate) struct Acted {
    /// Pods whose status is to be sent to the API server.
    pub(crate) news: Vec<String>,
    /// Pods of which a container starts or exits then.
    pub(crate) due: Vec<(Instant, String)>,
}

impl FleetNode {
    pub(crate) fn new(name: String, kind: &Kind) -> Self {
        Self {
            name,
            ledger: kind.node.empty_ledger(),
            pods: BTreeMap::new(),
            churning: VecDeque::new(),
            churned: 0,
            uid: String::new(),
            status: Value::Null,
            publication: PublicationState::Same,
            written: None,
            changed: None,
        }
    }

    /// The API server has a pod so.
    pub(crate) fn is(&mut self, object: PodObject) {
        match self.pods.get_mut(object.uid()) {
            Some(pod) => pod.is(object),
            None => {
                self.pods.insert(object.uid().to_owned(), FleetPod::new(object));
            }
        }
    }

    /// Does what the node can do by itself about the pod.
    pub(crate) fn act(&mut self, uid: &str, kind: &Kind, around: Surroundings<'_>, now: Instant) -> Acted {
        let mut open = vec![uid.to_owned()];
        let mut acted = Acted::default();
        while let Some(uid) = open.pop() {
            let Some(pod) = self.pods.get_mut(&uid) else { continue };
            let due = pod.look(&self.ledger, kind.reported, around, now);
            acted.due.extend(due.map(|due| (due, uid.clone())));
            match pod.step {
                Step::Admit => {
                    if let Some(ended) = self.admit(&uid, kind) {
                        open.extend(ended);
                        open.push(uid);
                    }
                }
                Step::Release => {
                    pod.held = None;
                    self.ledger = self.ledger.release(&PodUid::new(&uid));
                    open.push(uid);
                }
                Step::Forget => {
                    self.pods.remove(&uid);
                }
                Step::Report | Step::Finalise | Step::Stop | Step::Wait => {
                    if pod.sending == Sending::Idle && pod.has_news() {
                        pod.sending = Sending::Queued;
                        acted.news.push(uid);
                    }
                }
            }
        }
        acted
    }

    /// Decides on a pod. Gives the pods that have ended for it; `None`: it cannot be read, and waits.
    fn admit(&mut self, uid: &str, kind: &Kind) -> Option<Vec<String>> {
        let object = self.pods.get(uid)?.object.as_ref()?;
        let pod = match told_object(object.json(), kind.node.node.pod_rules()) {
            Ok(pod) => Arc::new(pod),
            Err(why) => {
                tracing::warn!(uid, node = self.name, "pod of the API server cannot be read: {why}");
                return None;
            }
        };
        let mut ended = Vec::new();
        let (decided, held) = match self.decide(&pod, kind) {
            Outcome::Admitted(placement) => {
                for victim in &placement.preempted {
                    self.end_for_another(victim);
                    ended.push(victim.as_str().to_owned());
                }
                (Decided::Admitted, Some(pod))
            }
            Outcome::Refused(refused) => {
                let refusal = Refusal { reason: refused.reason.to_string(), message: refused.message };
                (Decided::Refused(refusal), None)
            }
        };
        let own = self.pods.get_mut(uid)?;
        own.history.decided(decided);
        own.held = held;
        Some(ended)
    }

    fn end_for_another(&mut self, victim: &PodUid) {
        self.ledger = self.ledger.release(victim);
        self.churning.retain(|uid| uid != victim);
        if let Some(pod) = self.pods.get_mut(victim.as_str()) {
            pod.held = None;
            pod.history.decided(Decided::Preempted);
        }
    }

    /// Decides on a pod, which is on the ledger if it is admitted.
    pub(crate) fn decide(&mut self, pod: &Pod, kind: &Kind) -> Outcome {
        let admission = kind.node.node.admission(&self.ledger, pod);
        let (attempt, _) = admission.attempt_with(|_| Reply::unavailable());
        let verdict = attempt.verdict.clone();
        match self.ledger.commit(attempt) {
            Ok(after) => self.ledger = after,
            Err(stale) => unreachable!("the attempt was made against this very ledger: {stale}"),
        }
        match verdict {
            Verdict::Admitted(placement) => {
                Counters::add(&kind.counters.admitted);
                self.start(pod);
                Outcome::Admitted(placement)
            }
            Verdict::Refused(refused) => {
                Counters::add(&kind.counters.refused);
                Outcome::Refused(refused)
            }
            Verdict::NeedsPlugin(question) => unreachable!("{question:?} is answered"),
        }
    }

    /// Starts the containers of a pod: what init containers hand on is handed on when the next one starts.
    fn start(&mut self, pod: &Pod) {
        if pod.containers.iter().any(|container| container.role == Role::Init) {
            for container in &pod.containers {
                let id = ContainerId::from(format!("{}/{}", pod.uid, container.name).as_str());
                self.ledger = self.ledger.create(&pod.key(container), id);
            }
        }
    }

    /// What pods hold, and which pods were refused.
    pub(crate) fn holdings(&self, kind: &Kind) -> NodeHoldings {
        let refused = self.pods.iter().filter_map(|(uid, pod)| {
            let reason = pod.history.refusal()?.reason.clone();
            Some(PublishedRefusal { uid: uid.clone(), reason })
        });
        NodeHoldings::of(&kind.node.node, &self.ledger, refused.collect())
    }

    /// What is free on each NUMA node.
    pub(crate) fn amounts(&self, kind: &Kind) -> NodeResourceTopology {
        let node = &kind.node;
        let fingerprint = Fingerprint::of_pods(FingerprintMethod::All, self.ledger.pods()).ok();
        let facts =
            NodeFacts { node: &node.node, view: node.view(), config: node.config(), ledger: &self.ledger };
        NodeResourceTopology::new(&self.name, facts, fingerprint.as_ref())
    }
}
