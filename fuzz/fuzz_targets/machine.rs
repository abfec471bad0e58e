//! Files of a machine: whatever is in them, reading ends with a machine whose parts fit, or with an error.
//!
//! The bytes are texts, one after the other with a NUL between: those of the files below, in their order.
//! `cargo fuzz run machine`.
#![no_main]

use topology_discovery::{CpuArchitecture, MemoryTree, SysfsTree, read, read_as_cadvisor};

const FILES: [&str; 22] = [
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/present",
    "sys/devices/system/cpu/cpu0/topology/core_id",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings",
    "sys/devices/system/cpu/cpu0/topology/core_siblings_list",
    "sys/devices/system/cpu/cpu0/cache/index0/level",
    "sys/devices/system/cpu/cpu0/cache/index0/type",
    "sys/devices/system/cpu/cpu0/cache/index0/size",
    "sys/devices/system/cpu/cpu0/cache/index0/id",
    "sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_map",
    "sys/devices/system/node/online",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node0/distance",
    "sys/devices/system/node/node0/meminfo",
    "sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
    "sys/bus/pci/devices/0000:00:01.0/class",
    "sys/bus/pci/devices/0000:00:01.0/numa_node",
    "sys/bus/pci/devices/0000:00:01.0/local_cpulist",
    "sys/devices/system/node/node8/cpumap",
    "proc/meminfo",
    "proc/cpuinfo",
];

libfuzzer_sys::fuzz_target!(|texts: &[u8]| {
    let mut files = MemoryTree::new();
    for (path, text) in FILES.iter().zip(texts.split(|byte| *byte == 0)) {
        files.add_file(path, text);
    }
    let tree = SysfsTree::from(files);
    for architecture in [CpuArchitecture::Amd64, CpuArchitecture::Arm, CpuArchitecture::S390x] {
        let _ = read_as_cadvisor(&tree, architecture);
    }
    if let Ok(found) = read(&tree) {
        assert!(!found.machine.online().is_empty());
    }
});
