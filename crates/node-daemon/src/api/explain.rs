//! What would be decided on a pod now, without deciding it. Device plugins are not asked: a plugin that would be is
//! taken to agree.

use std::sync::Arc;

use admission_report::{Facts, Note, Remark, Report};
use bounded_http::Client;
use device_manager::{AllocateReply, DeviceIds, Question, Replies, Reply};
use node_input::{ADVICE, LoadedNode};
use pod_spec::Pod;
use topology_admission::{Detail, Ledger, Verdict};

use crate::shared::Mode;

/// More questions than any pod leads to.
const QUESTIONS: usize = 10_000;

/// What would be decided on pods that come one after the other; fewer decisions if the client goes meanwhile.
pub(super) fn explain(
    node: &LoadedNode,
    mode: Mode,
    detail: Detail,
    before: &Ledger,
    pods: &[Arc<Pod>],
    client: &Client,
) -> Vec<Report> {
    let mut ledger = before.clone();
    let mut reports = Vec::new();
    for pod in pods {
        if client.is_gone() {
            break;
        }
        let (mut report, after) = one(node, detail, &ledger, pod);
        if mode == Mode::Observe {
            report.notes.push(Note::on_pod(Remark::RequestsUnknown));
        }
        reports.push(report);
        ledger = after.unwrap_or(ledger);
    }
    reports
}

/// What would be decided on one, and the ledger with it if it would be admitted.
fn one(node: &LoadedNode, detail: Detail, before: &Ledger, pod: &Pod) -> (Report, Option<Ledger>) {
    let mut replies = Replies::new();
    let mut asked = 0;
    let (mut report, after) = loop {
        let (attempt, trace) = node.node.admission(before, pod).with(&replies).trace(detail);
        match &attempt.verdict {
            Verdict::NeedsPlugin(question) if asked < QUESTIONS => {
                replies.insert(question.clone(), agreed(question));
                asked += 1;
            }
            verdict => {
                let facts = Facts { advice: ADVICE, ..Facts::new(&node.node, before, pod, &attempt, &trace) };
                let report = Report::of(&facts, verdict, &replies);
                let after = report.is_admitted().then(|| before.commit(attempt).ok()).flatten();
                break (report, after);
            }
        }
    };
    if asked > 0 {
        report.notes.push(Note::on_pod(Remark::PluginsNotAsked));
    }
    (report, after)
}

fn agreed(question: &Question) -> Reply {
    match question {
        Question::Preferred { .. } => Reply::Preferred(DeviceIds::new()),
        Question::Allocate { .. } => Reply::Allocated(AllocateReply::default()),
        Question::PreStart { .. } => Reply::Started,
    }
}
