//! Which pods are not bound, and which are bound and on their way: those of which their node has not said yet that they run or
//! are refused. And which have ended: what they held is free before their node says so.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use cluster_node::{Access, BoundPodEvent, Cluster, ClusterError, EndingPod, PodEnd};
use node_input::told_object;
use pod_spec::{PodRules, PodUid};
use serde_json::Value;

use crate::known::Known;
use crate::listening::{self, SILENCE, Watches};
use crate::outlook::{Outlook, WaitsFor};

const WHAT: &str = "pending pods";

const ENDS: &str = "ends of pods";

/// Starts the thread that hears which bound pods end, for the rest of the program.
pub(crate) fn listen_to_ends(
    access: Access,
    outlook: Arc<Outlook>,
    watches: Arc<Watches>,
) -> anyhow::Result<()> {
    let known = watches.clone();
    listening::start("ends", ENDS, watches, move || {
        let mut ends = match Cluster::new(&access).and_then(Cluster::pod_ends) {
            Ok(ends) => ends,
            Err(error) => return error,
        };
        known.works(ENDS);
        loop {
            match ends.next(SILENCE) {
                Ok(None) => {}
                Ok(Some(EndingPod { end: PodEnd::Begun, uid, node })) => {
                    outlook.ending(&PodUid::new(&uid), &node);
                }
                Ok(Some(EndingPod { end: PodEnd::Over, uid, node })) => {
                    outlook.ended(&PodUid::new(&uid), &node);
                }
                Err(error) => return error,
            }
        }
    })
}

/// Listens to them.
pub(crate) struct Pending {
    pub(crate) access: Access,
    pub(crate) outlook: Arc<Outlook>,
    pub(crate) watches: Arc<Watches>,
    /// By UID.
    pub(crate) known: Known,
    /// Those of them that are bound.
    pub(crate) bound: BTreeSet<String>,
}

impl Pending {
    /// Starts the thread, for the rest of the program.
    pub(crate) fn start(mut self) -> anyhow::Result<()> {
        listening::start("pending", WHAT, self.watches.clone(), move || self.listen())
    }

    fn listen(&mut self) -> ClusterError {
        let mut pods = match Cluster::new(&self.access).and_then(Cluster::pending_pods) {
            Ok(pods) => pods,
            Err(error) => return error,
        };
        self.known.list();
        loop {
            match pods.next(SILENCE) {
                Ok(None) => {}
                Ok(Some(BoundPodEvent::Is(object))) => {
                    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
                    self.known.is(uid);
                    self.is(uid, &object);
                }
                Ok(Some(BoundPodEvent::Gone(uid))) => {
                    if self.known.is_gone(&uid) {
                        self.has_left(&uid);
                    }
                }
                Ok(Some(BoundPodEvent::Complete)) => {
                    for uid in self.known.complete() {
                        self.has_left(&uid);
                    }
                    self.outlook.lock().heard.pods = true;
                    self.watches.works(WHAT);
                }
                Err(error) => return error,
            }
        }
    }

    fn is(&mut self, uid: &str, object: &Value) {
        let node = object["spec"]["nodeName"].as_str().unwrap_or_default();
        // What has been bound stays as it was then.
        if !node.is_empty() && !self.bound.insert(uid.to_owned()) {
            return;
        }
        match told_object(object, PodRules::default()) {
            Ok(pod) if node.is_empty() => {
                self.outlook.unbound(Arc::new(pod), waits_for(object), Instant::now());
            }
            Ok(pod) => self.outlook.bound(Arc::new(pod), node),
            Err(why) => {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                tracing::warn!(pod = name, "a pending pod cannot be read, and is not counted: {why}");
            }
        }
    }

    fn has_left(&mut self, uid: &str) {
        let pod = PodUid::new(uid);
        if self.bound.remove(uid) {
            self.outlook.left(&pod, Instant::now());
        } else {
            self.outlook.withdrawn(&pod);
        }
    }
}

/// What a pod waits for that is not bound.
fn waits_for(object: &Value) -> WaitsFor {
    let has_gates = object["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
    if has_gates || !object["metadata"]["deletionTimestamp"].is_null() {
        WaitsFor::Others
    } else {
        WaitsFor::Node
    }
}
