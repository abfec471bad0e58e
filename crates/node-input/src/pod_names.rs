//! Where lists of a node's pods are looked for.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use node_state::PodNames;
use pod_spec::{Pod, PodUid};

use crate::listed::{self, Listed};

/// Where a node keeps a folder for each pod, with the name `NAMESPACE_NAME_UID`.
pub const POD_LOGS: &str = "/var/log/pods";
/// Where the kubelet of this machine has its state.
pub const OWN: &str = "/var/lib/kubelet";

/// From the folder or the manifests that are given; else, if `state` is this machine's own, from its own pod logs.
/// `holders` hold something by the state files; `None`: these cannot be read.
pub fn read(
    given: Option<&Path>,
    state: &Path,
    holders: Option<&BTreeSet<PodUid>>,
) -> anyhow::Result<PodNames> {
    let logs = Path::new(POD_LOGS);
    match given {
        Some(path) => from_path(path, holders),
        None if state == Path::new(OWN) => of_logs(logs),
        None => Ok(PodNames::default()),
    }
}

/// The same, but of a folder that topolet serves from the pods' own files in it.
pub fn of_state(
    given: Option<&Path>,
    state: &Path,
    holders: Option<&BTreeSet<PodUid>>,
) -> anyhow::Result<PodNames> {
    match given {
        None if state.join(node_state::PODS).is_dir() => recorded(state, holders),
        given => read(given, state, holders),
    }
}

/// From a folder of pod logs, if it is there. One without any pod says nothing: on a node some pod always runs.
pub fn of_logs(folder: &Path) -> anyhow::Result<PodNames> {
    if !folder.is_dir() {
        return Ok(PodNames::default());
    }
    let known = listed::from_logs(folder)?;
    Ok(if known.is_empty() { PodNames::default() } else { PodNames::of(known) })
}

/// From a folder of pod logs or of topolet's pod files, or from manifests.
///
/// # Errors
/// It cannot be read, or names no pod.
pub fn from_path(path: &Path, holders: Option<&BTreeSet<PodUid>>) -> anyhow::Result<PodNames> {
    Ok(match listed::read(path, holders)? {
        Listed::Names(known) => PodNames::of(known),
        Listed::Pods { running, ended } => PodNames::running(shared(running)).with_ended(&ended),
    })
}

/// From the pods' own files in a folder that topolet serves. If one cannot be read, or none is there and yet pods
/// hold something, others may be running too.
fn recorded(root: &Path, holders: Option<&BTreeSet<PodUid>>) -> anyhow::Result<PodNames> {
    let (pods, unreadable) = listed::recorded(&root.join(node_state::PODS))?;
    if pods.is_empty() && holders.is_none_or(|holders| !holders.is_empty()) {
        return Ok(PodNames::default());
    }
    let known = PodNames::running(shared(pods));
    if unreadable.is_empty() {
        return Ok(known);
    }
    Ok(known.with_unknown())
}

fn shared(pods: Vec<Pod>) -> impl Iterator<Item = Arc<Pod>> {
    pods.into_iter().map(Arc::new)
}
