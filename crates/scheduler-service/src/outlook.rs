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
/// And before, when its node has told so many states without it: the first may be older.
const STATES: u32 = 2;
/// A node that refuses a pod says so within that time.
const SENT: Duration = Duration::from_mins(5);
/// A pod that fits no node waits so long for news: kube-scheduler asks again as soon as a pod ends, and may hear of it
/// first.
const NEWS: Duration = Duration::from_millis(5);

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
    /// Pods that were offered nodes and bound lately.
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
        let was_offered = open.offers.remove(&pod.uid).is_some();
        open.settling.remove(&pod.uid);
        open.homes.insert(pod.uid.clone(), node.to_owned());
        // Of a pod that somebody else has bound nobody was asked.
        if was_offered {
            open.sent.insert(pod.uid.clone(), Instant::now());
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

    /// Whether the pod was bound lately after it had passed here, which is asked once.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use scheduler_extender::node_resource_topology::NodeResourceTopology;
    use scheduler_extender::{NodeFacts, StateVersion, Zones};
    use serde_json::json;

    use super::*;

    fn pod(name: &str) -> Pod {
        let mut pod = Pod::new("default", name, Vec::new());
        pod.uid = PodUid::new(name);
        pod
    }

    /// The state of a node that is known by amounts.
    fn state(change: u64) -> NodeState {
        let object: NodeResourceTopology = serde_json::from_value(json!({
            "apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology",
            "metadata": { "name": "a" }, "zones": [{ "name": "node-0", "type": "Node" }],
        }))
        .unwrap_or_else(|error| panic!("{error}"));
        let zones = Zones::read(&object).unwrap_or_else(|error| panic!("{error}"));
        let version = StateVersion { run: 0, change };
        NodeState { version, facts: NodeFacts::Approximate(zones), told: BTreeSet::new() }
    }

    #[test]
    fn an_offer_that_comes_to_nothing_ends() {
        let (outlook, now) = (Outlook::new(), Instant::now());
        outlook.update("a", state(1));
        outlook.lock().offer(&pod("one"), ["a"], now);
        outlook.tidy(now + OFFER / 2);
        assert_eq!(outlook.lock().view.in_flight().count(), 1);
        outlook.tidy(now + OFFER);
        assert_eq!(outlook.lock().view.in_flight().count(), 0);
    }

    #[test]
    fn a_pod_that_its_node_never_tells_of_is_assumed_until_the_node_has_told_twice() {
        let (outlook, now) = (Outlook::new(), Instant::now());
        let assumed = || outlook.lock().view.assumed("a").count();
        outlook.update("a", state(1));
        outlook.bound(Arc::new(pod("one")), "a");
        outlook.tidy(now + SETTLED);
        assert_eq!(assumed(), 1, "it waits on the node as long as it likes");
        outlook.left(&PodUid::new("one"), now);
        outlook.update("a", state(2));
        outlook.tidy(now);
        assert_eq!(assumed(), 1, "this state may be older");
        outlook.update("a", state(3));
        outlook.tidy(now);
        assert_eq!(assumed(), 0);
    }

    #[test]
    fn a_filter_waits_for_a_binding_and_no_longer_than_a_moment() {
        let outlook = Arc::new(Outlook::new());
        outlook.update("a", state(1));
        outlook.lock().offer(&pod("one"), ["a"], Instant::now());
        let began = Instant::now();
        drop(outlook.lock_settled(&PodUid::new("two")));
        assert!(began.elapsed() >= BINDING);
        // A pod does not wait for itself.
        assert_eq!(outlook.lock_settled(&PodUid::new("one")).view.in_flight().count(), 1);
        let other = outlook.clone();
        let binding = std::thread::spawn(move || other.bound(Arc::new(pod("one")), "a"));
        let open = outlook.lock_settled(&PodUid::new("two"));
        assert_eq!(open.view.in_flight().count(), 0);
        drop(open);
        assert!(binding.join().is_ok());
    }

    #[test]
    fn a_refusal_counts_once_and_for_pods_that_passed_here_lately() {
        let (outlook, uid) = (Outlook::new(), PodUid::new("one"));
        let send = || {
            outlook.lock().offer(&pod("one"), ["a"], Instant::now());
            outlook.bound(Arc::new(pod("one")), "a");
        };
        send();
        outlook.tidy(Instant::now());
        let mut open = outlook.lock();
        assert_eq!([open.was_sent(&uid), open.was_sent(&uid)], [true, false]);
        drop(open);
        send();
        outlook.tidy(Instant::now() + SENT);
        assert!(!outlook.lock().was_sent(&uid));
        // Somebody else has bound it.
        outlook.bound(Arc::new(pod("two")), "a");
        assert!(!outlook.lock().was_sent(&PodUid::new("two")));
    }
}
