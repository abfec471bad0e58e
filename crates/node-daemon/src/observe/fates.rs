//! Reports the [fate](kubelet_fates::Fate) of a pod on which the kubelet has not decided for some seconds, or which it has
//! admitted with a fault.

use std::sync::Arc;
use std::time::Instant;

use kubelet_fates::Fate;
use pod_spec::Pod;
use topology_admission::Detail;

use crate::clock;
use crate::explain::{self, Before};
use crate::shared::{LoggedDecision, Shared};

/// What the kubelet has done with the pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// It has not decided on the pod, for longer than a kubelet takes.
    Undecided,
    /// It has admitted the pod.
    Admitted,
}

impl Stage {
    /// Whether a kubelet that meets the fate is at this stage now.
    const fn fits(self, fate: &Fate) -> bool {
        match fate {
            Fate::Crashes(_) | Fate::NeverAnswers | Fate::AnswersLate(_) => matches!(self, Self::Undecided),
            Fate::GivesTwice(_) | Fate::CannotRestart(_) | Fate::LosesCpus => matches!(self, Self::Admitted),
        }
    }
}

/// Logs, counts and keeps the fate of a pod, and makes it an event; nothing if there is none.
pub(super) fn tell(shared: &Shared, stage: Stage, pod: &Arc<Pod>) {
    if shared.notes.why_stale().is_some() {
        return;
    }
    let began = Instant::now();
    // The kubelet's list of pods has it already.
    let ledger = shared.snapshot.load().ledger.release(&pod.uid);
    let before = Before { ledger: &ledger, requests: shared.requests(), now: None };
    let (report, _) = explain::one(&shared.node, Detail::Merges, &before, pod);
    let Some(fated) = report.fated().filter(|fated| stage.fits(&fated.fate)) else { return };
    let (name, kind) = (format!("{}/{}", pod.namespace, pod.name), fated.fate.kind());
    let (text, avoided) = (fated.to_string(), fated.ways_out().join("; "));
    tracing::warn!(pod = name, fate = kind, avoided, "{text}");
    shared.metrics.fated(kind);
    let logged = LoggedDecision {
        time: clock::now(),
        uid: pod.uid.clone(),
        source: "kubelet",
        took_microseconds: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        kubelet: None,
        free: node_output::free_cpus(&shared.node.node, &ledger),
        asked: Some(pod.clone()),
        report: Arc::new(report),
    };
    shared.decided(pod, logged);
}
