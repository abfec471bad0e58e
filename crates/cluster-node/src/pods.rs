//! The pods that are bound to a node, in the form in which a kubelet streams its own: all of them, and then
//! each change.
//!
//! A pod is there once it is bound, before the kubelet has looked at it. A mirror pod stands for a static pod of the
//! kubelet's, and is known by the UID that the kubelet has for that pod.

use std::time::Duration;

use kube::api::DynamicObject;
use pods_api::{Event, KubeletPod};

use crate::connection::Cluster;
use crate::error::ClusterError;
use crate::watch::{Happened, ObjectWatch, Watched};

/// In which a mirror pod has the UID of the static pod.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// The pods of a node.
pub struct PodWatch(ObjectWatch);

impl Cluster {
    /// All pods that are bound to the node of that name, and each change from then on.
    ///
    /// # Errors
    /// The API server cannot be reached, or the right to list pods is missing.
    pub fn pods_of(self, node: &str) -> Result<PodWatch, ClusterError> {
        Ok(PodWatch(ObjectWatch::new(self, &Watched::PodsKnownOf(node.to_owned()))?))
    }
}

impl PodWatch {
    /// The next event; `None`: nothing has happened within that time. After an error the watch is over.
    ///
    /// # Errors
    /// The API server cannot be reached any more, or has forgotten what came in between.
    pub fn next(&mut self, within: Duration) -> Result<Option<Event>, ClusterError> {
        Ok(match self.0.next(within)? {
            Some(Happened::Is(pod)) => Some(Event::Is(Box::new(told(pod.0)?))),
            Some(Happened::Gone(pod)) => Some(Event::Gone(Box::new(told(pod.0)?))),
            Some(Happened::Complete) => Some(Event::Complete),
            None => None,
        })
    }
}

/// A pod as a kubelet would tell it.
pub(crate) fn told(mut pod: DynamicObject) -> Result<KubeletPod, ClusterError> {
    if let Some(uid) = pod.metadata.annotations.as_ref().and_then(|annotations| annotations.get(MIRROR)) {
        pod.metadata.uid = Some(uid.clone());
    }
    let text = serde_json::to_string(&pod).map_err(pods_api::NotAPod::Text)?;
    Ok(KubeletPod::from_json(&text)?)
}
