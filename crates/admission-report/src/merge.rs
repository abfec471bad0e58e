//! How a merge came out: what each provider answered, which node sets were in question, and why the winner won.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use pod_spec::ResourceName;
use serde::{Serialize, Serializer};
use topology_model::NodeIds;
use topology_policy::{self as policy, MergeReason, MergeTrace, ServableSets, Suitability};

use crate::facts::Facts;
use crate::json;
use crate::words::joined;

/// One merge with its reasons.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MergeReport {
    /// In the order in which providers were asked.
    pub answers: Vec<Answer>,
    /// Node sets in question, the winner first; none under policy `none`. After a refusal there is no winner.
    pub candidates: Vec<Candidate>,
    /// How many node sets are left out, where the list is cut: single nodes under policy `single-numa-node`, else sets of any size.
    #[serde(skip_serializing_if = "json::is_zero")]
    pub left_out: u64,
    /// Why the first candidate is the first.
    #[serde(serialize_with = "why")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub why: MergeReason,
    /// Whether the policy admits the merged hint.
    pub accepted: bool,
}

/// What the provider of one resource answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The resource.
    pub resource: ResourceName,
    /// Where it can be served; shown as a sentence.
    pub node_sets: NodeSets,
}

/// The node sets that can serve a resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeSets {
    /// Every node set.
    Any,
    /// No node set.
    None,
    /// Some node sets.
    Some {
        /// The nodes that can serve it alone; may be empty.
        alone: NodeIds,
        /// How many nodes the smallest set has; `None` if only "any node" is offered.
        narrowest: Option<u32>,
        /// How many nodes a preferred set has; `None` if no size is preferred.
        preferred: Option<u32>,
    },
}

/// A node set in question.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// The nodes.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub nodes: NodeIds,
    /// Resources that could be served there, but that other sets would serve better.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "json::texts")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub not_preferred_by: Vec<ResourceName>,
    /// Resources that cannot be served by exactly these nodes.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "json::texts")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub not_offered_by: Vec<ResourceName>,
    /// The average distance between the nodes; `None` where it decides nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<f64>,
    /// What the nodes cost by the placement strategy; `None` where it decides nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn why<S: Serializer>(why: &MergeReason, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&why.text())
}

impl MergeReport {
    pub(crate) fn new(facts: &Facts<'_>, merge: &MergeTrace) -> Self {
        let answers = merge.answers.iter().map(|answer| Answer {
            resource: answer.resource.clone(),
            node_sets: match answer.places {
                ServableSets::NoOpinion => NodeSets::Any,
                ServableSets::Nowhere => NodeSets::None,
                ServableSets::Sets { alone, narrowest, preferred } => {
                    NodeSets::Some { alone: facts.listed(alone), narrowest, preferred }
                }
            },
        });
        let candidate = |candidate: &policy::Candidate| {
            let with = |wanted: Suitability| {
                let fits = merge.answers.iter().zip(&candidate.fits).filter(move |(_, fit)| **fit == wanted);
                fits.map(|(answer, _)| answer.resource.clone()).collect()
            };
            Candidate {
                nodes: facts.listed(candidate.nodes),
                not_preferred_by: with(Suitability::Acceptable),
                not_offered_by: with(Suitability::NotNamed),
                distance: candidate.distance,
                score: candidate.score,
            }
        };
        Self {
            answers: answers.collect(),
            candidates: merge.candidates.iter().map(candidate).collect(),
            left_out: merge.left_out,
            why: merge.why,
            accepted: merge.merged.is_ok_and(|merged| merged.admitted().is_some()),
        }
    }
}

impl Candidate {
    /// What the answers make of exactly these nodes: `not preferred for cpu; average distance 12.0`.
    #[must_use]
    pub fn suitability(&self) -> String {
        let mut parts = Vec::new();
        for (words, names) in
            [("cannot have", &self.not_offered_by), ("not preferred for", &self.not_preferred_by)]
        {
            if !names.is_empty() {
                parts.push(format!("{words} {}", joined(names, ", ")));
            }
        }
        if parts.is_empty() {
            parts.push(String::from("preferred for all"));
        }
        parts.extend(self.distance.map(|distance| format!("average distance {distance:.1}")));
        parts.extend(self.score.map(|score| format!("score {score}")));
        parts.join("; ")
    }
}

impl fmt::Display for NodeSets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (alone, narrowest, preferred) = match self {
            Self::Any => return f.write_str("any NUMA node will do"),
            Self::None => return f.write_str("no set of NUMA nodes will do"),
            Self::Some { alone, narrowest, preferred } => (alone, *narrowest, *preferred),
        };
        if let Some(narrowest) = narrowest {
            write!(f, "needs {} at least, ", nodes(narrowest))?;
        }
        match preferred {
            Some(size) => write!(f, "prefers {}, ", nodes(size))?,
            None => f.write_str("prefers none, ")?,
        }
        if alone.is_empty() {
            f.write_str("no NUMA node has enough alone")
        } else if alone.len() == 1 {
            write!(f, "NUMA {alone} alone has enough")
        } else {
            write!(f, "each of NUMA {alone} alone has enough")
        }
    }
}

fn nodes(count: u32) -> String {
    format!("{count} NUMA node{}", if count == 1 { "" } else { "s" })
}

/// What the provider of one resource answered.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Answer"))]
#[serde(rename_all = "camelCase")]
struct AnswerFields<'a> {
    /// Which resource.
    resource: &'a str,
    /// Which sets of NUMA nodes will do.
    node_sets: WhichSets,
    /// The nodes that will do alone; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    alone: Option<json::Text<'a, NodeIds>>,
    /// How many nodes the smallest set has that will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    narrowest: Option<u32>,
    /// How many nodes a set has to have to be preferred; absent if no size is.
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred: Option<u32>,
}

/// Which sets of NUMA nodes will do.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
enum WhichSets {
    /// Every set.
    Any,
    /// No set.
    None,
    /// Some sets.
    Some,
}

json::written_as!(Answer, AnswerFields<'static>);

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (node_sets, alone, narrowest, preferred) = match &self.node_sets {
            NodeSets::Any => (WhichSets::Any, None, None, None),
            NodeSets::None => (WhichSets::None, None, None, None),
            NodeSets::Some { alone, narrowest, preferred } => {
                let alone = (!alone.is_empty()).then_some(json::Text(alone));
                (WhichSets::Some, alone, *narrowest, *preferred)
            }
        };
        let resource = self.resource.as_str();
        AnswerFields { resource, node_sets, alone, narrowest, preferred }.serialize(serializer)
    }
}
