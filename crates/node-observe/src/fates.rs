//! Reports the [fate](kubelet_fates::Fate) of a pod on which the kubelet has not decided for some seconds, or which it has
//! admitted with a fault.

use std::sync::Arc;

use admission_report::AdmissionQueue;
use kubelet_fates::Fate;
use node_view::explain::{self, Before};
use node_view::{DecisionWriter, KUBELET, LoggedDecision, NodeView};
use pod_spec::{Pod, PodUid};
use topology_admission::Detail;

use crate::pods::KubeletPods;

/// What the kubelet has done with the pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// It has not decided on the pod, for longer than a kubelet takes.
    Undecided,
    /// It has admitted the pod.
    Admitted,
}

impl Stage {
    /// Whether a kubelet that meets the fate is at this stage now.
    const fn fits(self, fate: &Fate) -> bool {
        match fate {
            Fate::Crashes(_) | Fate::NeverAnswers | Fate::AnswersLate(_) | Fate::NotReached(_) => {
                matches!(self, Self::Undecided)
            }
            Fate::GivesTwice(_) | Fate::CannotRestart(_) | Fate::LosesCpus => matches!(self, Self::Admitted),
        }
    }
}

/// The queue of pods on which the kubelet does not decide.
#[derive(Default)]
pub(super) struct Undecided {
    queue: AdmissionQueue,
    /// The pod behind which the others wait.
    first: Option<PodUid>,
}

impl Undecided {
    /// Reports the fate of each of `undecided`, which is new among `pods`.
    pub(super) fn report(
        &mut self,
        view: &NodeView,
        decisions: &DecisionWriter,
        pods: &KubeletPods,
        undecided: &[Arc<Pod>],
    ) {
        if self.first.as_ref().is_some_and(|first| !pods.is_undecided(first)) {
            *self = Self::default();
        }
        for pod in undecided {
            report(view, decisions, Stage::Undecided, pod, &mut self.queue);
            if self.queue.is_blocked() {
                self.first.get_or_insert_with(|| pod.uid.clone());
            }
        }
    }
}

/// Reports the fate of a pod that the kubelet has admitted.
pub(super) fn report_admitted(view: &NodeView, decisions: &DecisionWriter, pod: &Arc<Pod>) {
    report(view, decisions, Stage::Admitted, pod, &mut AdmissionQueue::default());
}

/// Logs, counts and keeps the fate of a pod, and makes it an event; nothing if there is none.
fn report(
    view: &NodeView,
    decisions: &DecisionWriter,
    stage: Stage,
    pod: &Arc<Pod>,
    queue: &mut AdmissionQueue,
) {
    if view.conditions.why_stale().is_some() {
        return;
    }
    let began = view.clock.now();
    // The ledger has a pod that the kubelet has admitted already.
    let ledger = view.snapshot().ledger.release(&pod.uid);
    let before = Before { ledger: &ledger, requests: view.requests(), waiting: None };
    let (report, _) = explain::one(view.node(), Detail::Merges, &before, pod);
    let report = queue.next(pod, report);
    let Some(fated) = report.fated().filter(|fated| stage.fits(&fated.fate)) else { return };
    let (name, kind) = (format!("{}/{}", pod.namespace, pod.name), fated.fate.kind());
    let (text, avoided) = (fated.to_string(), fated.ways_out().join("; "));
    tracing::warn!(pod = name, fate = kind, avoided, "{text}");
    view.metrics.fated(kind);
    let logged = LoggedDecision {
        time: view.clock.text(),
        uid: pod.uid.clone(),
        source: KUBELET,
        took_microseconds: u64::try_from(view.clock.since(began).as_micros()).unwrap_or(u64::MAX),
        kubelet: None,
        free: node_output::free_cpus(&view.node().node, &ledger),
        asked: Some(pod.clone()),
        report: Arc::new(report),
    };
    decisions.add(pod, logged);
}
