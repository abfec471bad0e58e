//! What the next restart of a kubelet does with the pods that run.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubelet_checkpoint::cpu::{CpuFormat, CpuState};
use node_config::{KubeletConfiguration, Release, Rules};
use node_state::{Restart, RestartOutcome, StateFolder};
use pod_spec::{Container, CreationTime, Pod, PodUid, ResourceList, Role};
use topology_admission::{Compat, Node};
use topology_model::{KubeletView, MachineInfo};

/// Two NUMA nodes of 8GiB and four two-thread cores each; 0-1 are reserved.
fn node(release: Release, change: impl FnOnce(&mut KubeletConfiguration)) -> Node {
    let machine: MachineInfo = "pack:2 [numa(memory=8GiB)] core:4 pu:2".parse().unwrap();
    let mut config = KubeletConfiguration {
        rules: Rules::of(release),
        cpu_manager_policy: Some("static".to_owned()),
        reserved_system_cpus: Some("0-1".to_owned()),
        ..KubeletConfiguration::default()
    };
    change(&mut config);
    let compat = Compat { node_limit: Compat::default().node_limit, ..Compat::KUBELET };
    Node::start_as(&KubeletView::new(&machine).unwrap(), &config, compat).unwrap()
}

/// A Guaranteed pod, created in that second of a day.
fn pod(name: &str, cpus: u64, gi: u64, second: u32) -> Pod {
    let amounts = |text: &[(&str, String)]| -> ResourceList {
        text.iter().map(|(name, amount)| ((*name).into(), amount.parse().unwrap())).collect()
    };
    let both = amounts(&[("cpu", cpus.to_string()), ("memory", format!("{gi}Gi"))]);
    let container = Container { name: "app".into(), role: Role::App, requests: both.clone(), limits: both };
    let created = CreationTime::parse(&format!("2026-11-26T10:00:{second:02}Z"));
    Pod { uid: PodUid::new(name), created, ..Pod::new("ns", name, vec![container]) }
}

/// A file in which pods hold CPUs.
fn folder(shared: &str, held: &[(&str, &str)]) -> StateFolder {
    let own = |cpus: &str| BTreeMap::from([("app".into(), cpus.parse().unwrap())]);
    let state = CpuState {
        policy: "static".to_owned(),
        shared: shared.parse().unwrap(),
        containers: held.iter().map(|(pod, cpus)| (PodUid::new(pod), own(cpus))).collect(),
        ..CpuState::default()
    };
    StateFolder { cpu: Some(state.encode(CpuFormat::V2).into_bytes()), ..StateFolder::default() }
}

/// Which pods are refused, with the kubelet's reasons.
fn check(folder: &StateFolder, node: &Node, pods: &[Pod], expected: &[(&str, &str)]) -> Restart {
    let pods: Vec<Arc<Pod>> = pods.iter().cloned().map(Arc::new).collect();
    let restart = Restart::of(folder, node, &pods, None);
    let refused: Vec<(&str, &str)> =
        restart.refused.iter().map(|refused| (refused.pod.as_str(), refused.reason.as_str())).collect();
    assert_eq!(refused, expected, "{restart:?}");
    restart
}

#[test]
fn a_policy_or_option_that_was_tightened_refuses_pods_that_run() {
    let across = folder("0-5,10-15", &[("a", "6-9")]);
    let one_node = |config: &mut KubeletConfiguration| {
        config.topology_manager_policy = Some("single-numa-node".to_owned());
    };
    let whole_cores = |config: &mut KubeletConfiguration| {
        config.cpu_manager_policy_options.insert("full-pcpus-only".to_owned(), "true".to_owned());
    };
    let pods = [pod("a", 4, 1, 0)];
    let restart = check(&across, &node(Release::V1_36, |_| ()), &pods, &[]);
    assert_eq!((restart.outcome, restart.admitted), (RestartOutcome::AdmitsAll, 1));
    let restart =
        check(&across, &node(Release::V1_36, one_node), &pods, &[("ns/a", "TopologyAffinityError")]);
    assert!(restart.refused[0].cause.contains("policy single-numa-node does not accept"), "{restart:?}");
    // A part of a core.
    let part = folder("0-1,5-15", &[("a", "2-4")]);
    let pods = [pod("a", 3, 1, 0)];
    for release in [Release::V1_34, Release::V1_35, Release::V1_36] {
        let restart = check(&part, &node(release, whole_cores), &pods, &[("ns/a", "SMTAlignmentError")]);
        assert!(restart.refused[0].help.starts_with("turn full-pcpus-only off"), "{restart:?}");
    }
}

/// Whole cores are looked for again up to 1.36, among those that are free.
#[test]
fn a_pod_with_more_cores_than_are_free_is_refused_up_to_1_36() {
    let whole_cores = |config: &mut KubeletConfiguration| {
        config.cpu_manager_policy_options.insert("full-pcpus-only".to_owned(), "true".to_owned());
    };
    let folder = folder("0-1,12-15", &[("a", "2-11")]);
    let pods = [pod("a", 10, 1, 0)];
    for release in [Release::V1_34, Release::V1_35, Release::V1_36] {
        let restart = check(&folder, &node(release, whole_cores), &pods, &[("ns/a", "SMTAlignmentError")]);
        assert!(restart.refused[0].message.contains("available physical CPUs = 4"), "{restart:?}");
        assert!(restart.refused[0].cause.contains("before it looks at what the pod holds"), "{restart:?}");
    }
    check(&folder, &node(Release::V1_37, whole_cores), &pods, &[]);
}

/// The pods are admitted in the order of their creation, so that the last ones lack what is reserved anew.
#[test]
fn a_reservation_that_grew_refuses_the_pods_that_were_created_last() {
    let folder = folder("0-1,6-15", &[("a", "2-3"), ("b", "4-5")]);
    let more = |config: &mut KubeletConfiguration| {
        config.system_reserved.insert("memory".to_owned(), "9Gi".to_owned());
    };
    let (first, second) = (pod("b", 2, 4, 1), pod("a", 2, 4, 2));
    check(&folder, &node(Release::V1_36, |_| ()), &[second.clone(), first.clone()], &[]);
    let restart =
        check(&folder, &node(Release::V1_36, more), &[second.clone(), first], &[("ns/a", "OutOfmemory")]);
    assert_eq!(restart.outcome, RestartOutcome::RefusesPods);
    assert!(restart.refused[0].cause.contains("request more memory than is left"), "{restart:?}");
    // A static pod has no creation, and comes first.
    let fixed = Pod { created: None, ..pod("b", 2, 4, 1) };
    check(&folder, &node(Release::V1_36, more), &[second, fixed], &[("ns/a", "OutOfmemory")]);
}

/// A pod that is to be resized has the requests of the file, not those of its manifest.
#[test]
fn a_pod_is_admitted_with_what_it_was_allocated() {
    let plain = folder("0-1,4-15", &[("a", "2-3")]);
    // As a kubelet writes it, with 2 CPUs and 1Gi.
    let vectors = include_str!("../../../../fixtures/state/kubelet-pods-state.jsonl");
    let line = vectors.lines().find(|line| line.contains("8000-000000000001")).unwrap();
    let vector: serde_json::Value = serde_json::from_str(line).unwrap();
    let allocated = Some(vector["file"].as_str().unwrap().as_bytes().to_vec());
    let with = StateFolder { allocated, ..plain.clone() };
    let uid = PodUid::new("00000000-0000-4000-8000-000000000001");
    let mut wants = Pod { uid, ..pod("a", 2, 20, 0) };
    wants.containers[0].name = "c".into();
    let node = node(Release::V1_36, |_| ());
    check(&plain, &node, std::slice::from_ref(&wants), &[("ns/a", "OutOfmemory")]);
    check(&with, &node, &[wants], &[]);
}

#[test]
fn a_kubelet_that_does_not_start_admits_nobody() {
    let strict = |config: &mut KubeletConfiguration| {
        config.cpu_manager_policy_options.insert("strict-cpu-reservation".to_owned(), "true".to_owned());
    };
    let full = folder("", &[("a", "2-15")]);
    let restart = check(&full, &node(Release::V1_36, strict), &[pod("a", 14, 1, 0)], &[]);
    assert_eq!(restart.outcome, RestartOutcome::DoesNotStart);
    for file in ["", "{}", "{\"data\":\"{}\"}", "{\"data\":\"{}\",\"checksum\":1}\"}"] {
        let torn = Some(file.as_bytes().to_vec());
        let whole = folder("0-15", &[]);
        for folder in [
            StateFolder { allocated: torn.clone(), ..whole.clone() },
            StateFolder { actuated: torn, ..whole },
        ] {
            for release in Release::ALL {
                let restart = check(&folder, &node(release, |_| ()), &[], &[]);
                assert_eq!(restart.outcome, RestartOutcome::DoesNotStart, "{release}: {file}");
            }
            // Up to 1.34 the files are neither read nor written with the gate off.
            let off = |config: &mut KubeletConfiguration| {
                config.feature_gates.insert("InPlacePodVerticalScaling".to_owned(), false);
            };
            let restart = check(&folder, &node(Release::V1_34, off), &[], &[]);
            assert_eq!(restart.outcome, RestartOutcome::AdmitsAll, "{file}");
        }
    }
}
