//! Names of pods, which the kubelet's files know by UID only.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use pod_spec::PodUid;

use crate::pods;

/// Where a node keeps a folder for each pod, with the name `NAMESPACE_NAME_UID`.
pub(crate) const POD_LOGS: &str = "/var/log/pods";
/// Where the kubelet of this machine has its state.
pub(crate) const OWN: &str = "/var/lib/kubelet";

/// The pods of a node, as far as they are known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct PodNames {
    /// Every pod.
    all: Option<BTreeMap<PodUid, String>>,
    /// Pods of which more is known, where not all are.
    some: BTreeMap<PodUid, String>,
}

impl PodNames {
    /// From the folder of pod logs or the manifests that are given; else, if `state` is this machine's own, from its
    /// own pod logs.
    pub(crate) fn read(given: Option<&Path>, state: &Path) -> anyhow::Result<Self> {
        let logs = Path::new(POD_LOGS);
        let path = match given {
            Some(path) => path,
            None if state == Path::new(OWN) && logs.is_dir() => logs,
            None => return Ok(Self::default()),
        };
        Self::from_path(path)
    }

    /// From a folder of pod logs, or manifests.
    pub(crate) fn from_path(path: &Path) -> anyhow::Result<Self> {
        let known = if path.is_dir() { from_folders(path)? } else { pods::names(path)? };
        Ok(Self::of(known))
    }

    /// These pods and no others, as `NAMESPACE/NAME`.
    pub(crate) fn of(pods: impl IntoIterator<Item = (PodUid, String)>) -> Self {
        Self { all: Some(pods.into_iter().collect()), some: BTreeMap::new() }
    }

    /// The names of these pods; of others nothing is known.
    pub(crate) const fn some(some: BTreeMap<PodUid, String>) -> Self {
        Self { all: None, some }
    }

    /// The pods, if they are known.
    pub(crate) const fn known(&self) -> Option<&BTreeMap<PodUid, String>> {
        self.all.as_ref()
    }

    /// `NAMESPACE/NAME`, or the UID of a pod that is not known.
    pub(crate) fn name(&self, uid: &PodUid) -> String {
        let known = self.all.as_ref().unwrap_or(&self.some).get(uid);
        known.cloned().unwrap_or_else(|| uid.to_string())
    }

    /// Whether the pods are known, and this one is not among them.
    pub(crate) fn is_gone(&self, uid: &PodUid) -> bool {
        self.all.as_ref().is_some_and(|known| !known.contains_key(uid))
    }
}

fn from_folders(path: &Path) -> anyhow::Result<BTreeMap<PodUid, String>> {
    let mut known = BTreeMap::new();
    for entry in fs::read_dir(path).with_context(|| format!("failed to read {}", path.display()))? {
        let entry = entry.with_context(|| format!("failed to read {}", path.display()))?;
        let name = entry.file_name();
        // A UID has no `_`, nor have the names before it.
        let parts: Vec<&str> = name.to_str().map(|name| name.split('_').collect()).unwrap_or_default();
        if let [namespace, name, uid] = parts[..] {
            known.insert(PodUid::new(uid), format!("{namespace}/{name}"));
        }
    }
    Ok(known)
}
