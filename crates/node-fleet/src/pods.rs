//! Which pods are bound to the nodes of the fleet: all of them after each break, and then each change.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use cluster_node::{ClusterError, Listener, Listening, ObjectEvent, Watched};
use kubelet_status::PodObject;

use crate::conditions::Work;
use crate::job::NodeNumber;
use crate::state::Shared;

/// The longest pause between two tries.
const AGAIN: Duration = Duration::from_secs(1);

/// Starts the thread, for the rest of the program.
pub(crate) fn start(shared: Arc<Shared>) -> anyhow::Result<()> {
    let connector = shared.connector.clone();
    let hearing = Hearing { shared, homes: BTreeMap::new(), list: List::Complete };
    Ok(Listening::new(connector, Watched::BoundPods, AGAIN, hearing).start("pods")?)
}

struct Hearing {
    shared: Arc<Shared>,
    /// The node of each pod, by UID.
    homes: BTreeMap<String, NodeNumber>,
    list: List,
}

/// How much is known of the pods that there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum List {
    /// A part. A pod that is not heard of yet may be the older one, or gone.
    Begun,
    /// All.
    Complete,
}

impl Listener for Hearing {
    fn heard(&mut self, event: ObjectEvent) -> ControlFlow<()> {
        match event {
            ObjectEvent::Listing => self.list = List::Begun,
            ObjectEvent::Is(object) => {
                let object = PodObject::new(object.into_json()).filter(|object| !object.is_mirror());
                let uid = object.and_then(|object| self.is(object));
                if let Some(uid) = uid.filter(|_| self.list == List::Complete) {
                    self.look_at(&uid);
                }
            }
            ObjectEvent::Gone { id: uid, .. } => self.is_gone(&uid),
            ObjectEvent::Complete { .. } => {
                self.list = List::Complete;
                self.look_at_all();
                tracing::info!(pods = self.homes.len(), "the API server has listed the pods of the nodes");
            }
        }
        ControlFlow::Continue(())
    }

    fn failed(&mut self, error: &ClusterError) {
        self.shared.fails(Work::Pods, &error.to_string());
    }
}

impl Hearing {
    /// Gives the UID of a pod of the fleet.
    fn is(&mut self, object: PodObject) -> Option<String> {
        let name = object.json()["spec"]["nodeName"].as_str().unwrap_or_default();
        let at = self.shared.node_of(name)?;
        let uid = object.uid().to_owned();
        self.homes.insert(uid.clone(), at);
        self.shared.nodes.get(at)?.lock().is(object);
        Some(uid)
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

    /// Looks at all pods, the oldest first.
    fn look_at_all(&self) {
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
    }
}
