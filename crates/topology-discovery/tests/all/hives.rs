//! Hives of GPUs that reach each other over xGMI: read from a tree, captured, and read back.

use topology_discovery::{Capture, MemoryTree, SysfsTree, read};

const ROOT: &str = "sys/devices/pci0000:00";

/// Four GPUs: of a hive the first has its number, and the others have a link to it.
fn tree() -> MemoryTree {
    let mut files = MemoryTree::new();
    files.add_file("sys/devices/system/cpu/online", b"0\n");
    files.add_file("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", b"0\n");
    files.add_file("proc/meminfo", b"MemTotal: 1024 kB\n");
    for at in 1..5 {
        let address = format!("0000:00:0{at}.0");
        files.add_file(&format!("{ROOT}/{address}/class"), b"0x038000\n");
        files.add_link(
            &format!("sys/bus/pci/devices/{address}"),
            &format!("../../../devices/pci0000:00/{address}"),
        );
    }
    files.add_file(&format!("{ROOT}/0000:00:01.0/xgmi_hive_info/xgmi_hive_id"), b"18446744073709551615\n");
    files.add_link(&format!("{ROOT}/0000:00:02.0/xgmi_hive_info"), "../0000:00:01.0/xgmi_hive_info");
    files.add_file(&format!("{ROOT}/0000:00:03.0/xgmi_hive_info/xgmi_hive_id"), b"none\n");
    files
}

fn links(tree: &SysfsTree) -> (Vec<Option<u64>>, Vec<String>) {
    let machine = read(tree).unwrap().machine;
    let hives = machine.devices().iter().map(|device| device.hive).collect();
    (hives, machine.links().iter().map(ToString::to_string).collect())
}

#[test]
fn gpus_of_a_hive_are_a_domain_in_a_captured_machine_too() {
    let expected =
        (vec![Some(u64::MAX), Some(u64::MAX), None, None], vec!["domain xgmi-ffffffffffffffff".to_owned()]);
    let tree = SysfsTree::from(tree());
    assert_eq!(links(&tree), expected);
    let captured = Capture::of(&tree).unwrap().archive().unwrap();
    assert_eq!(links(&SysfsTree::archive(&captured).unwrap()), expected);
}
