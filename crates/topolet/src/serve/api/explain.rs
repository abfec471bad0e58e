//! What would be decided on a pod now, without deciding it. Device plugins are not asked: a plugin that would be is
//! taken to agree.

use device_manager::{AllocateReply, DeviceIds, Question, Replies, Reply};
use node_agent::Snapshot;
use pod_spec::Pod;
use topology_admission::{Detail, Tries, Verdict};

use crate::decision::{Decision, Facts, Note};
use crate::node::LoadedNode;

/// More questions than any pod leads to.
const QUESTIONS: usize = 10_000;

pub(super) fn explain(node: &LoadedNode, snapshot: &Snapshot, pod: &Pod) -> Decision {
    let before = &snapshot.ledger;
    let mut replies = Replies::new();
    let mut asked = 0;
    let mut decision = loop {
        let (attempt, trace) = node.node.trace_with(Detail::Merges, before, pod, &replies);
        let facts = Facts { node, before, ledger: &attempt.after, pod, trace: &trace, moved: &attempt.moved };
        match &attempt.verdict {
            Verdict::Admitted(placement) => break facts.admitted(placement),
            Verdict::Refused(refused) => {
                let tries = Tries::default();
                let explained = node.node.explain(before, pod, &replies, (refused, &trace), tries);
                break facts.refused(refused, &explained);
            }
            Verdict::NeedsPlugin(_) if asked == QUESTIONS => break facts.undecided(),
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
    decision
}

fn agreed(question: &Question) -> Reply {
    match question {
        Question::Preferred { .. } => Reply::Preferred(DeviceIds::new()),
        Question::Allocate { .. } => Reply::Allocated(AllocateReply::default()),
        Question::PreStart { .. } => Reply::Started,
    }
}
