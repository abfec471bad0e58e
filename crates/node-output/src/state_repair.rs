//! A repair of a folder of state, as it is written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use node_state::{FaultKind, FolderRepair, PodNames, Quarantined};
use serde::Serialize;

use crate::node_line::NodeLine;

/// What was found and done, as it is written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StateRepair<'a> {
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
    /// Files whose pods are not known: parts of them are lost, and no list says which pods run.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) lost: BTreeSet<String>,
    pub(crate) files: Vec<RepairedFile>,
    /// Those of them that are only put aside.
    #[serde(skip)]
    pub(crate) aside: BTreeSet<String>,
}

/// How far a repair got.
#[derive(Debug)]
pub enum RepairProgress {
    /// It was shown, and nothing was to be written.
    Shown,
    /// It was to be written, and is not: running pods could lose something.
    Refused,
    /// It is written, with these files in their order.
    Written(Vec<RepairedFile>),
}

impl<'a> StateRepair<'a> {
    /// What `repair` finds and does on a node whose pods are called as in `names`.
    #[must_use]
    pub fn new(
        node: &'a NodeLine,
        repair: &FolderRepair,
        names: &PodNames,
        progress: RepairProgress,
    ) -> Self {
        let FolderRepair { plan, files, quarantine, .. } = repair;
        let name = plan.shown_names(names);
        let repairs = plan.findings.iter().map(|found| RepairLine {
            cause: found.finding.fault.kind(),
            file: found.finding.file.display().to_string(),
            found: found.finding.fault.to_string(),
            assumed: found.assumption.as_ref().map(ToString::to_string),
            done: found.remedy.to_string(),
            quarantined: found.quarantined.iter().map(&name).collect(),
        });
        let quarantined = plan.quarantined.iter().map(|(uid, why)| QuarantinedLine {
            pod: name(uid),
            uid: uid.to_string(),
            why: why.clone(),
        });
        let aside = files.iter().filter(|file| file.text.is_none());
        Self {
            node,
            dry_run: matches!(progress, RepairProgress::Shown),
            written: matches!(progress, RepairProgress::Written(_)),
            unfinished: plan.unfinished.as_ref().map(&name),
            repairs: repairs.collect(),
            quarantined: quarantined.collect(),
            still_quarantined: repair.still_quarantined(),
            lost: quarantine.lost.clone(),
            aside: aside.map(|file| file.path.display().to_string()).collect(),
            files: match progress {
                RepairProgress::Written(files) => files,
                RepairProgress::Shown | RepairProgress::Refused => {
                    files.iter().map(|file| RepairedFile::new(&file.path, None)).collect()
                }
            },
        }
    }
}

impl RepairedFile {
    /// A file below the root, with where its old contents are.
    #[must_use]
    pub fn new(file: &Path, backup: Option<&Path>) -> Self {
        let text = |path: &Path| path.display().to_string();
        Self { file: text(file), backup: backup.map(text) }
    }
}

/// One thing that was found.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct QuarantinedLine {
    pub(crate) pod: String,
    pub(crate) uid: String,
    pub(crate) why: String,
}

/// A file that is, or would be, written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "FileLine"))]
#[serde(rename_all = "camelCase")]
pub struct RepairedFile {
    pub(crate) file: String,
    /// Where its old contents are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backup: Option<String>,
}
