//! What is answered at once to who wants a pod admitted.

use pod_spec::Pod;

use crate::deferred_pod::DeferredPod;
use crate::effect::{Answer, RequestError};
use node_state::{Record, manifest};

/// The answer if the pod, or another of its name, runs or waits already; `None`: it is to be decided on.
pub(crate) fn known<'a>(
    running: impl IntoIterator<Item = &'a Record>,
    waiting: impl IntoIterator<Item = &'a Pod>,
    deferred: impl IntoIterator<Item = &'a DeferredPod>,
    pod: &Pod,
) -> Option<Answer> {
    let shown = || format!("{}/{}", pod.namespace, pod.name);
    let is_same_name =
        |other: &Pod| other.uid == pod.uid || (&other.namespace, &other.name) == (&pod.namespace, &pod.name);
    if let Some(record) = running.into_iter().find(|record| is_same_name(&record.pod)) {
        if record.pod.uid == pod.uid && *record.manifest == manifest(pod) {
            return Some(Answer::Unchanged);
        }
        return Some(Answer::Failed(RequestError::OtherManifest(shown())));
    }
    if let Some(other) = deferred.into_iter().find(|other| is_same_name(&other.pod)) {
        if other.pod.uid == pod.uid && manifest(&other.pod) == manifest(pod) {
            return Some(Answer::Deferred(other.deferral.clone()));
        }
        return Some(Answer::Failed(RequestError::OtherManifest(shown())));
    }
    let waits = waiting.into_iter().any(is_same_name);
    waits.then(|| Answer::Failed(RequestError::Waiting(shown())))
}
