//! What is to be said of a pod that a kubelet has just refused.
//!
//! It is decided again on what the kubelet had written until then. The look came after the refusal, so another pod may
//! have come in between. If the decision is not the kubelet's, the one on what was served when the refusal came in counts
//! if that is. Of a pod that was refused before the kubelet was listened to nothing is said unless the decision on the
//! node as it is now is the kubelet's.

use std::sync::Arc;
use std::time::Instant;

use admission_report::{Alternative, Report};
use pod_spec::Pod;
use topology_admission::Detail;

use super::pods::{Heard, Refusal};
use crate::clock;
use crate::explain::{self, Before};
use crate::shared::{KubeletDecision, LoggedDecision, Shared};

/// Reasons that are the managers', or the node's for want of a resource. Others are told as they are.
const EXPLAINED: [&str; 4] =
    ["TopologyAffinityError", "UnexpectedAdmissionError", "SMTAlignmentError", "EmptyPodSharedPoolError"];

/// Logs, counts and keeps why.
pub(super) fn explain(shared: &Shared, refusal: &Refusal) {
    let Refusal { name: pod, reason, message: text, .. } = refusal;
    if !EXPLAINED.contains(&reason.as_str()) && !reason.starts_with("OutOf") {
        tracing::warn!(pod, reason, text, "pod refused by the kubelet");
        return;
    }
    let asked = match (&refusal.pod, shared.notes.why_stale()) {
        (Err(why), _) => Err(format!("what it requests is not known: {why}")),
        (_, Some(why)) => Err(format!("the state of the node is not known: {why}")),
        (Ok(asked), None) => Ok(asked),
    };
    let asked = match asked {
        Ok(asked) => asked,
        Err(unknown) => {
            tracing::warn!(pod, reason, text, unknown, "pod refused by the kubelet");
            return;
        }
    };
    let began = Instant::now();
    let (report, agrees) = decided_again(shared, refusal, asked);
    if !agrees && refusal.heard == Heard::Later {
        let unknown = "the node has changed since: it was refused while nobody listened to the kubelet";
        tracing::warn!(pod, reason, text, unknown, "pod refused by the kubelet");
        return;
    }
    shared.metrics.explained(reason, agrees);
    let why = report.refusal().and_then(admission_report::Refusal::why).unwrap_or_default();
    let fits = report.refusal().and_then(|refusal| refusal.alternatives.first()).map(Alternative::to_string);
    let fits = fits.unwrap_or_default();
    if agrees {
        tracing::warn!(pod, reason, text, why, fits, "pod refused by the kubelet");
    } else {
        let here = report.refusal().map_or("admitted".to_owned(), |refusal| refusal.reason.to_string());
        tracing::warn!(
            pod,
            reason,
            text,
            here,
            why,
            "pod refused by the kubelet, and decided otherwise here"
        );
    }
    shared.log.add(LoggedDecision {
        time: clock::now(),
        source: "kubelet",
        took_microseconds: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        kubelet: Some(KubeletDecision {
            reason: reason.clone(),
            message: text.clone(),
            agrees,
            is_late: refusal.heard == Heard::Later,
        }),
        report: Arc::new(report),
    });
}

/// The decision on the pod, and whether it is the kubelet's.
fn decided_again(shared: &Shared, refusal: &Refusal, pod: &Pod) -> (Report, bool) {
    let now = shared.snapshot.load_full();
    let on = |snapshot: &node_agent::Snapshot| {
        let before = Before { ledger: &snapshot.ledger, requests: shared.requests() };
        explain::one(&shared.node, Detail::Merges, &before, pod).0
    };
    let is_same =
        |report: &Report| report.refusal().is_some_and(|here| here.reason.to_string() == refusal.reason);
    let latest = on(&now);
    if is_same(&latest) {
        return (latest, true);
    }
    let earlier = on(&refusal.served);
    if is_same(&earlier) { (earlier, true) } else { (latest, false) }
}
