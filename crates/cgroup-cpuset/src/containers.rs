//! The cgroups of a kubelet's containers, by the ids that they have in the runtime.
//!
//! With the systemd driver a container is at `kubepods.slice/…/kubepods-podUID.slice/RUNTIME-ID.scope`, with the
//! cgroupfs driver at `kubepods/…/podUID/ID`; below `cgroupRoot` if the kubelet has one, and with its name in front in
//! the names of slices.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::cgroups::Cgroups;
use crate::files::Kernel;
use crate::path::CgroupPath;

/// What the cgroup of all pods is called, or ends with.
const PODS: [&str; 2] = ["kubepods", "kubepods.slice"];
/// `cgroupRoot` has so many parts at most for pods to be found below it.
const ROOT_PARTS: usize = 2;
/// Class of the pod, pod, container.
const POD_PARTS: usize = 3;

impl CgroupPath {
    /// Whether it is below the cgroup of all pods of a kubelet.
    #[must_use]
    pub fn is_of_pods(&self) -> bool {
        let mut above = self.ancestors().into_iter().filter_map(Path::file_name);
        above.any(|name| name.to_str().is_some_and(is_pods))
    }
}

impl Cgroups<Kernel> {
    /// The cgroups of containers by id. Those below a container's own are not looked at.
    ///
    /// # Errors
    /// The root of the hierarchy cannot be read. What goes away meanwhile is left out.
    pub fn containers(&self) -> io::Result<BTreeMap<String, CgroupPath>> {
        let mut found = BTreeMap::new();
        find_pods(self.root(), Path::new(""), ROOT_PARTS, &mut found)?;
        Ok(found)
    }
}

/// Whether the cgroup of all pods is called so.
fn is_pods(name: &str) -> bool {
    PODS.iter().any(|pods| name.strip_suffix(pods).is_some_and(|root| root.is_empty() || root.ends_with('-')))
}

fn find_pods(
    root: &Path,
    below: &Path,
    parts: usize,
    found: &mut BTreeMap<String, CgroupPath>,
) -> io::Result<()> {
    for name in folders(&root.join(below))? {
        let path = below.join(&name);
        if is_pods(&name) {
            find_containers(root, &path, POD_PARTS, false, found);
        } else if parts > 0 {
            // It may have gone meanwhile.
            let _ = find_pods(root, &path, parts - 1, found);
        }
    }
    Ok(())
}

fn find_containers(
    root: &Path,
    below: &Path,
    parts: usize,
    is_pod: bool,
    found: &mut BTreeMap<String, CgroupPath>,
) {
    for name in folders(&root.join(below)).unwrap_or_default() {
        let path = below.join(&name);
        if is_pod {
            let id = name.strip_suffix(".scope").unwrap_or(&name);
            let id = id.rsplit_once('-').map_or(id, |(_, id)| id);
            if let Ok(cgroup) = CgroupPath::new(&path) {
                found.insert(id.to_owned(), cgroup);
            }
        } else if parts > 1 {
            // The name of a slice has those above it in front, and a UID in it has no `-`.
            let slice = name.strip_suffix(".slice").and_then(|slice| slice.rsplit_once('-'));
            let own = slice.map_or(name.as_str(), |(_, own)| own);
            find_containers(root, &path, parts - 1, own.starts_with("pod"), found);
        }
    }
}

fn folders(path: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.extend(entry.file_name().into_string());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroups_of_pods_are_below_kubepods() {
        for (path, expected) in [
            ("kubepods/burstable/pod1/a", true),
            ("kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod1.slice/a.scope", true),
            ("system.slice/containerd.service", false),
            ("kubepods", false),
            ("mykubepods/a", false),
        ] {
            assert_eq!(CgroupPath::new(path).unwrap().is_of_pods(), expected, "{path}");
        }
    }

    #[test]
    fn containers_of_both_drivers_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::write(root.join("cgroup.controllers"), "cpuset cpu\n").unwrap();
        let systemd = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podb0_1.slice";
        for path in [
            "kubepods.slice/kubepods-poda0_1.slice/cri-containerd-0aa1.scope/nested",
            &format!("{systemd}/crio-0bb2.scope"),
            "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podc0.slice/docker-0cc3.scope",
            "kubepods/besteffort/pod5b0f1f9e-0d57/0dd4",
            "kubepods/podc/0ee5",
            "system.slice/a.service",
        ] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        let found = Cgroups::on(Kernel, root).unwrap().containers().unwrap();
        let shown: Vec<String> = found.iter().map(|(id, path)| format!("{id} {path}")).collect();
        assert_eq!(
            shown,
            [
                "0aa1 /kubepods.slice/kubepods-poda0_1.slice/cri-containerd-0aa1.scope",
                &format!("0bb2 /{systemd}/crio-0bb2.scope"),
                "0cc3 /kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podc0.slice/docker-0cc3.scope",
                "0dd4 /kubepods/besteffort/pod5b0f1f9e-0d57/0dd4",
                "0ee5 /kubepods/podc/0ee5",
            ]
        );
    }
}
