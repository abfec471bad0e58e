//! Texts: cAdvisor's JSON, lists and masks of CPUs, machines in a line. What is read and written again is the same.
//!
//! `cargo fuzz run machine_info`.
#![no_main]

use cpuset::CpuSet;
use topology_discovery::{machine_info_from_json, machine_info_to_json};
use topology_model::{KubeletView, Machine, MachineInfo};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(info) = machine_info_from_json(bytes) {
        let again = machine_info_to_json(&info).expect("numbers and lists are JSON");
        assert_eq!(machine_info_from_json(again.as_bytes()).expect("what was written is read"), info);
        let _ = KubeletView::new(&info);
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(set) = CpuSet::from_kernel_list(text) {
        assert_eq!(CpuSet::from_kernel_list(&set.to_string()).as_ref(), Ok(&set));
    }
    if let Ok(set) = CpuSet::from_kernel_mask(text) {
        assert_eq!(CpuSet::from_kernel_mask(&set.kernel_mask().to_string()).as_ref(), Ok(&set));
    }
    if let Ok(machine) = text.parse::<Machine>() {
        let info: MachineInfo = text.parse().expect("one notation for both");
        assert_eq!(info.topology.map(|nodes| nodes.len()), Some(machine.nodes().len()));
    }
});
