//! Which pods are not bound, and which are bound and on their way: their node has not published yet that they
//! run or are refused. And which have ended: what they held is free before their node publishes that.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster_node::{Connector, ObjectEvent, Watched};
use node_input::told_object;
use pod_spec::{PodRules, PodUid};
use serde_json::Value;

use crate::conditions::ServiceConditions;
use crate::listening::{self, Subject};
use crate::outlook::{Outlook, WaitsFor};
use crate::timeouts::Timeouts;

const PENDING: Subject = Subject { thread: "pending", what: "pending pods", watched: Watched::PendingPods };
const ENDS: Subject = Subject { thread: "ends", what: "ends of pods", watched: Watched::PodEnds };

/// The node that a pod is bound to.
const NODE: &str = "/spec/nodeName";

/// Starts the thread that hears which bound pods end, for the rest of the program.
pub(crate) fn listen_to_ends(
    connector: &Connector,
    outlook: Arc<Outlook>,
    conditions: &Arc<ServiceConditions>,
) -> anyhow::Result<()> {
    listening::start(ENDS, conditions, connector, move |event| match event {
        ObjectEvent::Is(pod) if pod.is_deleted() => {
            outlook.ending(&PodUid::new(pod.uid()), pod.text(NODE));
        }
        ObjectEvent::Gone { id, last: Some(pod) } => outlook.ended(&PodUid::new(&id), pod.text(NODE)),
        _ => {}
    })
}

/// Listens to them.
pub(crate) struct Pending {
    pub(crate) outlook: Arc<Outlook>,
    pub(crate) timeouts: Timeouts,
    /// Those of them that are bound, by UID.
    pub(crate) bound: BTreeSet<String>,
}

impl Pending {
    /// Starts the thread, for the rest of the program.
    pub(crate) fn start(
        mut self,
        connector: &Connector,
        conditions: &Arc<ServiceConditions>,
    ) -> anyhow::Result<()> {
        let heard = move |event| self.hear(event);
        listening::start(PENDING, conditions, connector, heard)
    }

    fn hear(&mut self, event: ObjectEvent) {
        match event {
            ObjectEvent::Listing => {}
            ObjectEvent::Is(pod) => {
                let uid = pod.uid().to_owned();
                self.is(&uid, &pod.into_json());
            }
            ObjectEvent::Gone { id: uid, .. } => self.has_left(&uid),
            ObjectEvent::Complete { .. } => self.outlook.lock().heard.pods = true,
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
                let pod = Arc::new(pod);
                self.timeouts.look(&pod, object);
                self.outlook.unbound(pod, waits_for(object));
            }
            Ok(pod) => {
                self.timeouts.left(uid);
                self.outlook.bound(Arc::new(pod), node);
            }
            Err(why) => {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                tracing::warn!(pod = name, "a pending pod cannot be read, and is not counted: {why}");
            }
        }
    }

    fn has_left(&mut self, uid: &str) {
        let pod = PodUid::new(uid);
        self.timeouts.left(uid);
        if self.bound.remove(uid) {
            self.outlook.left(&pod);
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
