//! Pods that nodes refuse though they passed here.

use std::sync::Arc;

use cluster_node::{Access, Cluster, FailedPod};
use pod_spec::PodUid;

use crate::listening::{self, SILENCE, Watches};
use crate::metrics::Metrics;
use crate::outlook::Outlook;

const WHAT: &str = "refusals of pods";
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
    access: Access,
    outlook: Arc<Outlook>,
    metrics: Arc<Metrics>,
    watches: Arc<Watches>,
) -> anyhow::Result<()> {
    let known = watches.clone();
    listening::start("refusals", WHAT, watches, move || {
        let mut failures = match Cluster::new(&access).and_then(Cluster::pod_failures) {
            Ok(failures) => failures,
            Err(error) => return error,
        };
        known.works(WHAT);
        loop {
            let FailedPod { uid, node, reason } = match failures.next(SILENCE) {
                Ok(Some(failed)) => failed,
                Ok(None) => continue,
                Err(error) => return error,
            };
            let is_refused = REASONS.contains(&reason.as_str()) || reason.starts_with("OutOf");
            if is_refused && outlook.lock().was_sent(&PodUid::new(&uid)) {
                metrics.mispredicted(&reason);
                tracing::warn!(node, uid, reason, "a node has refused a pod that passed here");
            }
        }
    })
}
