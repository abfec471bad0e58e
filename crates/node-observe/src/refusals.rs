//! What is to be said of a pod that a kubelet has just refused.
//!
//! It is decided again on what the kubelet had written until then. The look came after the refusal, so another pod may
//! have come in between. If the decision is not the kubelet's, the latest state of the last [`RECENT`] counts on which it
//! is. Of a pod that was refused before the kubelet was listened to nothing is said unless there is such a state.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::iter;
use std::sync::Arc;
use std::time::{Duration, Instant};

use admission_report::{Alternative, Report};
use cpuset::CpuSet;
use device_manager::Inventory;
use node_input::{LoadedNode, Requests};
use node_state::{PodNames, StateFolder};
use node_view::explain::{self, Before};
use node_view::{Agreement, DecisionWriter, KUBELET, KubeletDecision, LoggedDecision, NodeView};
use pod_spec::Pod;
use topology_admission::{Detail, Ledger};

use super::disagreements::Disagreements;
use super::pods::{Heard, Refusal};

/// Reasons that are the managers', or the node's for want of a resource. Others are told as they are.
const EXPLAINED: [&str; 4] =
    ["TopologyAffinityError", "UnexpectedAdmissionError", "SMTAlignmentError", "EmptyPodSharedPoolError"];

/// How long a kubelet's word of a refusal may take: an API server hears of it some time later.
const RECENT: Duration = Duration::from_secs(30);
/// So many states are kept at most.
const STATES: usize = 64;

/// Logs, counts and keeps why.
pub(super) fn explain(
    view: &NodeView,
    decisions: &DecisionWriter,
    earlier: &Earlier,
    disagreements: Option<&Disagreements>,
    refusal: &Refusal,
) {
    let Refusal { name: pod, reason, message: text, .. } = refusal;
    if !EXPLAINED.contains(&reason.as_str()) && !reason.starts_with("OutOf") {
        tracing::warn!(pod, reason, text, "pod refused by the kubelet");
        return;
    }
    let asked = match (&refusal.pod, view.conditions.why_stale()) {
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
    let began = view.clock.now();
    let Again { report, agreement, free } = decided_again(view, earlier, refusal, asked);
    let agrees = agreement == Agreement::Same;
    if !agrees && refusal.heard == Heard::Later {
        let unknown = "the node has changed since: it was refused while nobody listened to the kubelet";
        tracing::warn!(pod, reason, text, unknown, "pod refused by the kubelet");
        return;
    }
    view.metrics.explained(reason, agreement);
    let why = report.refusal().and_then(admission_report::Refusal::why).unwrap_or_default();
    let fits = report.refusal().and_then(|refusal| refusal.alternatives.first()).map(Alternative::to_string);
    let fits = fits.unwrap_or_default();
    if agrees {
        tracing::warn!(pod, reason, text, why, fits, "pod refused by the kubelet");
    } else {
        let fate = report.fated().map(|fated| fated.fate.brief().to_owned());
        let here = fate.or_else(|| Some(report.refusal()?.reason.to_string()));
        let here = here.unwrap_or_else(|| "admitted".to_owned());
        tracing::warn!(
            pod,
            reason,
            text,
            here,
            why,
            "pod refused by the kubelet, and decided otherwise here"
        );
        if let Some(disagreements) = disagreements {
            disagreements.pack(view, refusal, asked, &here);
        }
    }
    let logged = LoggedDecision {
        time: view.clock.text(),
        uid: asked.uid.clone(),
        source: KUBELET,
        took_microseconds: u64::try_from(view.clock.since(began).as_micros()).unwrap_or(u64::MAX),
        kubelet: Some(KubeletDecision {
            reason: reason.clone(),
            message: text.clone(),
            agrees,
            is_late: refusal.heard == Heard::Later,
        }),
        free,
        asked: Some(Arc::clone(asked)),
        report: Arc::new(report),
    };
    decisions.add(asked, logged);
}

/// The states of the node before the one that is served.
#[derive(Default)]
pub(super) struct Earlier(VecDeque<State>);

/// A state that was served until then.
struct State {
    until: Instant,
    past: Past,
    /// Its ledger, while refusals are explained; `None`: there is none.
    ledger: OnceCell<Option<(Ledger, Requests)>>,
}

/// What a ledger is made of: a tenth of its size, and few are ever asked for.
pub(super) struct Past {
    pub(super) folder: StateFolder,
    pub(super) names: PodNames,
    /// `None`: the kubelet did not tell of its devices.
    pub(super) inventory: Option<Inventory>,
}

impl Past {
    /// The ledger, and which requests of the pods in it are known.
    ///
    /// # Errors
    /// The files hold none that the node could go on with.
    pub(super) fn ledger(&self, node: &LoadedNode) -> anyhow::Result<(Ledger, Requests)> {
        let Self { folder, names, inventory } = self;
        let (ledger, requests) = node_input::ledger(folder, node, names)?;
        Ok(match inventory {
            Some(inventory) => (ledger.with_inventory(inventory.clone()), requests),
            None => (ledger, requests),
        })
    }
}

impl Earlier {
    /// One that is not served any more from now on.
    pub(super) fn add(&mut self, past: Past, now: Instant) {
        self.0.retain(|state| now.duration_since(state.until) < RECENT);
        if self.0.len() == STATES {
            self.0.pop_front();
        }
        self.0.push_back(State { until: now, past, ledger: OnceCell::new() });
    }

    /// Latest first.
    fn recent(&self, node: &LoadedNode, now: Instant) -> impl Iterator<Item = (Ledger, Requests)> {
        let recent = self.0.iter().rev().take_while(move |state| now.duration_since(state.until) < RECENT);
        // It has been made once before.
        recent.filter_map(|state| state.ledger.get_or_init(|| state.past.ledger(node).ok()).clone())
    }

    /// The refusals of a look are explained: their ledgers are not needed any more.
    pub(super) fn forget_ledgers(&mut self) {
        for state in &mut self.0 {
            state.ledger.take();
        }
    }
}

/// The decision here on a pod that the kubelet refused.
struct Again {
    report: Report,
    agreement: Agreement,
    /// The CPUs that containers could get for themselves before it.
    free: Option<CpuSet>,
}

fn decided_again(view: &NodeView, earlier: &Earlier, refusal: &Refusal, pod: &Pod) -> Again {
    let now = (view.snapshot().ledger.clone(), view.requests());
    let is_same = |(ledger, _): &(Ledger, Requests)| {
        let reason = explain::reason(view.node(), ledger, pod);
        reason.is_some_and(|reason| reason.to_string() == refusal.reason)
    };
    let same = iter::once(now.clone()).chain(earlier.recent(view.node(), view.clock.now())).find(is_same);
    let agreement = if same.is_some() { Agreement::Same } else { Agreement::Otherwise };
    let (ledger, requests) = same.unwrap_or(now);
    let before = Before { ledger: &ledger, requests, waiting: None };
    let (report, _) = explain::one(view.node(), Detail::Merges, &before, pod);
    Again { report, agreement, free: node_output::free_cpus(&view.node().node, &ledger) }
}
