//! A repair of a folder of state, as it is written.

use std::collections::{BTreeMap, BTreeSet};

use node_output::NodeLine;
use node_state::{FaultKind, Quarantined};
use serde::Serialize;

/// What was found and done, as it is written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct StateRepair<'a> {
    pub(crate) node: &'a NodeLine,
    pub(crate) dry_run: bool,
    /// Whether the files are in order now.
    pub(crate) written: bool,
    /// The pod of a change that was cut short, by name or UID: it is completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unfinished: Option<String>,
    pub(crate) repairs: Vec<RepairLine>,
    pub(crate) quarantined: Vec<QuarantinedLine>,
    /// Since an earlier repair, by UID.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) still_quarantined: BTreeMap<String, Quarantined>,
    /// Files whose pods nobody knows: parts of them are lost, and no list says which pods run.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) lost: BTreeSet<String>,
    pub(crate) files: Vec<FileLine>,
    /// Those of them that are only put aside.
    #[serde(skip)]
    pub(crate) aside: BTreeSet<String>,
}

/// One thing that was found.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct RepairLine {
    pub(crate) cause: FaultKind,
    pub(crate) file: String,
    pub(crate) found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) assumed: Option<String>,
    pub(crate) done: String,
    /// Pods by name, or UID.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) quarantined: Vec<String>,
}

/// A pod that may not have what it was granted.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct QuarantinedLine {
    pub(crate) pod: String,
    pub(crate) uid: String,
    pub(crate) why: String,
}

/// A file that is, or would be, written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileLine {
    pub(crate) file: String,
    /// Where its old contents are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backup: Option<String>,
}
