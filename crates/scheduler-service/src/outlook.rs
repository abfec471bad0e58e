//! What is known of the nodes, and what is open about pods: those that were offered nodes and may be bound at any moment, and
//! those that are bound and of which their node has not told yet.
//!
//! The view knows no time. Here an offer that comes to nothing ends after a while, and so does the assumption that a pod is
//! on a node which has told new states since without it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use pod_spec::{Pod, PodUid};
use scheduler_extender::{NodeState, Updated, View};

/// How long kube-scheduler may take from an answer to the binding of the pod.
const OFFER: Duration = Duration::from_secs(15);
/// A filter waits so long for pods that are being bound.
const BINDING: Duration = Duration::from_millis(150);
/// A pod that does not wait on a node any more, and of which the node does not tell, has gone after that time at last.
const SETTLED: Duration = Duration::from_mins(2);
/// A node that refuses a pod says so within that time.
const SENT: Duration = Duration::from_mins(5);
/// A pod that fits no node waits so long for news: kube-scheduler asks again as soon as a pod ends, and may hear of it
/// first.
const NEWS: Duration = Duration::from_millis(5);
/// And before, when its node has told so many states without it: the first may be older.
const STATES: u32 = 2;

/// What is known and open.
pub(crate) struct Outlook {
    open: Mutex<Open>,
    /// Something has been bound, or has gone.
    news: Condvar,
}

pub(crate) struct Open {
    pub(crate) view: View,
    offers: BTreeMap<PodUid, Instant>,
    settling: BTreeMap<PodUid, Settling>,
    /// Bound pods of which their node has not told, by UID: their nodes.
    homes: BTreeMap<PodUid, String>,
    /// Pods that were bound lately.
    sent: BTreeMap<PodUid, Instant>,
    /// Counts what has been heard.
    heard_so_far: u64,
    /// What of the nodes has been heard since the start.
    pub(crate) heard: Heard,
}

/// A pod that has left the queue of its node.
struct Settling {
    node: String,
    since: Instant,
    states: u32,
}

/// Whether everything that there was at the start has been heard.
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
    pub(crate) fn new() -> Self {
        let open = Open {
            view: View::new(),
            offers: BTreeMap::new(),
            settling: BTreeMap::new(),
            homes: BTreeMap::new(),
            sent: BTreeMap::new(),
            heard_so_far: 0,
            heard: Heard::default(),
        };
        Self { open: Mutex::new(open), news: Condvar::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock()
    }

    /// The same, once no other pod is being bound; or after a moment in any case.
    pub(crate) fn lock_settled(&self, pod: &PodUid) -> MutexGuard<'_, Open> {
        let until = Instant::now() + BINDING;
        let mut open = self.open.lock();
        while open.view.in_flight().any(|other| other != pod) {
            if self.news.wait_until(&mut open, until).timed_out() {
                break;
            }
        }
        open
    }

    /// A pod is bound to a node.
    pub(crate) fn bound(&self, pod: Arc<Pod>, node: &str) {
        let mut open = self.open.lock();
        open.offers.remove(&pod.uid);
        open.settling.remove(&pod.uid);
        open.homes.insert(pod.uid.clone(), node.to_owned());
        open.sent.insert(pod.uid.clone(), Instant::now());
        open.view.bound(pod, node);
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
        let (until, before) = (Instant::now() + NEWS, open.heard_so_far);
        while open.heard_so_far == before {
            if self.news.wait_until(open, until).timed_out() {
                return false;
            }
        }
        true
    }

    /// Wakes those that wait.
    fn tell(&self, mut open: MutexGuard<'_, Open>) {
        open.heard_so_far += 1;
        drop(open);
        self.news.notify_all();
    }

    /// A pod that was bound does not wait on its node any more: it runs, was refused, or was deleted.
    pub(crate) fn left(&self, pod: &PodUid, now: Instant) {
        let mut open = self.open.lock();
        let Some(node) = open.homes.remove(pod) else { return };
        if open.view.assumed(&node).any(|assumed| assumed.uid == *pod) {
            open.settling.insert(pod.clone(), Settling { node, since: now, states: 0 });
        }
    }

    /// A node has told a state.
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
    pub(crate) fn tidy(&self, now: Instant) {
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
        for pod in &over {
            open.forget(pod);
        }
        if !over.is_empty() {
            self.tell(open);
        }
    }
}

impl Open {
    /// A pod was offered these nodes.
    pub(crate) fn offer<N: AsRef<str>>(
        &mut self,
        pod: &Pod,
        nodes: impl IntoIterator<Item = N>,
        now: Instant,
    ) {
        self.view.offered(pod, nodes);
        self.offers.insert(pod.uid.clone(), now);
    }

    /// Whether the pod was bound lately, which is asked once.
    pub(crate) fn was_sent(&mut self, pod: &PodUid) -> bool {
        self.sent.remove(pod).is_some()
    }

    fn forget(&mut self, pod: &PodUid) {
        self.offers.remove(pod);
        self.settling.remove(pod);
        self.homes.remove(pod);
        self.view.gone(pod);
    }
}
