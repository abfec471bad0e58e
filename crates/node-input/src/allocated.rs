//! The pods of a kubelet that lists none at a socket: those that it has admitted, by `allocated_pods_state`.
//!
//! Files of managers keep what a pod held until they are next looked at, and folders of logs outlive their pods. A pod that is
//! deleted leaves `allocated_pods_state` when the kubelet next writes it, which is when it admits another pod; its folder in
//! `pods` is removed within seconds. A pod that has ended stays in both until it is deleted, so that requests count only of
//! pods that the pod resources service lists, which are those that are active.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kubelet_checkpoint::Forms;
use kubelet_checkpoint::cpu::{ContainerIds, CpuFile};
use kubelet_checkpoint::pods::{PodAllocation, PodsFile};
use node_state::{PodNames, StateFolder};
use pod_spec::{Container, Origin, Pod, PodResources, PodUid, Role};

use crate::kubelet_version::KubeletVersion;

/// The pods of `allocated_pods_state` that have a folder, with the names of `logs`. `active` are the pods, as `NAMESPACE/NAME`, that
/// the pod resources service lists; `None`: it was not asked. `None` where the file says nothing: there is none, it cannot be
/// read, or it lacks a pod that runs, so that the kubelet does not write it.
pub(crate) fn names(
    folder: &StateFolder,
    release: KubeletVersion,
    logs: &PodNames,
    has_folder: impl Fn(&PodUid) -> bool,
    active: Option<&BTreeSet<String>>,
) -> Option<PodNames> {
    let file = folder.allocated.as_deref()?;
    let mut pods = PodsFile::read(file, release.rules().pod_allocations).ok()?.pods;
    let holders = folder.cpu.as_deref().map_or_else(|| Some(BTreeSet::new()), cpu_holders)?;
    if holders.iter().any(|uid| !pods.contains_key(uid)) {
        return None;
    }
    pods.retain(|uid, _| has_folder(uid));
    let all: BTreeMap<PodUid, String> = pods.keys().map(|uid| (uid.clone(), logs.name(uid))).collect();
    let Some(active) = active else { return Some(PodNames::of(all)) };
    let known: BTreeSet<&String> = all.values().collect();
    // Without the name of a pod it is not known whether it is listed.
    if all.keys().any(|uid| !logs.is_named(uid)) {
        return Some(PodNames::of(all));
    }
    if !active.iter().all(|name| known.contains(name)) {
        return None;
    }
    let running = pods.iter().filter(|(uid, _)| all.get(*uid).is_some_and(|name| active.contains(name)));
    let specs = running.filter_map(|(uid, of)| Some(Arc::new(pod(uid, all.get(uid)?, of)?)));
    let names = PodNames::running(specs);
    let ended: BTreeMap<PodUid, String> =
        all.into_iter().filter(|(_, name)| !active.contains(name)).collect();
    Some(names.with_gone(ended.keys().cloned()).with_names(ended))
}

/// The pods that have CPUs, which the kubelet takes from a pod that has ended at once; `None`: the file cannot be read.
fn cpu_holders(file: &[u8]) -> Option<BTreeSet<PodUid>> {
    let ids = ContainerIds::new();
    let read = Forms::ALL.into_iter().find_map(|forms| CpuFile::read(file, forms, &ids).ok())?;
    let state = read.state().ok()?;
    Some(state.containers.keys().chain(state.pods.keys()).cloned().collect())
}

/// A pod with the requests that it was admitted with. Whether it may be preempted is not known: it is taken not to be.
fn pod(uid: &PodUid, name: &str, of: &PodAllocation) -> Option<Pod> {
    let (namespace, name) = name.split_once('/')?;
    let containers = of.containers.iter().map(|(name, own)| Container {
        name: name.clone(),
        role: Role::App,
        requests: own.requests.clone(),
        limits: own.limits.clone(),
    });
    let mut pod = Pod::new(namespace, name, containers.collect());
    pod.uid = uid.clone();
    pod.constraints.origin = Origin::Static;
    pod.resources = of
        .pod
        .as_ref()
        .map(|own| PodResources { requests: own.requests.clone(), limits: own.limits.clone() });
    Some(pod)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "00000000-0000-4000-8000-000000000001";
    const ALLOCATED: &str = r#"{"checksum":1771782136,"data":"{\"entries\":{\"00000000-0000-4000-8000-000000000001\":{\"ContainerResources\":{\"c\":{\"limits\":{\"cpu\":\"2\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"2\",\"memory\":\"1Gi\"}}},\"PodLevelResources\":null}}}"}"#;

    fn of(cpu: Option<&str>, active: Option<&[&str]>) -> Option<PodNames> {
        with_folders(cpu, active, &[UID])
    }

    fn with_folders(cpu: Option<&str>, active: Option<&[&str]>, folders: &[&str]) -> Option<PodNames> {
        let folder = StateFolder {
            allocated: Some(ALLOCATED.as_bytes().to_vec()),
            cpu: cpu.map(|text| text.as_bytes().to_vec()),
            ..StateFolder::default()
        };
        let old = (PodUid::new("old"), "shop/old".to_owned());
        let logs = PodNames::of([(PodUid::new(UID), "shop/web".to_owned()), old]);
        let active = active.map(|pods| pods.iter().copied().map(str::to_owned).collect());
        let has_folder = |uid: &PodUid| folders.contains(&uid.as_str());
        names(&folder, "1.36.3".parse().unwrap(), &logs, has_folder, active.as_ref())
    }

    #[test]
    fn requests_count_of_pods_that_are_listed() {
        let (uid, old) = (PodUid::new(UID), PodUid::new("old"));
        let listed = of(None, Some(&["shop/web"])).unwrap();
        let pod = &listed.specs()[&uid];
        assert_eq!(
            (pod.name.as_str(), pod.containers[0].requests["cpu"].to_string()),
            ("web", "2".to_owned())
        );
        assert!(listed.knows_requests() && !listed.is_gone(&uid) && listed.is_gone(&old));
        // It has ended, and its object is still there.
        let ended = of(None, Some(&[])).unwrap();
        assert!(ended.specs().is_empty() && ended.is_gone(&uid));
        // Without the service it is there, and whether it has ended is not known.
        let there = of(None, None).unwrap();
        assert!(!there.knows_requests() && !there.is_gone(&uid) && there.is_gone(&old));
    }

    #[test]
    fn a_deleted_pod_is_gone_with_its_folder() {
        assert!(with_folders(None, None, &[]).unwrap().is_gone(&PodUid::new(UID)));
    }

    #[test]
    fn a_file_that_is_not_kept_says_nothing() {
        assert!(of(None, Some(&["shop/web", "shop/new"])).is_none());
        let cpus =
            r#"{"policyName":"static","defaultCpuSet":"0-7","entries":{"new":{"c":"1"}},"checksum":1}"#;
        assert!(of(Some(cpus), None).is_none());
    }
}
