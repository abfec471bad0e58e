//! Pods as a kubelet or an API server tells them, read as manifests.

use pod_spec::{Pod, PodRules};
use pods_api::KubeletPod;
use serde_json::Value;
use topology_manifest::{Source, read_pods_with};

/// What the pod requests, as if it had not been decided on; else why that is not known.
///
/// # Errors
/// It is no manifest, in one sentence.
pub fn told_pod(pod: &KubeletPod, rules: PodRules) -> Result<Pod, String> {
    let text = pod.clone().as_asked().to_json().map_err(|error| error.to_string())?;
    let read = Source::from_bytes("the pod", text.as_bytes())
        .and_then(|text| read_pods_with(&text, rules))
        .map_err(|error| error.to_string())?;
    read.into_iter().next().ok_or_else(|| "it is empty".to_owned())
}

/// The same of an API server's object. Fields that pods do not have are passed over.
///
/// # Errors
/// It is no manifest, in one sentence.
pub fn told_object(object: &Value, rules: PodRules) -> Result<Pod, String> {
    told_text(&object.to_string(), rules)
}

/// The same of its text in JSON.
///
/// # Errors
/// As [`told_object`].
pub fn told_text(text: &str, rules: PodRules) -> Result<Pod, String> {
    let pod = KubeletPod::from_json(text).map_err(|error| error.to_string())?;
    told_pod(&pod, rules)
}
