//! Names of static pods from the manifests that the kubelet reads, where no source lists the kubelet's pods.
//!
//! A manifest says what a pod is called and never that it runs, has ended or was refused. So it only gives a name to a pod
//! that holds something by the kubelet's files. A manifest without `metadata.uid` is ignored: the kubelet makes the UID of
//! a hash of its internal representation of the pod, which is not known here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use node_input::manifests_in;
use pod_spec::{PodRules, PodUid};
use topology_manifest::UnknownFields;

/// Where kubelets read static pods whose configuration does not say where.
const USUAL: &str = "/etc/kubernetes/manifests";
/// At most this many files are read.
const FILES: usize = 256;

/// What the static pods among `unnamed` are called, as `NAMESPACE/NAME`. The folder is that of the configuration, if it has
/// one; `node` ends the names, as the kubelet does it.
pub(super) fn names(
    folder: Option<&Path>,
    node: &str,
    unnamed: &BTreeSet<PodUid>,
) -> BTreeMap<PodUid, String> {
    // The names of static pods end with the name of the node.
    if node.is_empty() || unnamed.is_empty() {
        return BTreeMap::new();
    }
    let mut found: BTreeMap<PodUid, BTreeSet<String>> = BTreeMap::new();
    for file in files(folder.unwrap_or(Path::new(USUAL))) {
        let read = match manifests_in(&file, PodRules::default().of_static_pods(), UnknownFields::Report) {
            Ok(read) => read,
            Err(error) => {
                tracing::debug!("static pods are not named: {error:#}");
                continue;
            }
        };
        for pod in read.pods.into_iter().filter(|pod| unnamed.contains(&pod.uid)) {
            let name = format!("{}/{}-{node}", pod.namespace, pod.name);
            found.entry(pod.uid).or_default().insert(name);
        }
    }
    // A UID that two pods have is that of neither.
    let single = found.into_iter().filter(|(_, names)| names.len() == 1);
    single.filter_map(|(uid, names)| Some((uid, names.into_iter().next()?))).collect()
}

/// Files that a kubelet reads: a folder's own, whose names begin with no dot; or the file itself.
fn files(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_path_buf()];
    }
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let is_read = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        path.is_file() && !name.to_string_lossy().starts_with('.')
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_read).collect();
    files.sort();
    files.truncate(FILES);
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(name: &str, uid: Option<&str>) -> String {
        let uid = uid.map(|uid| format!(", uid: {uid}")).unwrap_or_default();
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: kube-system{uid}}}\nspec:\n  containers:\n  - {{name: \
             app, image: none}}\n"
        )
    }

    #[test]
    fn only_manifests_with_a_uid_name_pods_that_hold_something() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let write = |file: &str, text: &str| {
            fs::write(folder.path().join(file), text).unwrap_or_else(|error| panic!("{error}"));
        };
        write("etcd.yaml", &manifest("etcd", Some("0a")));
        write("bare.yaml", &manifest("bare", None));
        write("idle.yaml", &manifest("idle", Some("0b")));
        write(".hidden.yaml", &manifest("hidden", Some("0c")));
        write("one.yaml", &manifest("one", Some("0d")));
        write("two.yaml", &manifest("two", Some("0d")));
        write("broken.yaml", "metadata: [");
        let unnamed = ["0a", "0c", "0d", "0e"].map(PodUid::new).into();
        let found = names(Some(folder.path()), "worker-1", &unnamed);
        assert_eq!(found, [(PodUid::new("0a"), "kube-system/etcd-worker-1".to_owned())].into());
        assert_eq!(names(Some(folder.path()), "", &unnamed), BTreeMap::new());
        let file = folder.path().join("etcd.yaml");
        assert_eq!(names(Some(&file), "worker-1", &unnamed).len(), 1);
    }
}
