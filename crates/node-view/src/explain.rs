//! Decides on pods without allocating anything. Device plugins are not asked: each is assumed to agree.

use std::sync::Arc;

use admission_report::{AdmissionQueue, Conclusion, Deferred, Facts, Note, Remark, Report};
use device_manager::{Moment, Replies, Reply};
use node_agent::Snapshot;
use node_input::{ADVICE, FateOfPod, LoadedNode, Requests};
use pod_spec::Pod;
use topology_admission::{Attempt, Detail, Ledger, Reason, Trace, Verdict};

/// The most questions to device plugins for one pod; no pod leads to as many.
const QUESTIONS: usize = 10_000;

/// The node before a pod arrives.
pub struct Before<'a> {
    /// Everything that is allocated on it.
    pub ledger: &'a Ledger,
    /// Which requests of the pods on it are known.
    pub requests: Requests,
    /// The pods that wait for device plugins; `None`: on this node pods do not wait.
    pub waiting: Option<Waiting>,
}

/// The moment at which a pod arrives, and how many pods wait for device plugins then.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// On the owner's clock.
    pub now: Moment,
    /// How many pods wait.
    pub pods: usize,
}

impl Waiting {
    /// The moment of a snapshot, and the pods that wait then.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        Self { now: snapshot.at, pods: snapshot.deferred.len() }
    }
}

/// Decides on pods that arrive one after the other. Returns fewer reports once `is_over` returns true.
pub fn explain(
    node: &LoadedNode,
    detail: Detail,
    before: &Before<'_>,
    pods: &[Arc<Pod>],
    is_over: impl Fn() -> bool,
) -> Vec<Report> {
    let (mut ledger, mut waiting) = (before.ledger.clone(), before.waiting);
    let mut reports = Vec::new();
    let mut queue = AdmissionQueue::default();
    for pod in pods {
        if is_over() {
            break;
        }
        let (report, after) = one(node, detail, &Before { ledger: &ledger, waiting, ..*before }, pod);
        if let (Some(waiting), Conclusion::Deferred(_)) = (&mut waiting, &report.conclusion) {
            waiting.pods += 1;
        }
        reports.push(queue.next(pod, report));
        ledger = after.unwrap_or(ledger);
    }
    reports
}

/// Decides on one pod; returns the ledger with the pod too if it would be admitted.
pub fn one(node: &LoadedNode, detail: Detail, before: &Before<'_>, pod: &Pod) -> (Report, Option<Ledger>) {
    let Before { ledger: before, requests, waiting } = before;
    let Tried { attempt, trace, replies, asked } = Tried::new(node, detail, before, pod);
    let (mut verdict, mut deferred) = (attempt.verdict.clone(), None);
    if let (Verdict::Refused(refused), Some(Waiting { now, pods })) = (&verdict, *waiting) {
        match node.node.defer(before, pod, &replies, refused.clone(), now, pods) {
            Ok(deferral) => deferred = Some(Deferred::new(&deferral, now)),
            Err(refused) => verdict = Verdict::Refused(*refused),
        }
    }
    let facts = Facts { advice: ADVICE, ..Facts::new(&node.node, before, pod, &attempt, &trace) };
    let mut report = Report::of(&facts, &verdict, &replies);
    node.remark(before, pod, &mut report);
    let admitted = report.is_placed().then_some(attempt);
    if let Some(deferred) = deferred {
        report.conclusion = Conclusion::Deferred(deferred);
        report.notes.clear();
    }
    if let Some(FateOfPod { fate, avoided_by }) = node.fate(before, pod, &replies) {
        report = report.with_fate(fate, avoided_by);
    }
    if asked > 0 {
        report.notes.push(Note::on_pod(Remark::PluginsNotAsked));
    }
    if *requests == Requests::WhatIsHeld {
        report.notes.push(Note::on_pod(Remark::RequestsUnknown));
    }
    // A kubelet that never answers has admitted nothing.
    let is_answered = report.fated().is_none_or(|fated| fated.fate.leaves_an_answer());
    let after = admitted.filter(|_| is_answered).and_then(|attempt| before.commit(attempt).ok());
    (report, after)
}

/// The reason of a refusal, without alternatives; `None`: the pod would be admitted.
pub fn reason(node: &LoadedNode, before: &Ledger, pod: &Pod) -> Option<Reason> {
    match Tried::new(node, Detail::Short, before, pod).attempt.verdict {
        Verdict::Refused(refused) => Some(refused.reason.clone()),
        Verdict::Admitted(_) | Verdict::NeedsPlugin(_) => None,
    }
}

/// An attempt for which every device plugin is assumed to agree.
pub struct Tried {
    /// With the ledger after it.
    pub attempt: Attempt,
    /// The trace of the attempt.
    pub trace: Trace,
    /// The assumed replies of device plugins.
    pub replies: Replies,
    /// The number of questions to plugins.
    asked: usize,
}

impl Tried {
    /// Tries a pod on a node with the ledger `before`.
    #[must_use]
    pub fn new(node: &LoadedNode, detail: Detail, before: &Ledger, pod: &Pod) -> Self {
        let mut replies = Replies::new();
        let mut asked = 0;
        loop {
            let (attempt, trace) = node.node.admission(before, pod).with(&replies).trace(detail);
            match &attempt.verdict {
                Verdict::NeedsPlugin(question) if asked < QUESTIONS => {
                    replies.insert(question.clone(), Reply::willing(question));
                    asked += 1;
                }
                _ => return Self { attempt, trace, replies, asked },
            }
        }
    }
}
