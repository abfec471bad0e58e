//! The nodes as they are known, and the pods that are in flight: those that were offered nodes and may be bound at any moment,
//! and those that are bound and that their node has not published yet.
//!
//! Only a pod that the API server has is offered nodes, with the object that the API server has: a request cannot reserve room by
//! its content. kube-scheduler may get a pod first and ask. Its answer is kept, and becomes the offer when the watch of the API
//! server reports the pod; a filter waits a moment for that, as it does for bindings. Answers are kept for [`OFFER`], at most
//! [`ANSWERS`] of them.
//!
//! # When an offer ends
//!
//! The view knows no time. An offer ends when the pod is bound, when it is deleted or has ended, when kube-scheduler asks about
//! the pod again, and otherwise [`OFFER`] after the answer ([`Outlook::tidy`]). That a bound pod is on its node is assumed until the
//! node publishes it, and ends [`STATES`] published states, or [`SETTLED`], after the pod has left the queue of its node.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster_node::Clock;
use parking_lot::{Condvar, Mutex, MutexGuard};
use pod_spec::{Pod, PodUid};
use scheduler_extender::{NodeState, Updated, View};

use crate::silence::Silence;

/// How long kube-scheduler may take from an answer to the binding of the pod.
const OFFER: Duration = Duration::from_secs(15);
/// Answers are kept about at most this many pods that the API server has not reported.
const ANSWERS: usize = 128;
/// How long a bound pod that has left the queue of its node is assumed on it at most, without being published.
const SETTLED: Duration = Duration::from_mins(2);
/// The assumption ends before that after this many published states without the pod: the first may be older.
const STATES: u32 = 2;
/// A node that refuses a pod says so within that time.
const SENT: Duration = Duration::from_mins(5);

/// How long a filter waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Patience {
    /// For pods that are being bound, and for the API server to show those that kube-scheduler has asked about.
    pub(crate) binding: Duration,
    /// For the API server to show those that a client without a certificate asked about.
    pub(crate) glimpse: Duration,
    /// For news where the pod fits no node: kube-scheduler asks again as soon as a pod ends, and may hear of it first.
    pub(crate) news: Duration,
}

impl Patience {
    /// That of the product.
    pub(crate) const USUAL: Self = Self {
        binding: Duration::from_millis(150),
        glimpse: Duration::from_millis(10),
        news: Duration::from_millis(5),
    };
}

/// The view of the nodes and the pods in flight.
pub(crate) struct Outlook {
    open: Mutex<Open>,
    pub(crate) clock: Arc<dyn Clock>,
    patience: Patience,
    /// Something has been bound, or has gone.
    news: Condvar,
}

pub(crate) struct Open {
    pub(crate) view: View,
    offers: BTreeMap<PodUid, Instant>,
    /// Pods that the API server has and that are not bound.
    unbound: BTreeMap<PodUid, Unbound>,
    /// Answers about pods that the API server has not shown yet.
    answers: BTreeMap<PodUid, Answer>,
    /// Whether kube-scheduler asks at all.
    silence: Silence,
    settling: BTreeMap<PodUid, Settling>,
    /// The nodes of bound pods that these nodes have not published, by UID.
    homes: BTreeMap<PodUid, String>,
    /// Pods that were offered nodes and bound lately.
    sent: BTreeMap<PodUid, Instant>,
    /// Increases with each event.
    heard_so_far: u64,
    /// What of the nodes has been heard since the start.
    pub(crate) heard: Heard,
}

/// A pod that is not bound.
struct Unbound {
    pod: Arc<Pod>,
    since: Instant,
    waits: WaitsFor,
}

/// What a pod that is not bound waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WaitsFor {
    /// For a scheduler.
    Node,
    /// For its gates to open, or it is being deleted.
    Others,
}

/// An answer about a pod that the API server has not shown yet.
struct Answer {
    nodes: Vec<Arc<str>>,
    at: Instant,
    asker: Asker,
}

/// The client that asks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Asker {
    /// A client on this host without a certificate.
    Anybody,
    /// A client with an accepted certificate.
    Known,
}

/// A pod that has left the queue of its node.
struct Settling {
    node: String,
    since: Instant,
    states: u32,
}

/// Which of the initial lists are complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Heard {
    pub(crate) states: bool,
    pub(crate) amounts: bool,
    pub(crate) pods: bool,
}

impl Heard {
    pub(crate) const fn all(self) -> bool {
        self.states && self.amounts && self.pods
    }
}

impl Outlook {
    pub(crate) fn new(clock: Arc<dyn Clock>, patience: Patience) -> Self {
        let open = Open {
            view: View::new(),
            offers: BTreeMap::new(),
            unbound: BTreeMap::new(),
            answers: BTreeMap::new(),
            silence: Silence::new(clock.now()),
            settling: BTreeMap::new(),
            homes: BTreeMap::new(),
            sent: BTreeMap::new(),
            heard_so_far: 0,
            heard: Heard::default(),
        };
        Self { open: Mutex::new(open), clock, patience, news: Condvar::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock()
    }

    /// The same, once no other pod is being bound, and the API server has shown all that were asked about; or after a moment in
    /// any case.
    pub(crate) fn lock_settled(&self, pod: &PodUid) -> MutexGuard<'_, Open> {
        let began = self.clock.now();
        let mut open = self.open.lock();
        while let Some(patience) = open.unsettled(pod, began, self.patience) {
            if !self.wait_until(&mut open, began + patience) {
                break;
            }
        }
        open
    }

    /// The API server has a pod that is not bound.
    pub(crate) fn unbound(&self, pod: Arc<Pod>, waits: WaitsFor) {
        let now = self.clock.now();
        let mut open = self.open.lock();
        if let Some(answer) = open.answers.remove(&pod.uid) {
            open.view.offered(&pod, &answer.nodes);
            open.offers.insert(pod.uid.clone(), answer.at);
        }
        let before = open.unbound.get(&pod.uid).map(|before| before.since);
        if before.is_none() {
            open.view.learn(&pod);
        }
        let since = before.unwrap_or(now);
        open.unbound.insert(pod.uid.clone(), Unbound { pod, since, waits });
        self.tell(open);
    }

    /// A pod was deleted before it was bound.
    pub(crate) fn withdrawn(&self, pod: &PodUid) {
        let mut open = self.open.lock();
        open.forget(pod);
        self.tell(open);
    }

    /// A pod is bound to a node.
    pub(crate) fn bound(&self, pod: Arc<Pod>, node: &str) {
        let mut open = self.open.lock();
        let had_offer = open.offers.remove(&pod.uid).is_some();
        let was_offered = open.answers.remove(&pod.uid).is_some() || had_offer;
        // Of a pod that was never seen unbound it is not known who has bound it, and when.
        match open.unbound.remove(&pod.uid) {
            Some(_) if !was_offered => open.silence.bound_unasked(),
            Some(_) => {}
            None => open.view.learn(&pod),
        }
        open.settling.remove(&pod.uid);
        open.homes.insert(pod.uid.clone(), node.to_owned());
        // A pod without an offer was bound by another client.
        if was_offered {
            open.sent.insert(pod.uid.clone(), self.clock.now());
        }
        open.view.bound(pod, node);
        self.tell(open);
    }

    /// A pod is being ended on its node.
    pub(crate) fn ending(&self, pod: &PodUid, node: &str) {
        let mut open = self.open.lock();
        open.view.ending(pod, node);
        self.tell(open);
    }

    /// A pod has ended on its node.
    pub(crate) fn ended(&self, pod: &PodUid, node: &str) {
        let mut open = self.open.lock();
        open.forget(pod);
        open.view.ended(pod, node);
        self.tell(open);
    }

    /// Waits for a moment whether something changes, and says whether it has.
    pub(crate) fn wait_for_news(&self, open: &mut MutexGuard<'_, Open>) -> bool {
        let (until, before) = (self.clock.now() + self.patience.news, open.heard_so_far);
        while open.heard_so_far == before {
            if !self.wait_until(open, until) {
                return false;
            }
        }
        true
    }

    /// Waits for something to happen, or until then; whether there is time left.
    fn wait_until(&self, open: &mut MutexGuard<'_, Open>, until: Instant) -> bool {
        let left = until.saturating_duration_since(self.clock.now());
        !left.is_zero() && !self.news.wait_for(open, left).timed_out()
    }

    /// Wakes those that wait.
    fn tell(&self, mut open: MutexGuard<'_, Open>) {
        open.heard_so_far += 1;
        drop(open);
        self.news.notify_all();
    }

    /// A pod that was bound does not wait on its node any more: it runs, was refused, or was deleted.
    pub(crate) fn left(&self, pod: &PodUid) {
        let mut open = self.open.lock();
        let Some(node) = open.homes.remove(pod) else { return };
        if open.view.assumed(&node).any(|assumed| assumed.uid == *pod) {
            open.settling.insert(pod.clone(), Settling { node, since: self.clock.now(), states: 0 });
        }
    }

    /// A node has published a state.
    pub(crate) fn update(&self, node: &str, state: NodeState) -> Updated {
        let mut open = self.open.lock();
        let updated = open.view.update(node, state);
        if updated == Updated::Applied {
            for settling in open.settling.values_mut().filter(|settling| settling.node == node) {
                settling.states += 1;
            }
        }
        self.tell(open);
        updated
    }

    /// Ends what has come to nothing.
    pub(crate) fn tidy(&self) {
        let now = self.clock.now();
        let mut open = self.open.lock();
        let is_late = |since: &Instant, limit| now.duration_since(*since) >= limit;
        let offers = open.offers.iter().filter(|(_, since)| is_late(since, OFFER));
        let settled = open
            .settling
            .iter()
            .filter(|(_, settling)| settling.states >= STATES || is_late(&settling.since, SETTLED));
        let over: Vec<PodUid> =
            offers.map(|(pod, _)| pod).chain(settled.map(|(pod, _)| pod)).cloned().collect();
        open.sent.retain(|_, since| !is_late(since, SENT));
        open.answers.retain(|_, answer| !is_late(&answer.at, OFFER));
        for pod in &over {
            open.end(pod);
        }
        if !over.is_empty() {
            self.tell(open);
        }
    }
}

impl Open {
    /// It was answered that the pod of this UID fits these nodes: they are its offer, if the API server has it.
    pub(crate) fn answered<N: AsRef<str>>(
        &mut self,
        pod: &PodUid,
        nodes: impl IntoIterator<Item = N>,
        asker: Asker,
        now: Instant,
    ) {
        if let Some(unbound) = self.unbound.get(pod) {
            self.view.offered(&unbound.pod, nodes);
            self.offers.insert(pod.clone(), now);
            return;
        }
        if !self.answers.contains_key(pod) && self.answers.len() >= ANSWERS {
            let oldest = self.answers.iter().min_by_key(|(_, answer)| (answer.asker, answer.at));
            oldest.map(|(pod, _)| pod.clone()).and_then(|pod| self.answers.remove(&pod));
        }
        let nodes = self.view.known(nodes);
        self.answers.insert(pod.clone(), Answer { nodes, at: now, asker });
    }

    /// kube-scheduler has asked which nodes a pod fits.
    pub(crate) fn asked(&mut self, now: Instant) {
        self.silence.asked(now);
    }

    /// What is wrong where kube-scheduler does not ask, as a sentence.
    pub(crate) fn why_unasked(&self, now: Instant) -> Option<String> {
        let waiting = self.unbound.values().filter(|pod| pod.waits == WaitsFor::Node);
        self.silence.why(waiting.map(|pod| pod.since), now)
    }

    /// How many pods wait for a node.
    pub(crate) fn waiting(&self) -> usize {
        self.unbound.values().filter(|pod| pod.waits == WaitsFor::Node).count()
    }

    /// How many pods were bound without a question here.
    pub(crate) const fn bound_unasked(&self) -> u64 {
        self.silence.all_bound_unasked()
    }

    /// How long a filter for `pod` that began then waits for others, if there are any to wait for.
    fn unsettled(&self, pod: &PodUid, began: Instant, patience: Patience) -> Option<Duration> {
        if self.view.in_flight().any(|other| other != pod) {
            return Some(patience.binding);
        }
        let others = self.answers.iter().filter(|(other, _)| *other != pod);
        let each = others.filter_map(|(_, answer)| {
            let patience = match answer.asker {
                Asker::Known => patience.binding,
                Asker::Anybody => patience.glimpse,
            };
            // One that has not been shown since is not going to be.
            (answer.at + patience > began).then_some(patience)
        });
        each.max()
    }

    /// Whether the pod was bound lately after it had passed here, which is asked once.
    pub(crate) fn was_sent(&mut self, pod: &PodUid) -> bool {
        self.sent.remove(pod).is_some()
    }

    /// The pod does not exist any more.
    fn forget(&mut self, pod: &PodUid) {
        self.unbound.remove(pod);
        self.answers.remove(pod);
        self.end(pod);
    }

    /// What was open about the pod has come to nothing.
    fn end(&mut self, pod: &PodUid) {
        self.offers.remove(pod);
        self.settling.remove(pod);
        self.homes.remove(pod);
        self.view.gone(pod);
    }
}

#[cfg(test)]
#[path = "outlook_tests.rs"]
mod tests;
