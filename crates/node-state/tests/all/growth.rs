//! What a folder costs that names many pods: memory that grows with its files, and sentences that do not.

use std::collections::BTreeMap;

use allocation_counter::AllocationInfo;
use kubelet_checkpoint::cpu::{CpuFormat, CpuState};
use kubelet_checkpoint::device::{DeviceEntry, DeviceState};
use node_config::KubeletConfiguration;
use node_state::{FaultKind, PodList, PodNames, Quarantine, RunningPod, Standing, StateFolder};
use pod_spec::{PodUid, ResourceName};
use topology_admission::{Compat, Node};
use topology_model::{KubeletView, MachineInfo};

/// Pods of the smaller folder.
const FEW: usize = 100;
/// Pods of the larger one.
const MANY: usize = 10 * FEW;
/// The most bytes of one sentence.
const SENTENCE: usize = 1_000;

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

fn uids(pods: usize) -> impl Iterator<Item = PodUid> {
    (0..pods).map(|pod| PodUid::new(&format!("u{pod}")))
}

/// A whole file in which all pods hold the same CPU.
fn one_cpu(pods: usize) -> StateFolder {
    let held = BTreeMap::from([("c".into(), "1".parse().unwrap())]);
    let state = CpuState {
        policy: "static".to_owned(),
        shared: "0,2-7".parse().unwrap(),
        containers: uids(pods).map(|pod| (pod, held.clone())).collect(),
        ..CpuState::default()
    };
    StateFolder { cpu: Some(state.encode(CpuFormat::V2).into_bytes()), ..StateFolder::default() }
}

/// The same, changed after it was written: the checksum is of the file before.
fn changed(pods: usize) -> StateFolder {
    let mut folder = one_cpu(pods);
    let text = String::from_utf8(folder.cpu.unwrap()).unwrap();
    folder.cpu = Some(text.replacen("u0\":{\"c\":\"1\"", "u0\":{\"c\":\"2\"", 1).into_bytes());
    folder
}

/// The same, and one of devices, torn before their checksums, so that nothing proves a guess.
fn torn(pods: usize) -> StateFolder {
    let torn = |file: Option<Vec<u8>>| file.map(|file| file[..file.len() - 40].to_vec());
    StateFolder {
        cpu: torn(one_cpu(pods).cpu),
        device: torn(one_device(pods).device),
        ..StateFolder::default()
    }
}

/// A whole file in which all pods hold the same device.
fn one_device(pods: usize) -> StateFolder {
    let entry = |pod| DeviceEntry {
        pod,
        container: "c".into(),
        resource: ResourceName::new("vendor.com/gpu"),
        devices: Some(BTreeMap::from([(0, Some(vec!["0".to_owned()]))])),
        reply: None,
    };
    let state =
        DeviceState { entries: Some(uids(pods).map(entry).collect()), registered: Some(BTreeMap::new()) };
    StateFolder { device: Some(state.encode().into_bytes()), ..StateFolder::default() }
}

/// All pods, as a list has them.
fn listed(pods: usize) -> PodList {
    let running =
        |uid: &PodUid| RunningPod { name: format!("ns/{uid}"), manifest: None, standing: Standing::Listed };
    PodList::Listed(uids(pods).map(|uid| (uid.clone(), running(&uid))).collect())
}

/// Something that is done with a folder of so many pods.
type Work = fn(&StateFolder, usize);

/// Checks the folder as `state check` does.
fn check(folder: &StateFolder, _: usize) {
    assert!(!folder.check(&node(), &PodNames::default(), &Quarantine::default()).is_empty());
}

/// Plans the repair of the folder where all of its pods are in a list.
fn repair_listed(folder: &StateFolder, pods: usize) {
    assert!(!folder.plan_repair(&node(), &listed(pods)).unwrap().findings.is_empty());
}

/// The same where the pods' own files were removed.
fn repair_incomplete(folder: &StateFolder, _: usize) {
    assert!(!folder.plan_repair(&node(), &PodList::Incomplete).unwrap().findings.is_empty());
}

#[test]
fn what_a_folder_costs_grows_as_its_files_do() {
    for (name, folder) in [
        ("one CPU", one_cpu as fn(usize) -> _),
        ("changed", changed),
        ("torn", torn),
        ("one device", one_device),
    ] {
        let works = [("check", check as Work), ("listed", repair_listed), ("incomplete", repair_incomplete)];
        for (done, work) in works {
            let cost = |pods| {
                let folder = folder(pods);
                allocation_counter::measure(|| work(&folder, pods))
            };
            let (few, many): (AllocationInfo, AllocationInfo) = (cost(FEW), cost(MANY));
            let costs = [
                ("bytes at once", few.bytes_max, many.bytes_max),
                ("allocations", few.count_total, many.count_total),
                ("bytes in all", few.bytes_total, many.bytes_total),
            ];
            // Guesses are made one after the other, as many as a limit allows that the smaller folder does not reach.
            let compared = if name == "changed" { 1 } else { costs.len() };
            for (what, few, many) in costs.into_iter().take(compared) {
                assert!(many < 12 * few, "{name}, {done}: {few} {what} become {many}");
            }
        }
    }
}

#[test]
fn pods_that_hold_the_same_are_told_of_together() {
    let plan = one_cpu(MANY).plan_repair(&node(), &PodList::Unknown).unwrap();
    let twice: Vec<_> =
        plan.findings.iter().filter(|repair| repair.finding.fault.kind() == FaultKind::TwoOwners).collect();
    let [repair] = &twice[..] else { panic!("{} findings", twice.len()) };
    assert_eq!(
        repair.finding.fault.to_string(),
        "pod u0, pod u1, pod u10, pod u100, pod u101, pod u102, pod u103, pod u104, pod u105, pod u106 and 990 more all hold CPU 1"
    );
    assert_eq!(repair.remedy.to_string(), "pod u0 keeps it; the 999 other pods keep the rest of their CPUs");
    assert_eq!(repair.quarantined.len(), MANY);
    let held = plan.start.stored.cpus.as_ref().unwrap();
    let owners = uids(MANY).filter(|pod| held.of_pod(pod).any(|(_, cpus)| !cpus.is_empty()));
    assert_eq!(owners.collect::<Vec<_>>(), [PodUid::new("u0")]);
}

#[test]
fn sentences_stay_short_however_many_pods_they_are_about() {
    for folder in [one_cpu(FEW), changed(FEW), torn(FEW), one_device(FEW)] {
        for list in [PodList::Unknown, PodList::Incomplete, listed(FEW)] {
            let plan = folder.plan_repair(&node(), &list).unwrap();
            for repair in &plan.findings {
                let found = repair.finding.fault.to_string();
                assert!(found.len() < SENTENCE, "{found}");
            }
            for why in plan.quarantined.values() {
                assert!(why.len() < 4 * SENTENCE, "{why}");
            }
        }
    }
}

/// Seven CPUs of one pod are each held by another: each is a finding, of which the first pod has the first few as its reason.
#[test]
fn reasons_beyond_the_first_are_counted() {
    let held = |cpus: &str| BTreeMap::from([("c".into(), cpus.parse().unwrap())]);
    let others = (1..8).map(|cpu| (PodUid::new(&format!("b{cpu}")), held(&cpu.to_string())));
    let state = CpuState {
        policy: "static".to_owned(),
        shared: "0".parse().unwrap(),
        containers: others.chain([(PodUid::new("a"), held("1-7"))]).collect(),
        ..CpuState::default()
    };
    let folder =
        StateFolder { cpu: Some(state.encode(CpuFormat::V2).into_bytes()), ..StateFolder::default() };
    let plan = folder.plan_repair(&node(), &PodList::Unknown).unwrap();
    assert_eq!(
        plan.quarantined[&PodUid::new("a")],
        "pod a and pod b1 both hold CPU 1; pod a and pod b2 both hold CPU 2; pod a and pod b3 both hold CPU 3; \
         pod a and pod b4 both hold CPU 4; and 3 more"
    );
    assert_eq!(plan.quarantined[&PodUid::new("b7")], "pod a and pod b7 both hold CPU 7");
}
