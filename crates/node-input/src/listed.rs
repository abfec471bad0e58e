//! Lists of a node's pods: folders of their logs, topolet's own pod files, and manifests of a cluster or a kubelet.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use node_state::Record;
use pod_spec::{Phase, Pod, PodLevelResources, PodUid};

use crate::pods;

/// What a list says of its pods.
pub(crate) enum Listed {
    /// Names alone, as `NAMESPACE/NAME`.
    Names(BTreeMap<PodUid, String>),
    /// Manifests.
    Pods {
        /// Of the pods that run.
        running: Vec<Pod>,
        /// Of those that have ended, and hold nothing.
        ended: Vec<Pod>,
    },
}

/// The pods of a folder or file.
///
/// # Errors
/// It cannot be read, names no pod, or has pods of several nodes and `holders` do not tell which node is meant.
pub(crate) fn read(path: &Path, holders: Option<&BTreeSet<PodUid>>) -> anyhow::Result<Listed> {
    let shown = path.display();
    if path.is_dir() {
        let (pods, unreadable) = recorded(path)?;
        if let Some(file) = unreadable.first() {
            bail!("{} is no pod file of topolet", file.display());
        }
        if !pods.is_empty() {
            return Ok(Listed::Pods { running: pods, ended: Vec::new() });
        }
        let names = from_logs(path)?;
        ensure!(
            !names.is_empty(),
            "{shown} has no pods: expected folders NAMESPACE_NAME_UID as in /var/log/pods, pod files of topolet, or \
             a file with manifests"
        );
        return Ok(Listed::Names(names));
    }
    let pods = on_one_node(path, pods::listed(path)?, holders)?;
    without_uids(path, &pods, holders)?;
    let (running, ended) = pods.into_iter().partition(|pod| pod.phase == Phase::Active);
    Ok(Listed::Pods { running, ended })
}

/// The pods of a folder like /var/log/pods: `NAMESPACE_NAME_UID`. A namespace and a name have no `_`; a UID that was
/// made up here has one.
pub(crate) fn from_logs(path: &Path) -> anyhow::Result<BTreeMap<PodUid, String>> {
    let mut known = BTreeMap::new();
    for entry in entries(path)? {
        let name = entry.file_name().unwrap_or_default();
        let parts: Vec<&str> = name.to_str().map(|name| name.splitn(3, '_').collect()).unwrap_or_default();
        if let [namespace, name, uid] = parts[..] {
            known.insert(PodUid::new(uid), format!("{namespace}/{name}"));
        }
    }
    Ok(known)
}

/// The pods of topolet's pod files in a folder, and the files that cannot be read.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn recorded(folder: &Path) -> anyhow::Result<(Vec<Pod>, Vec<PathBuf>)> {
    let files = entries(folder)?;
    let files =
        files.into_iter().filter(|file| file.extension().is_some_and(|extension| extension == "json"));
    let read = |file: &PathBuf| {
        let text = crate::files::read_found(file).ok()?;
        let record = Record::read(&file.display().to_string(), &text, PodLevelResources::Count).ok()?;
        Some(Pod::clone(&record.pod))
    };
    let (mut pods, mut unreadable) = (Vec::new(), Vec::new());
    for file in files {
        match read(&file) {
            Some(pod) => pods.push(pod),
            None => unreadable.push(file),
        }
    }
    Ok((pods, unreadable))
}

/// `NAMESPACE/NAME`.
fn name(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let failed = || format!("failed to read {}", folder.display());
    let entries = fs::read_dir(folder).with_context(failed)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>().with_context(failed)?;
    paths.sort();
    Ok(paths)
}

/// Refuses manifests without UIDs, by which state files know pods. Only a folder that topolet serves knows pods by the
/// UIDs that such manifests get.
fn without_uids(path: &Path, pods: &[Pod], holders: Option<&BTreeSet<PodUid>>) -> anyhow::Result<()> {
    let is_made_up = |uid: &PodUid| uid.as_str().contains('_');
    if holders.is_none_or(|holders| holders.iter().any(is_made_up)) {
        return Ok(());
    }
    match pods.iter().find(|pod| is_made_up(&pod.uid)) {
        Some(pod) => bail!(
            "pod {} of {} has no metadata.uid, by which the state files know it: expected manifests as \
             `kubectl get pods -o yaml` prints them",
            name(pod),
            path.display()
        ),
        None => Ok(()),
    }
}

/// The pods of a list that run on one node. A cluster's list has those of all nodes: the node that is meant is that of
/// the pods which hold something. Pods without a node are not scheduled, where others have one.
fn on_one_node(path: &Path, pods: Vec<Pod>, holders: Option<&BTreeSet<PodUid>>) -> anyhow::Result<Vec<Pod>> {
    let node_of = |pod: &Pod| pod.constraints.node_name.clone();
    let is_holder = |pod: &Pod| holders.is_some_and(|holders| holders.contains(&pod.uid));
    let all: BTreeSet<String> = pods.iter().filter_map(node_of).collect();
    let of_holders: BTreeSet<String> = pods.iter().filter(|pod| is_holder(pod)).filter_map(node_of).collect();
    let candidates = if all.len() > 1 && !of_holders.is_empty() { of_holders } else { all };
    if candidates.len() > 1 {
        bail!(
            "{} has pods of {} nodes; `kubectl get pods -A --field-selector spec.nodeName=NODE -o yaml` lists those of \
             one node",
            path.display(),
            candidates.len()
        );
    }
    let Some(node) = candidates.into_iter().next() else { return Ok(pods) };
    let is_here = |pod: &Pod| node_of(pod).as_ref() == Some(&node) || is_holder(pod);
    Ok(pods.into_iter().filter(is_here).collect())
}
