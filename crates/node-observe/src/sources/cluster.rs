//! An API server, and the kubelet's HTTPS endpoint.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster_node::{Cluster, ClusterError, KubeletAccess, KubeletPods, NodeInCluster, PodWatch};
use node_view::clock::Clock;
use pods_api::{Event, KubeletPod};

use crate::source::{PodEvents, PodSources, Source, SourceError};

/// How often the endpoint, which reports no changes, is read.
const PERIOD: Duration = Duration::from_secs(5);

pub(super) fn all(given: &PodSources, clock: &Arc<dyn Clock>) -> Vec<Box<dyn Source>> {
    let cluster = given.cluster.clone().map(|node| Box::new(node) as Box<dyn Source>);
    let kubelet = given.kubelet.clone().map(|access| Endpoint { access, clock: clock.clone() });
    let kubelet = kubelet.map(|endpoint| Box::new(endpoint) as Box<dyn Source>);
    cluster.into_iter().chain(kubelet).collect()
}

impl From<ClusterError> for SourceError {
    fn from(error: ClusterError) -> Self {
        let text = error.to_string();
        match error {
            ClusterError::Ended(_) | ClusterError::Expired(_) => Self::Ended(text),
            _ => Self::Failed(text),
        }
    }
}

impl Source for NodeInCluster {
    fn name(&self) -> &'static str {
        "the API server"
    }

    fn may_be_there(&self) -> bool {
        Cluster::new(&self.access).is_ok_and(|cluster| cluster.is_listening())
    }

    fn watch(&self) -> Result<Box<dyn PodEvents>, SourceError> {
        Ok(Box::new(Cluster::new(&self.access)?.pods_of(&self.node)?))
    }
}

impl PodEvents for PodWatch {
    fn next(&mut self, within: Duration) -> Result<Option<Event>, SourceError> {
        Ok(Self::next(self, within)?)
    }
}

/// The kubelet's HTTPS endpoint.
struct Endpoint {
    access: KubeletAccess,
    clock: Arc<dyn Clock>,
}

impl Source for Endpoint {
    fn name(&self) -> &'static str {
        "the kubelet's HTTPS endpoint"
    }

    fn may_be_there(&self) -> bool {
        true
    }

    fn watch(&self) -> Result<Box<dyn PodEvents>, SourceError> {
        let kubelet = KubeletPods::new(&self.access)?;
        let clock = self.clock.clone();
        let (known, next) = (BTreeMap::new(), clock.now());
        let mut asking = Asking { kubelet, clock, known, events: VecDeque::new(), next };
        asking.ask()?;
        asking.events.push_back(Event::Complete);
        Ok(Box::new(asking))
    }
}

/// Changes found by reading the endpoint again and again.
struct Asking {
    kubelet: KubeletPods,
    clock: Arc<dyn Clock>,
    /// By UID.
    known: BTreeMap<String, KubeletPod>,
    events: VecDeque<Event>,
    next: Instant,
}

impl Asking {
    /// Reads the pods, and queues an event for each change.
    fn ask(&mut self) -> Result<(), SourceError> {
        let listed = self.kubelet.list()?;
        let now: BTreeMap<String, KubeletPod> =
            listed.into_iter().map(|pod| (pod.uid().to_owned(), pod)).collect();
        let changed = now.iter().filter(|(uid, pod)| self.known.get(*uid) != Some(*pod));
        self.events.extend(changed.map(|(_, pod)| Event::Is(Box::new(pod.clone()))));
        let gone = self.known.iter().filter(|(uid, _)| !now.contains_key(*uid));
        self.events.extend(gone.map(|(_, pod)| Event::Gone(Box::new(pod.clone()))));
        self.known = now;
        self.next = self.clock.now() + PERIOD;
        Ok(())
    }
}

impl PodEvents for Asking {
    fn next(&mut self, within: Duration) -> Result<Option<Event>, SourceError> {
        if let Some(event) = self.events.pop_front() {
            return Ok(Some(event));
        }
        let left = self.next.saturating_duration_since(self.clock.now());
        self.clock.sleep(left.min(within));
        if left <= within {
            self.ask()?;
        }
        Ok(self.events.pop_front())
    }
}
