//! A repair of a folder: when it is harmless, and who is quarantined by it and since earlier ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kubelet_checkpoint::cpu::{CpuFormat, CpuState};
use node_config::KubeletConfiguration;
use node_state::{Basis, FolderRepair, Left, Losses, PodNames, Quarantine, Quarantined, StateFolder};
use pod_spec::{Container, Pod, PodLevelResources, PodUid, ResourceList, Role};
use topology_admission::Node;
use topology_model::{KubeletView, MachineInfo};

fn node() -> Node {
    let machine: MachineInfo = "pack:2 [numa(memory=8GiB)] core:4 pu:1".parse().unwrap();
    let config = KubeletConfiguration {
        cpu_manager_policy: Some("static".to_owned()),
        reserved_system_cpus: Some("0".to_owned()),
        ..KubeletConfiguration::default()
    };
    Node::start(&KubeletView::new(&machine).unwrap(), &config).unwrap()
}

/// A whole file in which pods hold CPUs.
fn folder(shared: &str, pods: &[(&str, &str)]) -> StateFolder {
    let held = |cpus: &str| BTreeMap::from([("app".into(), cpus.parse().unwrap())]);
    let state = CpuState {
        policy: "static".to_owned(),
        shared: shared.parse().unwrap(),
        containers: pods.iter().map(|(pod, cpus)| (PodUid::new(pod), held(cpus))).collect(),
        ..CpuState::default()
    };
    StateFolder { cpu: Some(state.encode(CpuFormat::V2).into_bytes()), ..StateFolder::default() }
}

fn repair(folder: &StateFolder, names: &PodNames, earlier: Quarantine) -> FolderRepair {
    let node = node();
    let plan = folder.plan_repair(&node, &names.pod_list(folder, &earlier)).unwrap();
    FolderRepair::of(plan, &node, names, earlier).unwrap()
}

/// A running pod that requests two exclusive CPUs.
fn two_cpus(uid: &str) -> Arc<Pod> {
    let limits: ResourceList =
        [("cpu".into(), "2".parse().unwrap()), ("memory".into(), "1Gi".parse().unwrap())].into();
    let app = Container { name: "app".into(), role: Role::App, requests: ResourceList::new(), limits };
    let mut pod = Pod::new("ns", uid, vec![app]).with_defaults(PodLevelResources::Count);
    pod.uid = PodUid::new(uid);
    Arc::new(pod)
}

/// What an earlier repair has kept of a pod.
fn kept(basis: Basis) -> Quarantined {
    let (name, why) = ("ns/a".to_owned(), "nothing proves what it holds".to_owned());
    Quarantined { name, why, left: Left::Something, basis, backups: Vec::new() }
}

#[test]
fn pods_in_conflict_are_quarantined_and_written_only_where_losses_are_accepted() {
    let repair =
        repair(&folder("0,4-7", &[("a", "1-3"), ("b", "3")]), &PodNames::default(), Quarantine::default());
    let pods: Vec<(&str, Basis, Left)> =
        repair.quarantine.pods.iter().map(|(uid, own)| (uid.as_str(), own.basis, own.left)).collect();
    assert_eq!(pods, [("a", Basis::Conflict, Left::Something), ("b", Basis::Conflict, Left::Nothing)]);
    assert!(!repair.may_be_written(Losses::Refused) && repair.may_be_written(Losses::Accepted));
    assert!(!repair.leaves_nothing_open());
}

#[test]
fn what_costs_no_pod_anything_is_harmless() {
    // The pod is gone, and a CPU that nothing holds is shared again.
    let repair = repair(&folder("0,4-7", &[("a", "1-3")]), &PodNames::of([]), Quarantine::default());
    assert!(!repair.files.is_empty());
    assert!(repair.may_be_written(Losses::Refused) && repair.leaves_nothing_open());
}

#[test]
fn earlier_quarantine_ends_where_a_manifest_shows_the_pod_whole_unless_it_is_a_conflict() {
    let folder = folder("0,3-7", &[("a", "1-2")]);
    let earlier = |basis| Quarantine {
        pods: BTreeMap::from([("a".to_owned(), kept(basis))]),
        lost: BTreeSet::from(["cpu_manager_state".to_owned()]),
    };
    for (names, basis, stays) in [
        (PodNames::running([two_cpus("a")]), Basis::NotListed, false),
        (PodNames::running([two_cpus("a")]), Basis::Conflict, true),
        (PodNames::of([(PodUid::new("a"), "ns/a".to_owned())]), Basis::NotListed, true),
    ] {
        let repair = repair(&folder, &names, earlier(basis));
        assert_eq!(repair.still_quarantined().contains_key("a"), stays, "{basis:?}: {repair:?}");
        assert_eq!(repair.all_quarantined().lost.len(), 1, "lost parts stay until the file is removed");
        assert!(repair.may_be_written(Losses::Refused) && !repair.leaves_nothing_open());
    }
}
