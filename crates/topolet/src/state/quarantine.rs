//! Pods that a repair left in conflict: they may not have what they were granted.
//!
//! The kubelet's files have no place for that, and after a repair they look as if nothing had been. So it is kept in a
//! file beside them, which counts for a pod until the pod is gone, or until somebody removes the file. Without a list of
//! the pods that run, a pod that held something after the repair is gone when it holds nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use kubelet_checkpoint::store::{self, Store};
use pod_spec::PodUid;
use serde::{Deserialize, Serialize};

use super::PodNames;
use node_state::StateFolder;

/// The file's name, below the kubelet's root.
pub(crate) const QUARANTINE: &str = "topolet-quarantine.json";

/// Which pods, and why.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Quarantine {
    /// By UID.
    pub(crate) pods: BTreeMap<String, Quarantined>,
    /// State files that a repair wrote although parts of them were lost and nobody had listed the pods that run. Pods
    /// that nothing names may run on what others hold; it stays until somebody removes the file.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) lost: BTreeSet<String>,
}

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Quarantined {
    /// As it was known then.
    pub(crate) name: String,
    pub(crate) why: String,
    /// What the repair has left it.
    #[serde(default)]
    pub(crate) left: Left,
    /// How the repair knew of the pod.
    #[serde(default, skip_serializing_if = "Basis::is_conflict")]
    pub(crate) basis: Basis,
    /// What the files were before the repair, below the root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) backups: Vec<String>,
}

/// Why a repair has quarantined a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Basis {
    /// It does not hold what it requests, or another pod holds the same: the pod has to be deleted.
    #[default]
    Conflict,
    /// Nothing proved what it held, and nobody had listed the pods that run: its manifest may show later that it holds
    /// all that it requests.
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
#[serde(rename_all = "camelCase")]
pub(crate) enum Left {
    /// Something: when that is gone, so is the pod.
    #[default]
    Something,
    /// Nothing: only a list of pods says when it is gone.
    Nothing,
}

impl Quarantine {
    /// What is in a folder; nothing, if there is no such file.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        Self::parse(root, store::read(&root.join(QUARANTINE))?.as_deref())
    }

    /// What the file in a folder says; nothing, if there is none.
    ///
    /// # Errors
    /// It is damaged.
    pub(crate) fn parse(root: &Path, text: Option<&[u8]>) -> anyhow::Result<Self> {
        let Some(text) = text else { return Ok(Self::default()) };
        serde_json::from_slice(text).with_context(|| {
            format!(
                "{} does not say which pods are quarantined, as it should: remove it when you have seen to them",
                root.join(QUARANTINE).display()
            )
        })
    }

    /// The pods in a folder's file that still hold anything.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub(crate) fn of(root: &Path, folder: &StateFolder, names: &PodNames) -> anyhow::Result<Self> {
        Ok(Self::read(root)?.still(folder, names))
    }

    /// The pods of it that still hold anything, or that may be running without what they held. Where a file cannot be
    /// read, nobody knows better.
    #[must_use]
    pub(crate) fn still(mut self, folder: &StateFolder, names: &PodNames) -> Self {
        if let Some(holders) = folder.holders() {
            self.pods.retain(|uid, quarantined| {
                let uid = PodUid::new(uid);
                (quarantined.left == Left::Nothing || holders.contains(&uid)) && !names.is_gone(&uid)
            });
        }
        self
    }

    /// Puts it beside the state files. If it says nothing, there is no file.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write(&self, store: &Store) -> anyhow::Result<()> {
        if self.pods.is_empty() && self.lost.is_empty() {
            return Ok(store.remove_at(Path::new(QUARANTINE))?);
        }
        let text = serde_json::to_string_pretty(self).context("failed to write down who is quarantined")?;
        Ok(store.write_at(Path::new(QUARANTINE), (text + "\n").as_bytes())?)
    }
}

impl Quarantined {
    /// Where the files are as they were.
    pub(crate) fn kept(&self) -> String {
        if self.backups.is_empty() {
            return String::new();
        }
        format!("; the files before the repair are {}", self.backups.join(", "))
    }
}
