//! Pods as a kubelet or an API server tells them, read as manifests.

use pod_spec::{Pod, PodRules};
use pods_api::KubeletPod;
use topology_manifest::{Source as Text, read_pods_with};

/// What the pod requests, as if it had not been decided on; else why that is not known.
pub(crate) fn spec(pod: &KubeletPod, rules: PodRules) -> Result<Pod, String> {
    let text = pod.clone().without_status().to_json().map_err(|error| error.to_string())?;
    let read = Text::from_bytes("the kubelet's pod", text.as_bytes())
        .and_then(|text| read_pods_with(&text, rules))
        .map_err(|error| error.to_string())?;
    read.into_iter().next().ok_or_else(|| "it is empty".to_owned())
}
