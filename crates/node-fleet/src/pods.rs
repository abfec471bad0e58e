//! Which pods are bound to the nodes of the fleet: all of them after each break, and then each change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cluster_node::{Backoff, BoundPodEvent, Cluster, ClusterError};
use kubelet_status::PodObject;

use crate::conditions::Work;
use crate::job::NodeNumber;
use crate::state::Shared;

/// How long nothing may happen until the connection is looked at.
const SILENCE: Duration = Duration::from_mins(1);
/// The longest pause between two tries.
const AGAIN: Duration = Duration::from_secs(1);

/// Starts the thread, for the rest of the program.
pub(crate) fn start(shared: Arc<Shared>) -> anyhow::Result<()> {
    thread::Builder::new().name("pods".to_owned()).spawn(move || {
        let mut hearing = Hearing { shared, homes: BTreeMap::new() };
        let mut backoff = Backoff::up_to(AGAIN);
        loop {
            match hearing.listen() {
                // An API server that stops or forgets is no fault.
                ClusterError::Ended(_) | ClusterError::Expired(_) => {}
                error => hearing.shared.fails(Work::Pods, &error.to_string()),
            }
            let clock = hearing.shared.clock();
            clock.sleep(backoff.pause(clock.random()));
        }
    })?;
    Ok(())
}

struct Hearing {
    shared: Arc<Shared>,
    /// The node of each pod, by UID.
    homes: BTreeMap<String, NodeNumber>,
}

impl Hearing {
    /// Listens until the watch is over, and says why it is.
    fn listen(&mut self) -> ClusterError {
        let mut pods = match self.shared.connector.connect().and_then(Cluster::bound_pods) {
            Ok(pods) => pods,
            Err(error) => return error,
        };
        // The list as far as it is known; a pod that is not heard of yet may be the older one, or gone.
        let mut listed = Some(BTreeSet::new());
        loop {
            match pods.next(SILENCE) {
                Ok(None) => {}
                Ok(Some(BoundPodEvent::Is(object))) => {
                    let Some(object) = PodObject::new(object).filter(|object| !object.is_mirror()) else {
                        continue;
                    };
                    let uid = object.uid().to_owned();
                    if !self.is(object) {
                        continue;
                    }
                    match &mut listed {
                        Some(listed) => {
                            listed.insert(uid);
                        }
                        None => self.look_at(&uid),
                    }
                }
                Ok(Some(BoundPodEvent::Gone(uid))) => self.is_gone(&uid),
                Ok(Some(BoundPodEvent::Complete)) => {
                    if let Some(listed) = listed.take() {
                        self.are_all(&listed);
                    }
                }
                Err(error) => return error,
            }
        }
    }

    /// Whether it is a pod of the fleet.
    fn is(&mut self, object: PodObject) -> bool {
        let name = object.json()["spec"]["nodeName"].as_str().unwrap_or_default();
        let Some(at) = self.shared.node_of(name) else { return false };
        self.homes.insert(object.uid().to_owned(), at);
        if let Some(node) = self.shared.nodes.get(at) {
            node.lock().is(object);
        }
        true
    }

    fn look_at(&self, uid: &str) {
        let Some(at) = self.homes.get(uid).copied() else { return };
        if let Some(node) = self.shared.nodes.get(at) {
            self.shared.act(at, &mut node.lock(), uid);
        }
    }

    fn is_gone(&mut self, uid: &str) {
        let Some(node) = self.homes.get(uid).and_then(|at| self.shared.nodes.get(*at)) else { return };
        if let Some(pod) = node.lock().pods.get_mut(uid) {
            pod.object = None;
        }
        self.look_at(uid);
        self.homes.remove(uid);
    }

    /// Pods that are not in the list are gone; the others are looked at, the oldest first.
    fn are_all(&mut self, listed: &BTreeSet<String>) {
        let gone: Vec<String> = self.homes.keys().filter(|uid| !listed.contains(*uid)).cloned().collect();
        for uid in gone {
            self.is_gone(&uid);
        }
        let mut open: Vec<(String, &String)> = Vec::new();
        for (uid, at) in &self.homes {
            let Some(node) = self.shared.nodes.get(*at) else { continue };
            let node = node.lock();
            let created = node.pods.get(uid).and_then(|pod| pod.object.as_ref()).map(PodObject::created);
            open.push((created.unwrap_or_default().to_owned(), uid));
        }
        open.sort();
        for (_, uid) in open {
            self.look_at(uid);
        }
        tracing::info!(pods = listed.len(), "the API server tells of its pods");
    }
}
