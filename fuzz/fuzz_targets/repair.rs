//! A repair of a folder whose files are damaged, of pods of which is known that they run: each holds what it held or is
//! in quarantine, nothing is owned twice, a strict start follows, and a second repair finds nothing.
//!
//! The bytes up to the first 255 are pods, by their CPUs; those after it are damages of four bytes each: which file, what
//! is done to it, and where. `cargo xtask fuzz repair`.
#![no_main]

use std::collections::BTreeMap;

use node_agent::{Event, Request, Ticket};
use node_state::{PODS, PodList, RunningPod, Standing};
use pod_spec::{ContainerName, PodUid};
use topology_admission::Ledger;

#[path = "../../crates/node-agent/tests/all/common/mod.rs"]
mod common;
#[path = "../../crates/node-agent/tests/all/starting/mod.rs"]
mod starting;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == u8::MAX).unwrap_or(bytes.len());
    let (pods, damages) = bytes.split_at(end);
    let mut node = common::Node1::new();
    let names: Vec<String> = (0..pods.len().min(6)).map(|at| format!("p{at}")).collect();
    for ((name, byte), ticket) in names.iter().zip(pods).zip(0..) {
        let pod = common::pod(name, u32::from(byte % 4), 0);
        node.handle(Event::Request(Ticket(ticket), Request::Admit(pod)));
    }
    let before = node.files();
    let before: starting::Disk = before.into_iter().map(|(path, text)| (path, text.into_bytes())).collect();
    let (_, truth, _) = starting::start(&before, &common::node(), &PodList::Recorded);
    let listed = |name: &String| RunningPod { name: name.clone(), manifest: None, standing: Standing::Listed };
    let running: BTreeMap<PodUid, RunningPod> =
        names.iter().map(|name| (common::uid(name), listed(name))).collect();

    let mut disk = before.clone();
    let damages = damages.get(1..).unwrap_or_default();
    // A kubelet's folder has no pods' own files.
    if damages.first().is_some_and(|byte| byte % 2 == 0) {
        disk.retain(|path, _| !path.starts_with(PODS));
    }
    for damage in damages.chunks_exact(4).take(8) {
        damaged(&mut disk, damage);
    }
    let runs = PodList::Listed(running.clone());
    let known = starting::found(&disk).plan_repair(&common::node(), &runs).is_ok();
    if !known {
        return starting::start_if_known(&disk, &common::node(), &runs);
    }
    let is_damaged = disk.iter().any(|(path, text)| before.get(path) != Some(text))
        || before.keys().any(|path| !path.starts_with(PODS) && !disk.contains_key(path));
    let (repaired, ledger, _) = starting::start(&disk, &common::node(), &runs);
    // Who quarantines everybody is safe and of no use.
    assert!(is_damaged || repaired.quarantined.is_empty(), "{:?} of whole files", repaired.quarantined);
    for uid in running.keys().filter(|uid| !repaired.quarantined.contains_key(*uid)) {
        assert_eq!(held(&ledger, uid), held(&truth, uid), "{uid} is not in quarantine");
    }
});

/// What a pod holds, for comparison.
fn held(ledger: &Ledger, uid: &PodUid) -> String {
    let app = ContainerName::new("app");
    let cpus = ledger.cpus().and_then(|held| held.assigned(uid, &app));
    let memory =
        ledger.memory().and_then(|held| held.assigned(uid, &app)).filter(|blocks| !blocks.is_empty());
    format!("{cpus:?} {memory:?}")
}

/// Does one damage: which file, what, and where in it.
fn damaged(disk: &mut starting::Disk, damage: &[u8]) {
    let [file, what, high, low] = damage else { return };
    let Some(path) = disk.keys().nth(usize::from(*file) % disk.len().max(1)).cloned() else { return };
    let Some(bytes) = disk.get_mut(&path) else { return };
    let at = usize::from(u16::from_be_bytes([*high, *low])) % bytes.len().max(1);
    match what % 5 {
        0 => bytes.truncate(at),
        1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << (what >> 5);
            }
        }
        2 => {
            let zeros = bytes.len();
            bytes.truncate(at);
            bytes.resize(zeros, 0);
        }
        3 => {
            let end = (at + usize::from(what >> 3)).min(bytes.len());
            bytes.drain(at..end);
        }
        _ => {
            disk.remove(&path);
        }
    }
}
