//! Pods that nodes refuse though they passed here.

use std::sync::Arc;

use cluster_node::{Connector, ObjectEvent, Watched};
use pod_spec::PodUid;

use crate::conditions::ServiceConditions;
use crate::listening::{self, Subject};
use crate::metrics::Metrics;
use crate::outlook::Outlook;

const REFUSALS: Subject =
    Subject { thread: "refusals", what: "refusals of pods", watched: Watched::PodFailures };
/// The reasons that an extender could have known, beside `OutOf` a resource: the kubelet's, and the node's own for pods that
/// choose their rules or need linked devices.
const REASONS: [&str; 6] = [
    "TopologyAffinityError",
    "UnexpectedAdmissionError",
    "SMTAlignmentError",
    "EmptyPodSharedPoolError",
    "PodPolicyError",
    "DeviceLinkError",
];

/// Starts the thread, for the rest of the program.
pub(crate) fn listen(
    connector: &Connector,
    outlook: Arc<Outlook>,
    metrics: Arc<Metrics>,
    conditions: &Arc<ServiceConditions>,
) -> anyhow::Result<()> {
    listening::start(REFUSALS, conditions, connector, move |event| {
        let ObjectEvent::Is(pod) = event else { return };
        let (uid, reason) = (pod.uid(), pod.text("/status/reason"));
        let is_refused = REASONS.contains(&reason) || reason.starts_with("OutOf");
        if is_refused && outlook.lock().was_sent(&PodUid::new(uid)) {
            metrics.mispredicted(reason);
            let node = pod.text("/spec/nodeName");
            tracing::warn!(node, uid, reason, "a node has refused a pod that passed here");
        }
    })
}
