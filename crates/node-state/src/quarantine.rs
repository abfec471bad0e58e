//! Pods that a repair left in conflict: they may not have what they were granted.
//!
//! The kubelet's files have no place for that, and after a repair they look as if nothing had been. So it is
//! kept in a file beside them, which counts for a pod until the pod is gone, or until the operator removes the
//! file. Without a list of the pods that run, a pod that held something after the repair is gone when it holds
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use pod_spec::PodUid;
use serde::{Deserialize, Serialize};

use crate::folder::StateFolder;
use crate::names::PodNames;

/// The file's name, below the kubelet's root.
pub const QUARANTINE: &str = "topolet-quarantine.json";

/// Which pods, and why.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quarantine {
    /// By UID.
    pub pods: BTreeMap<String, Quarantined>,
    /// State files that a repair wrote although parts of them were lost and it had no list of the pods that
    /// run. Pods that nothing names may run on what others hold. The entry stays until the operator removes the
    /// file.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub lost: BTreeSet<String>,
}

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quarantined {
    /// As it was known then.
    pub name: String,
    /// As a sentence.
    pub why: String,
    /// What the repair has left it.
    #[serde(default)]
    pub left: Left,
    /// How the repair knew of the pod.
    #[serde(default, skip_serializing_if = "Basis::is_conflict")]
    pub basis: Basis,
    /// What the files were before the repair, below the root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backups: Vec<String>,
}

/// Why a repair has quarantined a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Basis {
    /// It does not hold what it requests, or another pod holds the same: the pod has to be deleted.
    #[default]
    Conflict,
    /// Nothing proved what it held, and the repair had no list of the pods that run: its manifest may show
    /// later that it holds all that it requests.
    NotListed,
}

impl Basis {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    const fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict)
    }
}

/// What a quarantined pod still has in the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Left {
    /// Something: when that is gone, so is the pod.
    #[default]
    Something,
    /// Nothing: only a list of pods says when it is gone.
    Nothing,
}

impl Quarantine {
    /// What is in the file [`QUARANTINE`].
    ///
    /// # Errors
    /// It is damaged.
    pub fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(text)
    }

    /// The pods of it that still hold anything, or that may be running without what they held. If a state file
    /// cannot be read, all pods stay.
    #[must_use]
    pub fn still(mut self, folder: &StateFolder, names: &PodNames) -> Self {
        // Parsing the files is worth it only if a pod is quarantined.
        if !self.pods.is_empty()
            && let Some(holders) = folder.holders()
        {
            self.pods.retain(|uid, quarantined| {
                let uid = PodUid::new(uid);
                (quarantined.left == Left::Nothing || holders.contains(&uid)) && !names.is_gone(&uid)
            });
        }
        self
    }

    /// What the file has to say; `None`: there is no need of one.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn text(&self) -> Result<Option<String>, serde_json::Error> {
        if self.pods.is_empty() && self.lost.is_empty() {
            return Ok(None);
        }
        Ok(Some(serde_json::to_string_pretty(self)? + "\n"))
    }
}

impl Quarantined {
    /// Where the files are as they were, as the end of a sentence; empty: nowhere.
    #[must_use]
    pub fn kept(&self) -> String {
        if self.backups.is_empty() {
            return String::new();
        }
        format!("; the files before the repair are {}", self.backups.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_the_same_and_nothing_needs_no_file() -> Result<(), serde_json::Error> {
        let mut quarantine = Quarantine::default();
        assert_eq!(quarantine.text()?, None);
        let pod = Quarantined {
            name: "default/a".to_owned(),
            why: "CPU 3 is also b's".to_owned(),
            left: Left::Nothing,
            basis: Basis::NotListed,
            backups: vec!["cpu_manager_state.bak-1".to_owned()],
        };
        assert_eq!(pod.kept(), "; the files before the repair are cpu_manager_state.bak-1");
        quarantine.pods.insert("uid".to_owned(), pod);
        quarantine.lost.insert("cpu_manager_state".to_owned());
        let text = quarantine.text()?.unwrap_or_default();
        assert_eq!(Quarantine::parse(text.as_bytes())?, quarantine);
        Ok(())
    }

    #[test]
    fn a_pod_that_holds_nothing_and_was_left_something_is_quarantined_no_more() {
        let with = |left| {
            let pod = Quarantined {
                name: String::new(),
                why: String::new(),
                left,
                basis: Basis::Conflict,
                backups: Vec::new(),
            };
            Quarantine { pods: BTreeMap::from([("uid".to_owned(), pod)]), lost: BTreeSet::new() }
        };
        // No file: no pod holds anything.
        let (folder, unknown) = (StateFolder::default(), PodNames::default());
        assert_eq!(with(Left::Something).still(&folder, &unknown).pods.len(), 0);
        assert_eq!(with(Left::Nothing).still(&folder, &unknown).pods.len(), 1);
        let others = PodNames::of([(PodUid::new("other"), "default/b".to_owned())]);
        assert_eq!(with(Left::Nothing).still(&folder, &others).pods.len(), 0, "it is gone");
    }
}
