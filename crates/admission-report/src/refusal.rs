//! Why a pod may not run, and what would have fitted.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use device_manager::AllocateError;
use pod_spec::ContainerName;
use serde::Serialize;
use topology_admission::{Cause, Explanation, OnEmptyNode, Reason, Refused, Search};

use crate::alternative::{Alternative, Remedy};
use crate::facts::Facts;
use crate::json;
use crate::obstacle::Obstacle;

/// Why a pod may not run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The kubelet's reason, as the pod's status shows it.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub reason: Reason,
    /// The kubelet's message.
    pub message: String,
    /// The container that could not be served; `None`: the pod as a whole.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub container: Option<ContainerName>,
    /// What is behind it; empty where the message says it all.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "json::sentences", rename = "why")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub obstacles: Vec<Obstacle>,
    /// Whether the pod fits the node when nothing else runs there.
    #[serde(
        skip_serializing_if = "json::is_unknown",
        serialize_with = "json::fits_empty",
        rename = "fitsEmptyNode"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub on_empty_node: OnEmptyNode,
    /// What would fit: first the changes after which no container is on more NUMA nodes than it needs; among these by who has to
    /// act: no one, another pod's owner, this pod's, the node's administrator.
    #[serde(skip_serializing_if = "Vec::is_empty", rename = "wouldFit")]
    pub alternatives: Vec<Alternative>,
    /// Whether all candidates were tried.
    #[serde(
        skip_serializing_if = "json::is_complete",
        serialize_with = "json::is_cut",
        rename = "searchCut"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub search: Search,
    /// How many changes were tried.
    #[serde(skip)]
    pub tried: usize,
}

impl Refusal {
    pub(crate) fn new(facts: &Facts<'_>, refused: &Refused, explanation: &Explanation) -> Self {
        // The empty node lacks the devices of such plugins too, and a plugin may come back or list fewer.
        let depends_on_plugins = !facts.unavailable().is_empty();
        let is_about_room =
            !matches!(refused.cause, Cause::Mismatch(_) | Cause::Devices(AllocateError::Unregistered(_)));
        let mut obstacles = facts.obstacles(refused);
        let stays =
            explanation.on_empty_node == OnEmptyNode::DoesNotFit && is_about_room && !depends_on_plugins;
        if stays && !obstacles.iter().any(|known| matches!(known, Obstacle::DifferentSizes { .. })) {
            // What waiting does not change comes before what it does.
            let lasting = facts.sizes_on_empty_node().or_else(|| facts.lacks_on_empty_node(&obstacles));
            obstacles.splice(0..0, lasting);
        }
        Self {
            reason: refused.reason.clone(),
            message: refused.message.clone(),
            container: refused.container.clone(),
            obstacles,
            on_empty_node: match explanation.on_empty_node {
                known if is_about_room && !depends_on_plugins => known,
                _ => OnEmptyNode::Unknown,
            },
            alternatives: Alternative::all(facts, explanation),
            search: explanation.search,
            // The empty node is an attempt too, and no change.
            tried: explanation.tries - usize::from(explanation.on_empty_node != OnEmptyNode::Unknown),
        }
    }

    /// Whether waiting can help, as a sentence; `None` if that is not known.
    #[must_use]
    pub fn outlook(&self) -> Option<&'static str> {
        let is_fragmented = self.alternatives.iter().any(|fit| matches!(fit.remedy, Remedy::Move { .. }));
        match self.on_empty_node {
            OnEmptyNode::Fits if is_fragmented => {
                Some("The node has enough, but fragmented: it fits when another pod restarts elsewhere on it")
            }
            OnEmptyNode::Fits => Some("It fits an empty node: not now, rather than never"),
            OnEmptyNode::DoesNotFit => Some("It does not fit an empty node: waiting is of no use"),
            OnEmptyNode::Unknown => None,
        }
    }

    /// The obstacles as one sentence; `None` if there are none.
    #[must_use]
    pub fn why(&self) -> Option<String> {
        (!self.obstacles.is_empty()).then(|| crate::words::joined(&self.obstacles, "; "))
    }

    /// That none of the changes that were tried would fit, as `nothing that was tried (5 changes)`; `None`: one would, not all
    /// were tried, or there are none to try.
    #[must_use]
    pub fn nothing_fits(&self) -> Option<String> {
        let is_nothing = self.alternatives.is_empty() && self.search == Search::Complete && self.tried > 0;
        let changes = if self.tried == 1 { "change" } else { "changes" };
        is_nothing.then(|| format!("nothing that was tried ({} {changes})", self.tried))
    }

    /// Why, and the first change that would fit, in one line; empty where the kubelet's message says all that is known.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        let fits = self.alternatives.first().map(|first| format!("would fit: {first}"));
        let parts: Vec<String> = self.why().into_iter().chain(fits).collect();
        parts.join("; ")
    }
}
