//! A node's folder: whatever is in its files, the node starts, nothing is owned twice, and what it then writes is read
//! back as it is; files of formats to come are left alone.
//!
//! The bytes are files, one after the other with a NUL between: the CPU manager's, the memory manager's, the device
//! manager's, then pods' own. One that is empty is not there. `cargo xtask fuzz start`.
#![no_main]

use std::path::PathBuf;

use kubelet_checkpoint::store::StateFile;
use node_agent::FileName;
use node_state::{PODS, PodList};

#[path = "../../crates/node-agent/tests/all/common/mod.rs"]
mod common;
#[path = "../../crates/node-agent/tests/all/starting/mod.rs"]
mod starting;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let state = StateFile::ALL.into_iter().map(|file| FileName::State(file).path());
    let pods = (0..).map(|at| PathBuf::from(format!("{PODS}/{at}.json")));
    let files = state.chain(pods).zip(bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec));
    let disk = files.filter(|(_, file)| !file.is_empty()).collect();
    for runs in [PodList::Recorded, PodList::Unknown] {
        starting::start_if_known(&disk, &common::node(), &runs);
    }
});
