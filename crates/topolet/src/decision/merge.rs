//! How a merge came out: what each provider answered, which node sets were in question, and why the winner won.

use serde::Serialize;
use topology_policy::{Candidate, Fit, MergeTrace, Places};

use super::Facts;

/// One merge with its reasons.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MergeView {
    /// In the order in which providers were asked.
    pub(crate) answers: Vec<AnswerView>,
    /// Node sets in question, the winner first; none under policy `none`. After a refusal there is no winner.
    pub(crate) candidates: Vec<CandidateView>,
    /// Why the first candidate is the first.
    pub(crate) why: String,
    /// Whether the policy takes it.
    pub(crate) accepted: bool,
}

/// What the provider of one resource answered.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnswerView {
    pub(crate) resource: String,
    /// `any`: every node set will do; `none`: no node set will do; `some`.
    pub(crate) node_sets: &'static str,
    /// The nodes that will do alone; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) alone: Option<String>,
    /// How many nodes the smallest set has that will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) narrowest: Option<u32>,
    /// How many nodes a set has to have to be preferred; absent if no size is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) preferred: Option<u32>,
}

/// A node set in question.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CandidateView {
    pub(crate) nodes: String,
    /// Resources that could be served there, but that others would serve better.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_preferred_by: Vec<String>,
    /// Resources that cannot be served by exactly these nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_offered_by: Vec<String>,
    /// The average distance between the nodes, where it decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) distance: Option<f64>,
}

impl Facts<'_> {
    pub(super) fn merge(&self, merge: &MergeTrace) -> MergeView {
        let nodes = |mask| self.nodes().show(mask).to_string();
        let answers = merge.answers.iter().map(|said| {
            let resource = said.resource.to_string();
            let answer = |node_sets| AnswerView {
                resource: resource.clone(),
                node_sets,
                alone: None,
                narrowest: None,
                preferred: None,
            };
            match said.places {
                Places::NoOpinion => answer("any"),
                Places::Nowhere => answer("none"),
                Places::Sets { alone, narrowest, preferred } => AnswerView {
                    alone: (!alone.is_empty()).then(|| nodes(alone)),
                    narrowest,
                    preferred,
                    ..answer("some")
                },
            }
        });
        let candidate = |candidate: &Candidate| {
            let with = |wanted: Fit| {
                let fits = merge.answers.iter().zip(&candidate.fits).filter(|(_, fit)| **fit == wanted);
                fits.map(|(said, _)| said.resource.to_string()).collect()
            };
            CandidateView {
                nodes: nodes(candidate.nodes),
                not_preferred_by: with(Fit::Acceptable),
                not_offered_by: with(Fit::NotNamed),
                distance: candidate.distance,
            }
        };
        MergeView {
            answers: answers.collect(),
            candidates: merge.candidates.iter().map(candidate).collect(),
            why: merge.why.text(),
            accepted: merge.merged.is_ok_and(|merged| merged.admitted().is_some()),
        }
    }
}
