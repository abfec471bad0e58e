//! What counts of pods: what those of the last day asked for, and which were refused within the last hour.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use pods_api::KubeletPod;
use serde_json::Value;

use crate::counts::{AskedCounts, since};

/// Refusals within this time count.
const WITHIN: SignedDuration = SignedDuration::from_hours(1);

/// What counts of the pods of a cluster. Pods are added one by one, and are not kept.
#[derive(Clone, Default, Debug)]
pub struct RecentPods {
    pub(crate) asked: AskedCounts,
    /// By node and the kubelet's reason.
    pub(crate) refused: BTreeMap<String, BTreeMap<String, usize>>,
}

impl RecentPods {
    /// Counts a pod as an API server has it at that time.
    pub fn add(&mut self, pod: &Value, now: Timestamp) {
        self.asked.add(pod, now);
        let (status, node) = (&pod["status"], pod["spec"]["nodeName"].as_str().unwrap_or_default());
        if status["phase"].as_str() != Some("Failed") {
            return;
        }
        let at = status["startTime"].as_str().or_else(|| pod["metadata"]["creationTimestamp"].as_str());
        if at.and_then(|at| since(at, now)).is_none_or(|age| age > WITHIN) {
            return;
        }
        let read = KubeletPod::from_json(&pod.to_string()).ok();
        if let Some(pod) = read.filter(|pod| pod.rejection().is_some()) {
            let reasons = self.refused.entry(node.to_owned()).or_default();
            *reasons.entry(pod.reason().to_owned()).or_default() += 1;
        }
    }
}
