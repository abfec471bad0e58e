//! What would be decided on a pod now, without deciding it. Device plugins are not asked: a plugin that would be is
//! taken to agree.

use std::sync::Arc;

use device_manager::{AllocateReply, DeviceIds, Question, Replies, Reply};
use pod_spec::Pod;
use topology_admission::{Detail, Ledger, Tries, Verdict};

use super::work::Client;
use crate::decision::{Decision, Facts, Note};
use crate::node::LoadedNode;
use crate::serve::shared::Mode;

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
) -> Vec<Decision> {
    let mut ledger = before.clone();
    let mut decisions = Vec::new();
    for pod in pods {
        if client.is_gone() {
            break;
        }
        let (mut decision, after) = one(node, detail, &ledger, pod);
        if mode == Mode::Observe {
            let text = "pods with nothing of their own are not in the kubelet's files: whether all requests together \
                        fit the node was not looked at";
            decision.notes.push(Note { containers: Vec::new(), text: text.to_owned() });
        }
        decisions.push(decision);
        ledger = after.unwrap_or(ledger);
    }
    decisions
}

/// What would be decided on one, and the ledger with it if it would be admitted.
fn one(node: &LoadedNode, detail: Detail, before: &Ledger, pod: &Pod) -> (Decision, Option<Ledger>) {
    let mut replies = Replies::new();
    let mut asked = 0;
    let (mut decision, after) = loop {
        let (attempt, trace) = node.node.trace_with(detail, before, pod, &replies);
        let facts = Facts { node, before, ledger: &attempt.after, pod, trace: &trace, moved: &attempt.moved };
        match &attempt.verdict {
            Verdict::Admitted(placement) => {
                let decision = facts.admitted(placement);
                break (decision, before.commit(attempt).ok());
            }
            Verdict::Refused(refused) => {
                let tries = Tries::default();
                let explained = node.node.explain(before, pod, &replies, (refused, &trace), tries);
                break (facts.refused(refused, &explained), None);
            }
            Verdict::NeedsPlugin(_) if asked == QUESTIONS => break (facts.undecided(), None),
            Verdict::NeedsPlugin(question) => {
                replies.insert(question.clone(), agreed(question));
                asked += 1;
            }
        }
    };
    if asked > 0 {
        let text = "device plugins were not asked: they are taken to agree".to_owned();
        decision.notes.push(Note { containers: Vec::new(), text });
    }
    (decision, after)
}

fn agreed(question: &Question) -> Reply {
    match question {
        Question::Preferred { .. } => Reply::Preferred(DeviceIds::new()),
        Question::Allocate { .. } => Reply::Allocated(AllocateReply::default()),
        Question::PreStart { .. } => Reply::Started,
    }
}
