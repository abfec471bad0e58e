//! The pods of a node, which the kubelet's files know by UID only: what they are called and what they request.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use node_state::{PodList, RunningPod, Standing, StateFolder};
use pod_spec::{Pod, PodUid};

use super::Quarantine;
use super::listed::{self, Listed};

/// Where a node keeps a folder for each pod, with the name `NAMESPACE_NAME_UID`.
pub(crate) const POD_LOGS: &str = "/var/log/pods";
/// Where the kubelet of this machine has its state.
pub(crate) const OWN: &str = "/var/lib/kubelet";

/// The pods of a node, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct PodNames {
    /// Every pod, as `NAMESPACE/NAME`.
    all: Option<BTreeMap<PodUid, String>>,
    /// Pods whose names are known besides, where not all are, or that have ended.
    some: BTreeMap<PodUid, String>,
    /// The manifests of running pods, as far as they are known.
    specs: BTreeMap<PodUid, Pod>,
}

impl PodNames {
    /// From the folder or the manifests that are given; else, if `state` is this machine's own, from its own pod logs.
    /// `holders` hold something by the state files; `None`: these cannot be read.
    pub(crate) fn read(
        given: Option<&Path>,
        state: &Path,
        holders: Option<&BTreeSet<PodUid>>,
    ) -> anyhow::Result<Self> {
        let logs = Path::new(POD_LOGS);
        match given {
            Some(path) => Self::from_path(path, holders),
            None if state == Path::new(OWN) => Self::of_logs(logs),
            None => Ok(Self::default()),
        }
    }

    /// The same, but of a folder that topolet serves from the pods' own files in it.
    pub(crate) fn of_state(
        given: Option<&Path>,
        state: &Path,
        holders: Option<&BTreeSet<PodUid>>,
    ) -> anyhow::Result<Self> {
        match given {
            None if state.join(node_state::PODS).is_dir() => Self::recorded(state, holders),
            given => Self::read(given, state, holders),
        }
    }

    /// From a folder of pod logs, if it is there. One without any pod says nothing: on a node some pod always runs.
    pub(crate) fn of_logs(folder: &Path) -> anyhow::Result<Self> {
        if !folder.is_dir() {
            return Ok(Self::default());
        }
        let known = listed::from_logs(folder)?;
        Ok(if known.is_empty() { Self::default() } else { Self::of(known) })
    }

    /// From a folder of pod logs or of topolet's pod files, or from manifests.
    ///
    /// # Errors
    /// It cannot be read, or names no pod.
    pub(crate) fn from_path(path: &Path, holders: Option<&BTreeSet<PodUid>>) -> anyhow::Result<Self> {
        Ok(match listed::read(path, holders)? {
            Listed::Names(known) => Self::of(known),
            Listed::Pods { running, ended } => Self::running(&running).with_ended(&ended),
        })
    }

    /// From the pods' own files in a folder that topolet serves. If one cannot be read, or none is there and yet pods
    /// hold something, others may be running too.
    fn recorded(root: &Path, holders: Option<&BTreeSet<PodUid>>) -> anyhow::Result<Self> {
        let (pods, unreadable) = listed::recorded(&root.join(node_state::PODS))?;
        if pods.is_empty() && holders.is_none_or(|holders| !holders.is_empty()) {
            return Ok(Self::default());
        }
        let known = Self::running(&pods);
        if unreadable.is_empty() {
            return Ok(known);
        }
        Ok(Self { some: known.all.clone().unwrap_or_default(), all: None, ..known })
    }

    /// These pods and no others, as `NAMESPACE/NAME`.
    pub(crate) fn of(pods: impl IntoIterator<Item = (PodUid, String)>) -> Self {
        Self { all: Some(pods.into_iter().collect()), ..Self::default() }
    }

    /// These pods and no others, with what they request.
    fn running(pods: &[Pod]) -> Self {
        let names = pods.iter().map(|pod| (pod.uid.clone(), listed::name(pod)));
        Self { specs: pods.iter().map(|pod| (pod.uid.clone(), pod.clone())).collect(), ..Self::of(names) }
    }

    fn with_ended(self, ended: &[Pod]) -> Self {
        let some = ended.iter().map(|pod| (pod.uid.clone(), listed::name(pod))).collect();
        Self { some, ..self }
    }

    /// The names of these pods; of others nothing is known.
    pub(crate) const fn some(some: BTreeMap<PodUid, String>) -> Self {
        Self { all: None, some, specs: BTreeMap::new() }
    }

    /// The pods, if they are known.
    pub(crate) const fn known(&self) -> Option<&BTreeMap<PodUid, String>> {
        self.all.as_ref()
    }

    /// The manifests of running pods, as far as they are known.
    pub(crate) const fn specs(&self) -> &BTreeMap<PodUid, Pod> {
        &self.specs
    }

    /// Whether the manifest of every pod that runs is known.
    pub(crate) fn knows_requests(&self) -> bool {
        self.all.as_ref().is_some_and(|all| all.len() == self.specs.len())
    }

    /// Which pods there are: those that are known, else those that have files in the folder, else any. `earlier` are
    /// quarantined since a repair before.
    pub(crate) fn pod_list(&self, folder: &StateFolder, earlier: &Quarantine) -> PodList {
        let Some(known) = self.known() else {
            return if folder.pods.is_empty() { PodList::Unknown } else { PodList::Recorded };
        };
        let running = known.iter().map(|(uid, name)| {
            let is_quarantined = earlier.pods.contains_key(uid.as_str());
            let pod = RunningPod {
                name: name.clone(),
                manifest: self.specs().get(uid).cloned().map(Arc::new),
                standing: if is_quarantined { Standing::Quarantined } else { Standing::Listed },
            };
            (uid.clone(), pod)
        });
        PodList::Listed(running.collect())
    }

    /// `NAMESPACE/NAME`, or the UID of a pod that is not known.
    pub(crate) fn name(&self, uid: &PodUid) -> String {
        let known = self.all.as_ref().and_then(|all| all.get(uid)).or_else(|| self.some.get(uid));
        known.cloned().unwrap_or_else(|| uid.to_string())
    }

    /// Whether the pods are known, and this one is not among them.
    pub(crate) fn is_gone(&self, uid: &PodUid) -> bool {
        self.all.as_ref().is_some_and(|known| !known.contains_key(uid))
    }
}
