//! Explanations of claims that get no devices, kept while nothing changes on the node.

use std::collections::BTreeSet;

use admission_report::Unschedulable;
use claim_explanation::{Asked, Explanation, Limits, NodeAnswer, NodesAnswer, answer, explain, fold};
use dra_model::{Node, ResourceClaim, ResourceClaimSpec};
use pod_claims::{ClaimLedger, ClaimsDecision};

/// Of so many nodes the first, by name, are asked what they answer.
const MOST_NODES: usize = 256;

/// The last explanation, and for which claims it is.
#[derive(Default)]
pub(crate) struct ExplainedClaims {
    last: Option<Explained>,
}

struct Explained {
    claims: Vec<(String, ResourceClaimSpec)>,
    explanation: Explanation,
    nodes: Option<NodesAnswer>,
}

impl ExplainedClaims {
    /// The reason of a decision with its explanation. The ledger must be the one that decided last.
    pub(crate) fn explain(
        &mut self,
        ledger: &ClaimLedger,
        decision: &ClaimsDecision,
        why: Unschedulable,
    ) -> Unschedulable {
        let (names, claims): (Vec<String>, Vec<ResourceClaim>) =
            decision.searched().map(|(name, claim)| (shown(name), claim)).unzip();
        let key =
            names.iter().cloned().zip(claims.iter().map(|claim| claim.spec.clone())).collect::<Vec<_>>();
        if self.last.as_ref().is_none_or(|last| last.claims != key) {
            let question = ledger.question(&claims);
            let asked = Asked { question: &question, names: &names };
            let explanation = explain(&asked, Limits::default());
            self.last = Some(Explained { claims: key, explanation, nodes: nodes(&asked) });
        }
        match &self.last {
            Some(last) => {
                Unschedulable { nodes: last.nodes.clone(), ..why.explained(last.explanation.clone()) }
            }
            None => why,
        }
    }
}

pub(crate) fn shown(name: &str) -> String {
    if name.is_empty() { "extended resources".to_owned() } else { name.to_owned() }
}

/// The answers of all nodes that slices name; `None`: there is no other, or their labels would have to be known.
fn nodes(asked: &Asked<'_>) -> Option<NodesAnswer> {
    let slices = asked.question.slices;
    let by_labels = slices.iter().any(|slice| {
        let devices = slice.devices().iter().map(|device| &device.nodes);
        std::iter::once(&slice.nodes).chain(devices).any(|nodes| nodes.node_selector.is_some())
    });
    let names: BTreeSet<&str> = slices.iter().filter_map(|slice| slice.nodes.node_name.as_deref()).collect();
    let names: BTreeSet<&str> = names.into_iter().chain([asked.question.node.name.as_str()]).collect();
    if by_labels || names.len() < 2 {
        return None;
    }
    let limits = Limits { questions: 60, ..Limits::default() };
    let not_asked = names.len().saturating_sub(MOST_NODES);
    let answers = names.into_iter().take(MOST_NODES).map(|name| {
        let node = Node { name: name.to_owned(), ..Node::default() };
        let question = claim_allocator::Question { node: &node, ..asked.question.clone() };
        (name.to_owned(), answer(&Asked { question: &question, names: asked.names }, limits))
    });
    let answers: Vec<(String, NodeAnswer)> = answers.collect();
    Some(NodesAnswer { not_asked, ..fold(answers) })
}
