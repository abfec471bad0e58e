//! What holds of a start from any folder: for tests and for a fuzz target.

#![allow(unreachable_pub, clippy::unwrap_used, reason = "a fuzz target uses it too; what cannot go on fails")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use device_manager::{Inventory, Moment};
use kubelet_checkpoint::store::StateFile;
use node_agent::{Effect, FileName, Owner, WriteOutcome};
use node_state::{PODS, PodList, RepairPlan, StateFolder};
use topology_admission::{Ledger, Node};

/// Files by path below the root.
pub type Disk = BTreeMap<PathBuf, Vec<u8>>;

/// What is on a disk, unread.
pub fn found(disk: &Disk) -> StateFolder {
    let file = |file: StateFile| disk.get(&FileName::State(file).path()).cloned();
    let pods = disk.iter().filter(|(path, _)| path.starts_with(PODS));
    StateFolder {
        cpu: file(StateFile::Cpu),
        memory: file(StateFile::Memory),
        device: file(StateFile::Device),
        pods: pods.map(|(path, text)| (path.clone(), text.clone())).collect(),
        ..StateFolder::default()
    }
}

/// Does all that can be done now, and gives what is to be done elsewhere.
pub fn drive(owner: &mut Owner, disk: &mut Disk) -> Vec<Effect> {
    while let Some(plan) = owner.next(Moment::default()) {
        for write in plan.writes() {
            match &write.text {
                Some(text) => disk.insert(write.file.path(), text.clone().into_bytes()),
                None => disk.remove(&write.file.path()),
            };
        }
        owner.settle(Moment::default(), plan, &WriteOutcome::All);
    }
    owner.take_effects()
}

/// Starts from `disk`, checks what always holds, and gives what was found and the files afterwards.
pub fn start(disk: &Disk, node: &Arc<Node>, runs: &PodList) -> (RepairPlan, Ledger, Disk) {
    let mut repaired = found(disk).plan_repair(node, runs).unwrap();
    let ledger =
        repaired.start.ledger(node, Inventory::new(node.nodes().clone()), Moment::default()).unwrap();
    one_owner(&ledger);
    let mut after = disk.clone();
    for mended in repaired.settle(node, &ledger) {
        match mended.text {
            Some(text) => after.insert(mended.path, text.into_bytes()),
            None => after.remove(&mended.path),
        };
    }
    // The files that are mended are enough, and those that the owner writes at once are taken too.
    let again = found(&after).plan_repair(node, runs).unwrap();
    assert!(again.findings.is_empty(), "{:?} after {:?}", again.findings, repaired.findings);
    let mut owner = Owner::new(node.clone(), &ledger, repaired.start.records.clone());
    drive(&mut owner, &mut after);
    let strict = found(&after).strict(node).unwrap();
    let restarted = strict.ledger(node, Inventory::new(node.nodes().clone()), Moment::default()).unwrap();
    assert_eq!(restarted.cpus(), ledger.cpus());
    assert_eq!(restarted.devices(), ledger.devices());
    assert_eq!(strict.records.len(), repaired.start.records.len());
    for uid in repaired.quarantined.keys() {
        if let Some(record) = strict.records.iter().find(|record| record.pod.uid == *uid) {
            assert!(record.quarantine.is_some(), "{uid} is marked");
        }
    }
    (repaired, ledger, after)
}

fn one_owner(ledger: &Ledger) {
    if let Some(held) = ledger.cpus() {
        assert_eq!(held.two_owners(), None);
        for (pod, container, cpus) in held.iter() {
            assert!(cpus.is_disjoint(held.shared()), "{pod} {container}");
        }
    }
    let mut devices = BTreeMap::new();
    for (pod, _, resource, held) in ledger.devices().iter() {
        for id in held.devices() {
            let owner = devices.entry((resource.clone(), id)).or_insert_with(|| pod.clone());
            assert_eq!(owner, pod, "a device of two pods");
        }
    }
}

/// The same, unless a file is one of no known format, which may hold anything: that is left as it is.
#[allow(dead_code, reason = "each that has this module uses a part")]
pub fn start_if_known(disk: &Disk, node: &Arc<Node>, runs: &PodList) {
    match found(disk).plan_repair(node, runs) {
        Ok(_) => drop(start(disk, node, runs)),
        Err(unknown) => assert_eq!(found(disk).known(), Err(unknown)),
    }
}
