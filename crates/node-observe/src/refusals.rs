//! Explains a refusal of the kubelet.
//!
//! The pod is decided on again, on the ledger of the kubelet's state files. These are read after the refusal, so another pod may
//! have been admitted in between. If the decision differs from the kubelet's, the latest state of the last [`RECENT`] with which
//! it agrees is used. A refusal from before the watch began is explained only if there is such a state.

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
use super::pods::{Refusal, Timing};

/// Reasons of the resource managers, which are explained, as are those that begin with `OutOf`. Others are only logged.
const EXPLAINED: [&str; 4] =
    ["TopologyAffinityError", "UnexpectedAdmissionError", "SMTAlignmentError", "EmptyPodSharedPoolError"];

/// How long after a refusal it may be reported: an API server gets the status some time later.
const RECENT: Duration = Duration::from_secs(30);
/// How many states are kept at most.
const STATES: usize = 64;

/// Explains a refusal: logs it, counts it and keeps the decision.
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
    let OwnDecision { report, agreement, free } = own_decision(view, earlier, refusal, asked);
    let agrees = agreement == Agreement::Same;
    if !agrees && refusal.timing == Timing::Later {
        let unknown = "the node has changed since: it was refused while the kubelet was not watched";
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
            is_late: refusal.timing == Timing::Later,
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
    inputs: LedgerInputs,
    /// Its ledger, while refusals are explained; `None`: there is none.
    ledger: OnceCell<Option<(Ledger, Requests)>>,
}

/// The inputs of a ledger. They take a tenth of its memory, and few ledgers of earlier states are needed.
pub(super) struct LedgerInputs {
    pub(super) folder: StateFolder,
    pub(super) names: PodNames,
    /// `None`: the pod resources service did not answer.
    pub(super) inventory: Option<Inventory>,
}

impl LedgerInputs {
    /// The ledger, and which requests of the pods in it are known.
    ///
    /// # Errors
    /// The kubelet could not start from the files.
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
    /// Adds a state that is replaced now.
    pub(super) fn add(&mut self, inputs: LedgerInputs, now: Instant) {
        self.0.retain(|state| now.duration_since(state.until) < RECENT);
        if self.0.len() == STATES {
            self.0.pop_front();
        }
        self.0.push_back(State { until: now, inputs, ledger: OnceCell::new() });
    }

    /// The ledgers of recent states, latest first.
    fn recent(&self, node: &LoadedNode, now: Instant) -> impl Iterator<Item = (Ledger, Requests)> {
        let recent = self.0.iter().rev().take_while(move |state| now.duration_since(state.until) < RECENT);
        // A ledger that was made for an earlier refusal is used again.
        recent.filter_map(|state| state.ledger.get_or_init(|| state.inputs.ledger(node).ok()).clone())
    }

    /// Drops the ledgers, once the refusals that were taken together are explained.
    pub(super) fn forget_ledgers(&mut self) {
        for state in &mut self.0 {
            state.ledger.take();
        }
    }
}

/// topolet's decision on a pod that the kubelet refused.
struct OwnDecision {
    report: Report,
    agreement: Agreement,
    /// The CPUs that containers could get for themselves before it.
    free: Option<CpuSet>,
}

fn own_decision(view: &NodeView, earlier: &Earlier, refusal: &Refusal, pod: &Pod) -> OwnDecision {
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
    OwnDecision { report, agreement, free: node_output::free_cpus(&view.node().node, &ledger) }
}
