//! Folders of kubelets of different releases.

use std::collections::BTreeMap;

use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::cpu::{CpuFormat, CpuState};
use kubelet_checkpoint::memory::{MemoryFormat, MemoryState};
use kubelet_release::CheckpointForm;
use node_state::StateFolder;
use pod_spec::PodUid;

fn cpus() -> CpuState {
    let pods = BTreeMap::from([(PodUid::new("u"), "2-3".parse().unwrap_or_default())]);
    CpuState {
        policy: "static".into(),
        shared: "0-1".parse().unwrap_or_default(),
        pods,
        ..CpuState::default()
    }
}

#[test]
fn the_form_of_a_folder_is_that_of_its_newest_file() {
    let memory = MemoryState { policy: "Static".into(), ..MemoryState::default() };
    let folder = |cpu: CpuFormat, format: MemoryFormat| StateFolder {
        cpu: Some(cpus().encode(cpu).into_bytes()),
        memory: Some(memory.encode(format).into_bytes()),
        ..StateFolder::default()
    };
    let (plain, embedded) = (Some(CheckpointForm::Plain), Some(CheckpointForm::Embedded));
    assert_eq!(StateFolder::default().form(), None);
    assert_eq!(folder(CpuFormat::V2, MemoryFormat::V1).form(), plain);
    assert_eq!(folder(CpuFormat::V3, MemoryFormat::V2).form(), plain);
    assert_eq!(folder(CpuFormat::V4, MemoryFormat::V3).form(), embedded);
    assert_eq!(folder(CpuFormat::V2, MemoryFormat::V3).form(), embedded);
    // Torn in the text, and without anything else.
    let whole = cpus().encode(CpuFormat::V4);
    let torn = whole.get(..whole.len() - 40).map(|text| text.as_bytes().to_vec());
    assert_eq!(StateFolder { cpu: torn, ..StateFolder::default() }.form(), embedded);
    let alone = br#"{"data":"{}","dataChecksum":3735928559}"#.to_vec();
    assert_eq!(StateFolder { cpu: Some(alone), ..StateFolder::default() }.form(), embedded);
}

#[test]
fn a_newer_file_is_read_with_its_own_checksum() {
    let whole = cpus().encode(CpuFormat::V4);
    let read = |text: &str| {
        let folder = StateFolder { cpu: Some(text.as_bytes().to_vec()), ..StateFolder::default() };
        folder.contents(PodLevel::On).cpu.map(|read| read.map(|read| read.pod_entries.len()))
    };
    assert_eq!(read(&whole).and_then(Result::ok), Some(1));
    // The members beside the text do not make up for it.
    let (text, _) = whole.rsplit_once(':').unwrap_or_default();
    let error = read(&format!("{text}:1}}")).and_then(Result::err).map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some("could not load v4 checkpoint: checkpoint is corrupted"));
}
