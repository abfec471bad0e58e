//! Which pods are bound and on their way: those of which their node has not said yet that they run or are refused. And
//! which have ended: what they held is free before their node says so.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use cluster_node::{Access, BoundPodEvent, Cluster, ClusterError, EndingPod, PodEnd};
use pod_spec::{Pod, PodRules, PodUid};
use serde_json::Value;

use crate::answers;
use crate::listening::{self, SILENCE, Troubles};
use crate::outlook::Outlook;

const WHAT: &str = "bound pods";

const ENDS: &str = "ends of pods";

/// Starts the thread that hears which bound pods end, for the rest of the program.
pub(crate) fn listen_to_ends(
    access: Access,
    outlook: Arc<Outlook>,
    troubles: Arc<Troubles>,
) -> anyhow::Result<()> {
    let known = troubles.clone();
    listening::start("ends", ENDS, troubles, move || {
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
pub(crate) struct Bound {
    pub(crate) access: Access,
    pub(crate) outlook: Arc<Outlook>,
    pub(crate) troubles: Arc<Troubles>,
    /// By UID.
    pub(crate) waiting: BTreeSet<String>,
}

impl Bound {
    /// Starts the thread, for the rest of the program.
    pub(crate) fn start(mut self) -> anyhow::Result<()> {
        listening::start("bound", WHAT, self.troubles.clone(), move || self.listen())
    }

    fn listen(&mut self) -> ClusterError {
        let mut pods = match Cluster::new(&self.access).and_then(Cluster::bound_pending_pods) {
            Ok(pods) => pods,
            Err(error) => return error,
        };
        let mut listed = Some(BTreeSet::new());
        loop {
            match pods.next(SILENCE) {
                Ok(None) => {}
                Ok(Some(BoundPodEvent::Is(object))) => {
                    let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
                    if let Some(listed) = &mut listed {
                        listed.insert(uid.clone());
                    }
                    if self.waiting.insert(uid) {
                        self.is(&object);
                    }
                }
                Ok(Some(BoundPodEvent::Gone(uid))) => self.has_left(&uid),
                Ok(Some(BoundPodEvent::Complete)) => {
                    let Some(listed) = listed.take() else { continue };
                    let gone: Vec<String> = self.waiting.difference(&listed).cloned().collect();
                    for uid in &gone {
                        self.has_left(uid);
                    }
                    self.outlook.lock().heard.pods = true;
                    self.troubles.works(WHAT);
                }
                Err(error) => return error,
            }
        }
    }

    fn is(&self, object: &Value) {
        let node = object["spec"]["nodeName"].as_str().unwrap_or_default();
        let pod: Result<Pod, String> = answers::pod_of(object, PodRules::default());
        match pod {
            Ok(pod) => self.outlook.bound(Arc::new(pod), node),
            Err(why) => {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                tracing::warn!(pod = name, "a bound pod cannot be read, and is not counted: {why}");
            }
        }
    }

    fn has_left(&mut self, uid: &str) {
        if self.waiting.remove(uid) {
            self.outlook.left(&PodUid::new(uid), Instant::now());
        }
    }
}
