//! What is read of damaged files is a part of what was written, and a checksum that proves it does not lie.

use std::collections::BTreeMap;

use kubelet_checkpoint::cpu::{CpuFormat, CpuState};
use kubelet_checkpoint::device::{DeviceEntry, DeviceState};
use kubelet_checkpoint::memory::{Block, MemoryFormat, MemoryState, MemoryTable, NodeState};
use kubelet_checkpoint::salvage::{Rest, Salvaged, Seal};
use pod_spec::{ContainerName, PodUid, ResourceName};
use proptest::prelude::*;
use topology_model::NodeId;

fn cpus() -> CpuState {
    let of = |name: &str, cpus: &str| BTreeMap::from([(ContainerName::new(name), cpus.parse().unwrap())]);
    CpuState {
        policy: "static".into(),
        shared: "0,7-24".parse().unwrap(),
        containers: BTreeMap::from([
            (PodUid::new("one"), of("app", "1-4")),
            (PodUid::new("two \"2\""), of("app", "5")),
            (PodUid::new("up"), of("proxy", "6")),
        ]),
        pods: BTreeMap::from([(PodUid::new("one"), "1-4".parse().unwrap())]),
        baselines: BTreeMap::new(),
    }
}

fn memory() -> MemoryState {
    let table = MemoryTable { total: 9 << 30, system_reserved: 1, allocatable: 8, reserved: 5, free: 3 };
    let node = NodeState {
        assignments: 2,
        memory: Some(BTreeMap::from([(ResourceName::new("memory"), Some(table))])),
        cells: Some(vec![NodeId(0)]),
    };
    let block = |size| Block { nodes: Some(vec![NodeId(0)]), resource: ResourceName::new("memory"), size };
    let of = |size| Some(BTreeMap::from([(ContainerName::new("app"), Some(vec![block(size)]))]));
    MemoryState {
        policy: "Static".into(),
        nodes: Some(BTreeMap::from([(NodeId(0), Some(node.clone())), (NodeId(1), Some(node))])),
        entries: BTreeMap::from([(PodUid::new("one"), of(4)), (PodUid::new("two"), of(1))]),
        pod_entries: BTreeMap::new(),
    }
}

fn devices() -> DeviceState {
    let entry = |pod: &str, id: &str| DeviceEntry {
        pod: PodUid::new(pod),
        container: ContainerName::new("app"),
        resource: ResourceName::new("example.com/vf"),
        devices: Some(BTreeMap::from([(0, Some(vec![id.to_owned()]))])),
        reply: Some(b"reply".to_vec()),
    };
    let healthy = ["a", "b"].map(str::to_owned).to_vec();
    DeviceState {
        entries: Some(vec![entry("one", "a"), entry("two", "b")]),
        registered: Some(BTreeMap::from([(ResourceName::new("example.com/vf"), Some(healthy))])),
    }
}

#[test]
fn a_whole_file_is_read_whole() {
    let read = Salvaged::cpus(cpus().encode(CpuFormat::V3).as_bytes());
    assert_eq!((read.state, read.cut.len(), read.rest), (cpus(), 0, Rest::Read));
    let read = Salvaged::memory(memory().encode(MemoryFormat::V1).as_bytes());
    assert_eq!((read.state, read.cut.len(), read.rest), (memory(), 0, Rest::Read));
    let read = Salvaged::devices(devices().encode().as_bytes());
    assert_eq!((read.state, read.cut.len(), read.rest), (devices(), 0, Rest::Read));
}

#[test]
fn one_missing_byte_loses_nothing_and_the_checksum_proves_it() {
    let file = cpus().encode(CpuFormat::V3);
    for missing in 1..=5 {
        let torn = &file.as_bytes()[..file.len() - missing];
        assert_eq!(Salvaged::cpus(torn).state, cpus());
        assert!(Seal::of(torn).unwrap().proves(&file), "{missing} bytes are missing");
    }
    let mut other = cpus();
    other.shared = "0,8-24".parse().unwrap();
    assert!(!Seal::of(file.as_bytes()).unwrap().proves(&other.encode(CpuFormat::V3)));
}

/// Four digits of a checksum that breaks off fit one of ten thousand files: among thousands of guesses one fits by
/// chance.
#[test]
fn few_digits_prove_what_was_read_and_no_guess() {
    let file = cpus().encode(CpuFormat::V3);
    let name = "hecksum\":";
    let digits = file.rfind(name).unwrap() + name.len();
    for count in [4, 7, 8] {
        let seal = Seal::of(&file.as_bytes()[..digits + count]).unwrap();
        assert!(seal.proves(&file), "{count} digits");
        assert_eq!(seal.proves_guess(&file), count >= 8, "{count} digits");
    }
    assert!(!Seal::of(&file.as_bytes()[..digits + 3]).unwrap().proves(&file));
    let seal = Seal::of(&file.as_bytes()[..digits + 4]).unwrap();
    let is_proven = |at: u32| {
        let guess = CpuState { policy: at.to_string(), ..cpus() };
        seal.proves_guess(&guess.encode(CpuFormat::V3)) || seal.proves_guess(&guess.encode(CpuFormat::V2))
    };
    assert_eq!((0..20_000).find(|at| is_proven(*at)), None);
}

#[test]
fn one_bad_value_costs_one_entry_at_most() {
    let file = memory().encode(MemoryFormat::V1);
    let read = Salvaged::memory(file.replacen("\"free\":", "\"free\":-", 1).as_bytes());
    assert_eq!(read.state.entries, memory().entries);
    assert_eq!((read.cut.len(), read.rest), (0, Rest::Cut));
    let read = Salvaged::memory(file.replacen("\"size\":4", "\"size\":-4", 1).as_bytes());
    assert_eq!(read.cut.into_iter().collect::<Vec<_>>(), [PodUid::new("one")]);
    assert_eq!(read.state.entries[&PodUid::new("two")], memory().entries[&PodUid::new("two")]);
    // A fault in the books hides no entry.
    let read = Salvaged::memory(file.replacen("},\"cells\"", "}\n\"cells\"", 1).as_bytes());
    assert_eq!((read.state.entries, read.rest), (memory().entries, Rest::Cut));
}

#[test]
fn behind_a_fault_in_one_entry_the_next_pods_are_read() {
    let pods: Vec<PodUid> = (0..4).map(|at| PodUid::new(&format!("u{at}"))).collect();
    let cpus = |at: usize| [(ContainerName::new("app"), format!("{}", at + 1).parse().unwrap())].into();
    let containers = pods.iter().enumerate().map(|(at, pod)| (pod.clone(), cpus(at))).collect();
    let whole = CpuState { containers, pods: BTreeMap::new(), ..self::cpus() };
    let file = whole.encode(CpuFormat::V2);
    assert_eq!(Salvaged::cpus(file.as_bytes()).pods, Rest::Read);
    for (from, to) in [("\"app\":\"2\"", "\"app\":\u{0}2\""), ("\"u1\":{", "\"u1\";{"), ("\"2\"}", "\"2\" ?")]
    {
        let read = Salvaged::cpus(file.replacen(from, to, 1).as_bytes());
        assert_eq!(read.pods, Rest::Cut, "{from}");
        for pod in [&pods[0], &pods[2], &pods[3]] {
            assert_eq!(read.state.containers.get(pod), whole.containers.get(pod), "{from}: {pod}");
            assert!(!read.cut.contains(pod), "{from}: {pod}");
        }
    }
}

/// What happens at one byte of a file.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// The file ends before it.
    Cut,
    /// This bit of it, from 0, is another.
    Flipped(u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![Just(Damage::Cut), (0..8_u8).prop_map(Damage::Flipped)]
}

/// A file with damage at one place.
fn damaged(text: &str, at: prop::sample::Index, damage: Damage) -> Vec<u8> {
    let mut file = text.as_bytes().to_vec();
    let at = at.index(file.len());
    match damage {
        Damage::Cut => file.truncate(at),
        Damage::Flipped(bit) => file[at] ^= 1 << bit,
    }
    file
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_read_of_a_cut_file_was_written(at in any::<prop::sample::Index>()) {
        let read = Salvaged::cpus(&damaged(&cpus().encode(CpuFormat::V3), at, Damage::Cut));
        for (pod, of) in &read.state.containers {
            let all = &cpus().containers[pod];
            prop_assert!(of == all || read.cut.contains(pod), "{read:?}");
        }
        let read = Salvaged::memory(&damaged(&memory().encode(MemoryFormat::V1), at, Damage::Cut));
        for (pod, of) in &read.state.entries {
            prop_assert!(Some(of) == memory().entries.get(pod) || read.cut.contains(pod), "{read:?}");
        }
        let read = Salvaged::devices(&damaged(&devices().encode(), at, Damage::Cut));
        for entry in read.state.entries.iter().flatten() {
            let is_whole = devices().entries.unwrap().contains(entry);
            prop_assert!(is_whole || read.cut.contains(&entry.pod), "{read:?}");
        }
    }

    #[test]
    fn a_checksum_that_proves_does_not_lie(at in any::<prop::sample::Index>(), damage in damage()) {
        let file = damaged(&cpus().encode(CpuFormat::V3), at, damage);
        let read = Salvaged::cpus(&file);
        if Seal::of(&file).is_some_and(|seal| seal.proves(&read.state.encode(CpuFormat::V3))) {
            prop_assert_eq!(read.state, cpus());
        }
        let file = damaged(&devices().encode(), at, damage);
        let read = Salvaged::devices(&file);
        if Seal::of(&file).is_some_and(|seal| seal.proves(&read.state.encode())) {
            prop_assert_eq!(read.state, devices());
        }
    }

    #[test]
    fn anything_is_read(file in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = (Salvaged::cpus(&file), Salvaged::memory(&file), Salvaged::devices(&file), Seal::of(&file));
    }
}
