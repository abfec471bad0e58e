//! Decisions on many pods as documents.

use admission_report::Report;
use serde::Serialize;

use crate::node_line::NodeLine;
use crate::tally::Tally;

/// All decisions, as they are written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(clippy::struct_field_names, reason = "the names are those of the document")]
pub struct Decisions<'a> {
    node: &'a NodeLine,
    /// What was not looked at, since it is not known; what a kubelet suffers here.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
    decisions: Vec<Report>,
}

impl<'a> Decisions<'a> {
    /// Decisions of a node in their order, with what was not looked at, as text to be shown.
    #[must_use]
    pub const fn new(node: &'a NodeLine, notes: &'a [String], decisions: Vec<Report>) -> Self {
        Self { node, notes, decisions }
    }
}

/// All explanations, as they are written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanations<'a> {
    node: &'a NodeLine,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
    pods: Vec<Report>,
}

impl<'a> Explanations<'a> {
    /// Explained decisions of a node in their order, with what was not looked at, as text to be shown.
    #[must_use]
    pub const fn new(node: &'a NodeLine, notes: &'a [String], pods: Vec<Report>) -> Self {
        Self { node, notes, pods }
    }
}

/// How many pods came out how, as it is written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionSummary<'a> {
    node: &'a NodeLine,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
    #[serde(flatten)]
    tally: &'a Tally,
}

impl<'a> DecisionSummary<'a> {
    /// The sum of a node's decisions, with what was not looked at, as text to be shown.
    #[must_use]
    pub const fn new(node: &'a NodeLine, notes: &'a [String], tally: &'a Tally) -> Self {
        Self { node, notes, tally }
    }
}
