//! An audit says what is wrong for a kubelet, and never less than the kubelet refuses.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::path::Path;

use kubelet_checkpoint::cpu::{CpuFormat, CpuState};
use node_config::KubeletConfiguration;
use node_state::{Fault, FaultKind, PodList, RunningPod, Standing, StateFolder};
use pod_spec::PodUid;
use topology_admission::{Compat, Node};
use topology_model::{KubeletView, MachineInfo};

fn node() -> Node {
    let machine: MachineInfo = "pack:2 [numa(memory=8GiB)] core:4 pu:1".parse().unwrap();
    let config = KubeletConfiguration {
        cpu_manager_policy: Some("static".to_owned()),
        reserved_system_cpus: Some("0".to_owned()),
        ..KubeletConfiguration::default()
    };
    let compat = Compat { node_limit: Compat::default().node_limit, ..Compat::KUBELET };
    Node::start(&KubeletView::new(&machine).unwrap(), &config, None, compat).unwrap()
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

fn listed(pods: &[&str]) -> PodList {
    let pod = |name: &&str| {
        let running = RunningPod { name: format!("ns/{name}"), manifest: None, standing: Standing::Listed };
        (PodUid::new(name), running)
    };
    PodList::Listed(pods.iter().map(pod).collect())
}

/// The kinds that are found, and whether the kubelet starts.
fn check(folder: &StateFolder, pods: &PodList, expected: &[FaultKind], starts: bool) {
    let audit = folder.audit(&node(), pods);
    let kinds: Vec<FaultKind> = audit.findings.iter().map(|finding| finding.fault.kind()).collect();
    assert_eq!(kinds, expected, "{audit:?}");
    let refusal = audit.refusal(Path::new("cpu_manager_state"));
    assert_eq!(refusal.is_none(), starts, "{refusal:?}");
    assert_eq!(folder.strict(&node()).is_ok(), starts);
}

#[test]
fn what_keeps_a_kubelet_from_starting_is_always_found() {
    let both = listed(&["a", "b"]);
    check(&folder("0,5-7", &[("a", "1-2"), ("b", "3-4")]), &both, &[], true);
    check(&folder("0,5-7", &[("a", "1-2"), ("b", "3-4,8")]), &both, &[FaultKind::CpusGone], false);
    check(&folder("0,5-6", &[("a", "1-2"), ("b", "3-4")]), &both, &[FaultKind::CpusNew], false);
    check(&folder("0,4-7", &[("a", "1-2"), ("b", "3-4")]), &both, &[FaultKind::SharedPool], false);
    // The kubelet does not look for this.
    check(&folder("0,5-7", &[("a", "1-3"), ("b", "3-4")]), &both, &[FaultKind::TwoOwners], true);
    let only = listed(&["a"]);
    check(&folder("0,5-7", &[("a", "1-2"), ("b", "3-4")]), &only, &[FaultKind::PodGone], true);
    // A repair would release what a pod that is gone holds; a kubelet does not come so far.
    let gone = folder("0,5-7", &[("a", "1-2"), ("b", "3-4,8")]);
    check(&gone, &only, &[FaultKind::Unreadable, FaultKind::PodGone], false);
    let Fault::Rejected(error) = &gone.audit(&node(), &only).findings[0].fault else { panic!("{gone:?}") };
    assert!(
        error.to_string().starts_with("start cpu manager error: current set of available CPUs"),
        "{error}"
    );
}

#[test]
fn a_file_that_cannot_be_parsed_has_one_fault() {
    let torn = StateFolder { cpu: Some(b"{\"policyName\":\"sta".to_vec()), ..StateFolder::default() };
    for pods in [listed(&["a"]), PodList::Unknown, PodList::Recorded] {
        check(&torn, &pods, &[FaultKind::Unreadable], false);
    }
    let newer =
        StateFolder { cpu: Some(b"{\"data\":{},\"dataChecksum\":1}".to_vec()), ..StateFolder::default() };
    check(&newer, &PodList::Unknown, &[FaultKind::Unreadable], false);
}
