//! State files: whatever the bytes, reading ends, and what is accepted and written again is read back the same.
//!
//! `cargo fuzz run state`, with the files below `fixtures/state` as seeds.
#![no_main]

use kubelet_checkpoint::{Forms, PodLevel};
use kubelet_checkpoint::cpu::{ContainerIds, CpuFile, CpuFormat};
use kubelet_checkpoint::device::DeviceFile;
use kubelet_checkpoint::memory::{MemoryFile, MemoryFormat};

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    for pod_level in [PodLevel::Off, PodLevel::On] {
        if let Ok(read) = CpuFile::read(file, Forms::plain(pod_level), &ContainerIds::new())
            && let Ok(state) = read.state()
        {
            let again = state.encode(CpuFormat::V3);
            let again = CpuFile::read(again.as_bytes(), Forms::plain(PodLevel::On), &ContainerIds::new());
            assert_eq!(again.and_then(|read| read.state()).as_ref(), Ok(&state));
        }
        if let Ok(read) = MemoryFile::read(file, Forms::plain(pod_level)) {
            let mut state = read.state;
            // An empty list is written as none.
            for entry in state.pod_entries.values_mut() {
                entry.blocks.take_if(|blocks| blocks.is_empty());
            }
            let again = state.encode(MemoryFormat::V2);
            let again = MemoryFile::read(again.as_bytes(), Forms::plain(PodLevel::On)).map(|read| read.state);
            assert_eq!(again.as_ref(), Ok(&state));
        }
    }
    let read = DeviceFile::read(file);
    if read.fault.is_none() {
        let again = DeviceFile::read(read.state.encode().as_bytes());
        assert_eq!((again.fault, again.state), (None, read.state));
    }
});
