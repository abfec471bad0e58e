//! What a node reports of the pods that it has to run.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use serde_json::Value;

use crate::connection::Cluster;
use crate::error::ClusterError;
use crate::events::PodReference;

/// Who writes fields, as `managedFields` has it.
pub(crate) const WRITER: &str = "topolet";

impl Cluster {
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

pub(crate) fn pod_kind() -> ApiResource {
    ApiResource::erase::<Pod>(&())
}
