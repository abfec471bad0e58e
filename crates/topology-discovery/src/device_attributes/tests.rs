//! Small trees, and what drivers publish of them.

use std::collections::BTreeSet;

use super::*;
use crate::memory::MemoryTree;

/// A machine of two packages with two NUMA nodes each; node 3 has no CPUs, and node 2 one of the other package.
fn tree() -> SysfsTree {
    let mut tree = MemoryTree::new();
    for (node, cpus, distances) in [
        (0, "0-1\n", "10 12 21 21\n"),
        (1, "2-3\n", "12 10 21 21\n"),
        (2, "4-5\n", "21 21 10 21\n"),
        (3, "\n", "12 12 12 10\n"),
    ] {
        tree.add_file(&format!("sys/devices/system/node/node{node}/cpulist"), cpus.as_bytes());
        tree.add_file(&format!("sys/devices/system/node/node{node}/distance"), distances.as_bytes());
    }
    for (cpu, package, node) in [(0, 0, 0), (1, 0, 0), (2, 0, 1), (3, 0, 1), (4, 0, 2), (5, 1, 2)] {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        tree.add_file(&format!("{folder}/topology/physical_package_id"), format!("{package}\n").as_bytes());
        tree.add_link(&format!("{folder}/node{node}"), &format!("../../node/node{node}"));
    }
    tree.add_file("sys/devices/system/cpu/cpu7/node8x", b"");
    for (path, node) in [
        ("pci0000:40/0000:41:00.0", "1\n"),
        ("pci0000:40/0000:40:01.0/0000:42:00.0", "-1\n"),
        ("platform/pci0001:00/0001:01:00.0", "x\n"),
        ("pci0002:00/0002:01:00.0", " 2000 \n"),
    ] {
        tree.add_file(&format!("sys/devices/{path}/numa_node"), node.as_bytes());
        let (_, address) = path.rsplit_once('/').unwrap();
        tree.add_link(&format!("sys/bus/pci/devices/{address}"), &format!("../../../devices/{path}"));
    }
    tree.add_link("sys/bus/pci/devices/0000:43:00.0", "/sys/devices/pci0000:40/0000:41:00.0");
    tree.add_link("sys/bus/pci/devices/0000:44:00.0", "../../../devices/pci0000:40/0000:41:00.0");
    tree.add_folder("sys/bus/pci/devices/0000:45:00.0");
    tree.into()
}

fn shown<T: ToString, E: ToString>(answer: Result<T, E>) -> String {
    answer.map_or_else(|error| error.to_string(), |answer| answer.to_string())
}

#[test]
fn an_address_has_lower_case_digits_and_a_domain_of_four() {
    for (text, answer) in [
        ("0000:41:00.0", "0000:41:00.0"),
        ("0000:41:00.f", "0000:41:00.f"),
        ("", "PCI Bus ID cannot be empty"),
        ("41:00.0", "invalid PCI Bus ID format: 41:00.0"),
        ("00000:41:00.0", "invalid PCI Bus ID format: 00000:41:00.0"),
        ("0000:4A:00.0", "invalid PCI Bus ID format: 0000:4A:00.0"),
        ("0000:41:00.0\n", "invalid PCI Bus ID format: 0000:41:00.0\n"),
        ("0000-41:00.0", "invalid PCI Bus ID format: 0000-41:00.0"),
    ] {
        assert_eq!(shown(text.parse::<PciAddress>()), answer, "{text:?}");
    }
}

#[test]
fn a_device_publishes_what_its_files_say() {
    let tree = tree();
    let sysfs = DeviceAttributes::of(&tree);
    let unreadable = "failed to read NUMA node for PCI Bus ID";
    let unresolved = "failed to resolve PCIe Root Complex for PCI Bus ID";
    let invalid = |address: &str| {
        format!("{unresolved} {address}: symlink target for PCI Bus ID {address} is invalid: it must")
    };
    for (address, node, root) in [
        ("0000:41:00.0", "1".to_owned(), "pci0000:40".to_owned()),
        (
            "0000:42:00.0",
            "PCI device 0000:42:00.0 has no NUMA affinity (numa_node=-1); do not publish the numaNode \
             attribute for it"
                .to_owned(),
            "pci0000:40".to_owned(),
        ),
        // The limit of 1024 nodes is not looked at here.
        ("0002:01:00.0", "2000".to_owned(), "pci0002:00".to_owned()),
        (
            "0001:01:00.0",
            format!("{unreadable} 0001:01:00.0: strconv.Atoi: parsing \"x\": invalid syntax"),
            invalid("0001:01:00.0") + " start with devices/pci: devices/platform/pci0001:00/0001:01:00.0",
        ),
        // An absolute link is followed, and yet refused.
        (
            "0000:43:00.0",
            "1".to_owned(),
            invalid("0000:43:00.0") + " start with devices/pci: /sys/devices/pci0000:40/0000:41:00.0",
        ),
        (
            "0000:44:00.0",
            "1".to_owned(),
            invalid("0000:44:00.0") + " end with 0000:44:00.0: devices/pci0000:40/0000:41:00.0",
        ),
        (
            "0000:45:00.0",
            format!(
                "{unreadable} 0000:45:00.0: open bus/pci/devices/0000:45:00.0/numa_node: no such file or directory"
            ),
            format!(
                "{unresolved} 0000:45:00.0: failed to read symlink for PCI Bus ID bus/pci/devices/0000:45:00.0: \
                 readlink /sys/bus/pci/devices/0000:45:00.0: invalid argument"
            ),
        ),
        (
            "0000:46:00.0",
            format!(
                "{unreadable} 0000:46:00.0: open bus/pci/devices/0000:46:00.0/numa_node: no such file or directory"
            ),
            format!(
                "{unresolved} 0000:46:00.0: failed to read symlink for PCI Bus ID bus/pci/devices/0000:46:00.0: \
                 readlink /sys/bus/pci/devices/0000:46:00.0: no such file or directory"
            ),
        ),
    ] {
        let address: PciAddress = address.parse().unwrap();
        assert_eq!(shown(sysfs.numa_node(&address)), node);
        assert_eq!(shown(sysfs.pcie_root(&address)), root);
    }
}

#[test]
fn a_list_has_the_closest_nodes_of_the_same_package() {
    let tree = tree();
    let sysfs = DeviceAttributes::of(&tree);
    let list = |node| sysfs.list_of_node(node).unwrap();
    assert_eq!(list(0).fixed(), Some(vec![0, 1]));
    assert_eq!(list(1).fixed(), Some(vec![1, 0]));
    // One CPU of node 2 is of the package of nodes 0 and 1, the other is not; node 3 has no package.
    assert_eq!(list(2).fixed(), None);
    assert_eq!(list(2).always(), &BTreeSet::from([2, 3]));
    assert_eq!(list(2).sometimes(), &BTreeSet::from([0, 1]));
    assert_eq!(list(3).fixed(), Some(vec![3, 0, 1, 2]));
    assert_eq!(list(9).fixed(), Some(vec![9]), "no row");
    let device = "0000:41:00.0".parse().unwrap();
    assert_eq!(sysfs.numa_node_list(&device).unwrap().fixed(), Some(vec![1, 0]));
    assert_eq!(sysfs.list_of_node(-1), Err(InvalidNumaNode::Negative(-1)));
    assert_eq!(sysfs.list_of_node(1024), Err(InvalidNumaNode::TooLarge(1024)));
}

#[test]
fn a_row_is_read_by_position_where_ids_have_gaps() {
    let mut tree = MemoryTree::new();
    tree.add_file("node/devices/system/node/node0/distance", b"10 20\n");
    tree.add_file("node/devices/system/node/node2/distance", b"20 10\n");
    let tree = tree.into();
    let sysfs = DeviceAttributes::at(&tree, "node");
    // The second node is node 2, and no node 1 exists.
    assert_eq!(sysfs.list_of_node(0).unwrap().fixed(), Some(vec![0, 1]));
    assert_eq!(sysfs.list_of_node(2).unwrap().fixed(), Some(vec![2]));
}

#[test]
fn a_cpu_is_on_the_first_node_of_its_folder() {
    let tree = tree();
    let sysfs = DeviceAttributes::of(&tree);
    assert_eq!(shown(sysfs.node_of_cpu(5)), "2");
    assert_eq!(shown(sysfs.node_of_cpu(6)), "CPU 6 not found in any NUMA node");
    let text = "failed to parse NUMA node number from node8x: strconv.Atoi: parsing \"8x\": invalid syntax";
    assert_eq!(shown(sysfs.node_of_cpu(7)), text);
}
