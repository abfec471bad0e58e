//! The pods that a node has to run, and what it says of them.
//!
//! Here a pod is its whole object, and one that is not listed does not exist: who owns a node gives back what it held.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use serde_json::Value;

use crate::connection::Cluster;
use crate::error::ClusterError;
use crate::events::PodReference;
use crate::watch::{Freshness, ObjectEvent, ObjectWatch, Selected};

/// Who writes fields, as `managedFields` has it.
pub(crate) const WRITER: &str = "topolet";

/// The pods that a node, or several, have to run.
pub struct BoundPods(ObjectWatch);

/// Bound pods that end.
pub struct PodEnds(ObjectWatch);

/// A pod that ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndingPod {
    /// How far it is.
    pub end: PodEnd,
    /// Its UID.
    pub uid: String,
    /// The node that it was bound to.
    pub node: String,
}

/// Bound pods that fail.
pub struct PodFailures(ObjectWatch);

/// A pod that has failed, or was refused by its node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedPod {
    /// Its UID.
    pub uid: String,
    /// The node that it was bound to.
    pub node: String,
    /// `status.reason`; empty if it has none.
    pub reason: String,
}

/// How far the end of a pod is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PodEnd {
    /// Somebody has deleted it, and its node ends it.
    Begun,
    /// It has ended, or its object is gone.
    Over,
}

/// What has happened to a pod that is bound to a node.
#[derive(Clone, PartialEq, Debug)]
pub enum BoundPodEvent {
    /// It is there as it is here: new, or changed.
    Is(Value),
    /// All pods that there were at the start have been told.
    Complete,
    /// The object of that UID is gone.
    Gone(String),
}

impl Cluster {
    /// All pods that are bound to the node of that name, and each change from then on.
    ///
    /// # Errors
    /// The API server cannot be reached, or the right to list pods is missing.
    pub fn pods_bound_to(self, node: &str) -> Result<BoundPods, ClusterError> {
        Ok(BoundPods(ObjectWatch::of(self, &pod_kind(), Selected::BoundTo(node), Freshness::Latest)?))
    }

    /// The same of the pods that are bound to any node.
    ///
    /// # Errors
    /// The API server cannot be reached, or the right to list pods is missing.
    pub fn bound_pods(self) -> Result<BoundPods, ClusterError> {
        Ok(BoundPods(ObjectWatch::of(self, &pod_kind(), Selected::Bound, Freshness::LatestByPages)?))
    }

    /// The same of the pods that are bound to no node yet, and of those that are bound and of which their node does not report yet
    /// that they run, or that it refuses them: then they are gone here. A pod is unbound first and bound later in one order.
    ///
    /// # Errors
    /// The API server cannot be reached, or the right to list pods is missing.
    pub fn pending_pods(self) -> Result<BoundPods, ClusterError> {
        Ok(BoundPods(ObjectWatch::of(self, &pod_kind(), Selected::Pending, Freshness::LatestByPages)?))
    }

    /// Bound pods that are deleted or end from now on.
    ///
    /// # Errors
    /// The API server cannot be reached, or the right to list pods is missing.
    pub fn pod_ends(self) -> Result<PodEnds, ClusterError> {
        Ok(PodEnds(ObjectWatch::of(self, &pod_kind(), Selected::BoundAndAlive, Freshness::Changes)?))
    }

    /// Bound pods that fail from now on, or are refused by their node.
    ///
    /// # Errors
    /// The API server cannot be reached, or the right to list pods is missing.
    pub fn pod_failures(self) -> Result<PodFailures, ClusterError> {
        Ok(PodFailures(ObjectWatch::of(self, &pod_kind(), Selected::BoundAndFailed, Freshness::Changes)?))
    }

    /// Patches the status of a pod by a strategic merge. Gives the pod as it is then.
    ///
    /// # Errors
    /// There is no such pod, it is another pod of that name ([`ClusterError::Refused`] with 409), or the right to patch
    /// `pods/status` is missing.
    pub fn patch_pod_status(&self, pod: &PodReference, patch: &Value) -> Result<Value, ClusterError> {
        let pods = self.pods_in(&pod.namespace);
        let patched =
            self.wait(pods.patch_status(&pod.name, &PatchParams::default(), &Patch::Strategic(patch)))?;
        serde_json::to_value(patched).map_err(|error| pods_api::NotAPod::Text(error).into())
    }

    /// Removes the object of a pod of which nothing runs any more.
    ///
    /// # Errors
    /// There is no such pod, it is another pod of that name ([`ClusterError::Refused`] with 409), or the right to delete
    /// pods is missing.
    pub fn finalise_pod(&self, pod: &PodReference) -> Result<(), ClusterError> {
        let preconditions = Preconditions { uid: Some(pod.uid.clone()), resource_version: None };
        let how = DeleteParams::default().grace_period(0).preconditions(preconditions);
        self.wait(self.pods_in(&pod.namespace).delete(&pod.name, &how)).map(drop)
    }

    fn pods_in(&self, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &pod_kind())
    }
}

impl BoundPods {
    /// The next event; `None`: nothing has happened within that time. After an error the watch is over.
    ///
    /// # Errors
    /// The API server cannot be reached any more, or has forgotten what came in between.
    pub fn next(&mut self, within: Duration) -> Result<Option<BoundPodEvent>, ClusterError> {
        Ok(match self.0.next(within)? {
            Some(ObjectEvent::Is(pod)) => {
                let pod = serde_json::to_value(pod).map_err(pods_api::NotAPod::Text)?;
                Some(BoundPodEvent::Is(pod))
            }
            Some(ObjectEvent::Gone(pod)) => Some(BoundPodEvent::Gone(pod.metadata.uid.unwrap_or_default())),
            Some(ObjectEvent::Complete) => Some(BoundPodEvent::Complete),
            None => None,
        })
    }
}

impl PodEnds {
    /// The next pod that ends, or begins to; `None`: none does for a while, or another one has changed. After an error the
    /// watch is over.
    ///
    /// # Errors
    /// The API server cannot be reached any more, or has forgotten what came in between.
    pub fn next(&mut self, within: Duration) -> Result<Option<EndingPod>, ClusterError> {
        let (pod, end) = match self.0.next(within)? {
            Some(ObjectEvent::Gone(pod)) => (pod, PodEnd::Over),
            Some(ObjectEvent::Is(pod)) if pod.metadata.deletion_timestamp.is_some() => (pod, PodEnd::Begun),
            Some(ObjectEvent::Is(_) | ObjectEvent::Complete) | None => return Ok(None),
        };
        let node = pod.data["spec"]["nodeName"].as_str().unwrap_or_default().to_owned();
        Ok(Some(EndingPod { end, uid: pod.metadata.uid.unwrap_or_default(), node }))
    }
}

impl PodFailures {
    /// The next pod that fails; `None`: none does for a while, or one has changed otherwise. After an error the watch is over.
    ///
    /// # Errors
    /// The API server cannot be reached any more, or has forgotten what came in between.
    pub fn next(&mut self, within: Duration) -> Result<Option<FailedPod>, ClusterError> {
        let Some(ObjectEvent::Is(pod)) = self.0.next(within)? else { return Ok(None) };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (node, reason) = (text(&pod.data["spec"]["nodeName"]), text(&pod.data["status"]["reason"]));
        Ok(Some(FailedPod { uid: pod.metadata.uid.unwrap_or_default(), node, reason }))
    }
}

pub(crate) fn pod_kind() -> ApiResource {
    ApiResource::erase::<Pod>(&())
}
