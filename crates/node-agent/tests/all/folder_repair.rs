//! A repair that is stopped at any operation leaves no changed file whose pods are not quarantined.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::common::node;
use kubelet_checkpoint::cpu::{CpuFormat, CpuState};
use kubelet_checkpoint::store::{Fault, SimulatedDisk, StateFile, Store};
use node_agent::{KeptBackups, write_repair};
use node_state::{FolderRepair, Losses, PodNames, QUARANTINE, Quarantine, StateFolder};
use pod_spec::PodUid;

const ROOT: &str = "/kubelet";

/// A file of CPUs of which two pods hold one.
fn torn() -> String {
    let held = |cpus: &str| BTreeMap::from([("app".into(), cpus.parse().unwrap())]);
    let state = CpuState {
        policy: "static".to_owned(),
        shared: "0,4-7".parse().unwrap(),
        containers: [("a", "1-3"), ("b", "3")].map(|(pod, cpus)| (PodUid::new(pod), held(cpus))).into(),
        ..CpuState::default()
    };
    state.encode(CpuFormat::V2)
}

fn repair() -> FolderRepair {
    let node = node();
    let folder = StateFolder { cpu: Some(torn().into_bytes()), ..StateFolder::default() };
    let (names, earlier) = (PodNames::default(), Quarantine::default());
    let plan = folder.plan_repair(&node, &names.pod_list(&folder, &earlier)).unwrap();
    FolderRepair::of(plan, &node, &names, earlier).unwrap()
}

/// A disk with the file of CPUs.
fn disk() -> SimulatedDisk {
    let disk = SimulatedDisk::default();
    let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
    store.write(StateFile::Cpu, torn().as_bytes()).unwrap();
    disk
}

/// The file of CPUs, and who is quarantined.
fn contents(disk: SimulatedDisk) -> (Option<Vec<u8>>, Quarantine) {
    let store = Store::on(disk, Path::new(ROOT)).unwrap();
    let quarantine = store.read_at(Path::new(QUARANTINE)).unwrap();
    let quarantine = quarantine.map_or_else(Quarantine::default, |text| Quarantine::parse(&text).unwrap());
    (store.read(StateFile::Cpu).unwrap(), quarantine)
}

#[test]
fn a_whole_repair_names_the_backups_in_the_quarantine() {
    let (disk, mut repair) = (disk(), repair());
    assert!(!repair.may_be_written(Losses::Refused), "{repair:?}");
    let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
    let replaced =
        write_repair(&store, &mut repair, KeptBackups::default(), |error| panic!("{error}")).unwrap();
    let backups: Vec<PathBuf> = replaced.into_iter().filter_map(|file| file.backup).collect();
    let (cpu, quarantine) = contents(disk);
    assert_ne!(cpu, Some(torn().into_bytes()));
    assert_eq!(quarantine.pods.keys().collect::<Vec<_>>(), ["a", "b"]);
    for quarantined in quarantine.pods.values() {
        assert!(quarantined.backups.iter().map(PathBuf::from).eq(backups.iter().cloned()), "{quarantined:?}");
        assert!(!quarantined.backups.is_empty());
    }
}

#[test]
fn a_stopped_repair_has_quarantined_before_it_has_changed_a_file() {
    let before = disk().operations();
    let mut stops = 0;
    for at in before.. {
        let disk = disk();
        disk.fails(Fault::Stop(at));
        let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
        let written = write_repair(&store, &mut repair(), KeptBackups::default(), |_| ());
        if !disk.is_stopped() {
            assert!(written.is_ok());
            break;
        }
        stops += 1;
        for left in disk.after_stop() {
            let (cpu, quarantine) = contents(left);
            let is_changed = cpu != Some(torn().into_bytes());
            assert!(!is_changed || quarantine.pods.len() == 2, "operation {at}: {quarantine:?}");
        }
    }
    assert!(stops > 5, "{stops} operations");
}
