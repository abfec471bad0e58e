//! An audit says what is wrong for a kubelet, and never less than the kubelet refuses.

use std::collections::BTreeMap;
use std::path::Path;

use kubelet_checkpoint::cpu::{CpuFormat, CpuState};
use node_config::KubeletConfiguration;
use node_state::{
    Fault, FaultKind, PodList, PodNames, Quarantine, ReservedGiven, RunningPod, Standing, StateFolder,
};
use pod_spec::PodUid;
use topology_admission::{Compat, Node};
use topology_model::{KubeletView, MachineCore, MachineInfo, MachineNode};

fn node() -> Node {
    let machine: MachineInfo = "pack:2 [numa(memory=8GiB)] core:4 pu:1".parse().unwrap();
    let config = KubeletConfiguration {
        cpu_manager_policy: Some("static".to_owned()),
        reserved_system_cpus: Some("0".to_owned()),
        ..KubeletConfiguration::default()
    };
    let compat = Compat { node_limit: Compat::default().node_limit, ..Compat::KUBELET };
    Node::start_as(&KubeletView::new(&machine).unwrap(), &config, compat).unwrap()
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

/// Two cores of two threads and four of one, of which `reserved` are reserved.
fn hybrid(reserved: &str) -> Node {
    let core = |(core_id, threads): (i64, &[i64])| MachineCore {
        core_id,
        thread_ids: Some(threads.to_vec()),
        ..MachineCore::default()
    };
    let cores: [(i64, &[i64]); 6] = [(0, &[0, 1]), (1, &[2, 3]), (2, &[4]), (3, &[5]), (4, &[6]), (5, &[7])];
    let numa =
        MachineNode { memory: 8 << 30, cores: Some(cores.map(core).to_vec()), ..MachineNode::default() };
    let machine = MachineInfo {
        num_cpus: 8,
        num_physical_cores: 6,
        num_sockets: 1,
        memory_capacity: 8 << 30,
        topology: Some(vec![numa]),
        ..MachineInfo::default()
    };
    let config = KubeletConfiguration {
        cpu_manager_policy: Some("static".to_owned()),
        reserved_system_cpus: Some(reserved.to_owned()),
        ..KubeletConfiguration::default()
    };
    Node::start_as(&KubeletView::new(&machine).unwrap(), &config, Compat::KUBELET).unwrap()
}

/// On a machine whose cores differ the kubelet gives out reserved CPUs itself: nothing was changed, so that nothing can be
/// undone.
#[test]
fn reserved_cpus_that_the_kubelet_gave_out_are_told_from_a_changed_reservation() {
    let check = |node: &Node, cpus: &str, shared: &str, given: &ReservedGiven, help: &str| {
        let folder = folder(shared, &[("a", cpus)]);
        let audit = folder.audit(node, &listed(&["a"]));
        let Fault::CpusReserved { given: own, .. } = &audit.findings[0].fault else { panic!("{audit:?}") };
        assert_eq!(own, given, "{cpus}");
        let lines = folder.check(node, &PodNames::default(), &Quarantine::default());
        assert!(lines[0].help.starts_with(help), "{lines:?}");
    };
    let with = |cores: &str| ReservedGiven::WithCores(cores.parse().unwrap());
    let whole = "reserve whole cores: add CPUs 0-1 to reservedSystemCPUs; then drain the node";
    check(&hybrid("1"), "0-1", "2-7", &with("0-1"), whole);
    check(&hybrid("0"), "0-1,4", "2-3,5-7", &with("0-1"), whole);
    let changed = "reserve the CPUs that were reserved when the pod got its own";
    // Not the whole core; a whole core is reserved; cores that are alike.
    check(&hybrid("1"), "1,4", "0,2-3,5-7", &ReservedGiven::Before, changed);
    check(&hybrid("0-1"), "0-1", "2-7", &ReservedGiven::Before, changed);
    check(&node(), "0-1", "2-7", &ReservedGiven::Before, changed);
}

/// A changed `strict-cpu-reservation` and a change of the reserved CPUs get different advice.
#[test]
fn a_changed_option_is_told_from_a_changed_reservation() {
    let help = |folder: &StateFolder, strict: bool| {
        let machine: MachineInfo = "pack:2 [numa(memory=8GiB)] core:4 pu:1".parse().unwrap();
        let mut config = KubeletConfiguration {
            cpu_manager_policy: Some("static".to_owned()),
            reserved_system_cpus: Some("0-1".to_owned()),
            ..KubeletConfiguration::default()
        };
        if strict {
            config.cpu_manager_policy_options.insert("strict-cpu-reservation".to_owned(), "true".to_owned());
        }
        let node = Node::start_as(&KubeletView::new(&machine).unwrap(), &config, Compat::KUBELET).unwrap();
        let lines = folder.check(&node, &PodNames::default(), &Quarantine::default());
        assert!(lines[0].kubelet.starts_with("does not start"), "{lines:?}");
        lines[0].help.clone()
    };
    assert!(help(&folder("0-7", &[]), true).starts_with("turn strict-cpu-reservation off again"));
    assert!(help(&folder("2-7", &[]), false).starts_with("turn strict-cpu-reservation on again"));
    let changed = "reserve the CPUs that were reserved when the file was written";
    assert!(help(&folder("1-7", &[]), true).starts_with(changed));
    assert!(help(&folder("0,2-7", &[]), false).starts_with(changed));
    // Pods hold all.
    let full = help(&folder("", &[("a", "2-7")]), true);
    assert!(full.starts_with("while the kubelet runs, delete a pod"), "{full}");
}
