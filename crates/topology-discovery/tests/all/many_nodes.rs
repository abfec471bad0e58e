//! A machine of more NUMA nodes than a kubelet decides on is read and captured like any other.

use topology_discovery::{Capture, MemoryTree, SysfsTree, read};
use topology_model::{KubeletView, NodeId};

const NODES: usize = 128;

/// A node has one core of two threads and 1 GiB; as on an Altix, the distance grows with the way.
fn files() -> MemoryTree {
    let mut files = MemoryTree::new();
    let (cpus, nodes) = ("sys/devices/system/cpu", "sys/devices/system/node");
    let mut file = |path: String, text: String| files.add_file(&path, format!("{text}\n").as_bytes());
    for name in ["online", "possible", "present"] {
        file(format!("{cpus}/{name}"), format!("0-{}", 2 * NODES - 1));
    }
    for name in ["online", "possible", "has_cpu", "has_memory"] {
        file(format!("{nodes}/{name}"), format!("0-{}", NODES - 1));
    }
    file("proc/meminfo".to_owned(), format!("MemTotal: {} kB\nSwapTotal: 0 kB", NODES << 20));
    file("proc/cpuinfo".to_owned(), "processor : 0\ncpu MHz : 1600.000".to_owned());
    for node in 0..NODES {
        let (folder, list) = (format!("{nodes}/node{node}"), format!("{}-{}", 2 * node, 2 * node + 1));
        let row: Vec<_> = (0..NODES).map(|other| (10 + node.abs_diff(other)).to_string()).collect();
        file(format!("{folder}/distance"), row.join(" "));
        file(format!("{folder}/cpulist"), list.clone());
        file(format!("{folder}/meminfo"), format!("Node {node} MemTotal: {} kB", 1 << 20));
        for cpu in [2 * node, 2 * node + 1] {
            let topology = format!("{cpus}/cpu{cpu}/topology");
            file(format!("{topology}/core_id"), "0".to_owned());
            file(format!("{topology}/physical_package_id"), node.to_string());
            file(format!("{topology}/thread_siblings_list"), list.clone());
        }
    }
    for cpu in 0..2 * NODES {
        files.add_link(&format!("{nodes}/node{}/cpu{cpu}", cpu / 2), &format!("../../cpu/cpu{cpu}"));
    }
    files
}

#[test]
fn a_machine_of_128_nodes_is_read_and_captured_and_no_kubelet_decides_on_it() {
    let tree = SysfsTree::from(files());
    let found = read(&tree).unwrap();
    assert_eq!(found.problems, []);
    let last = NodeId(127);
    assert_eq!((found.machine.nodes().len(), found.machine.cores().len()), (NODES, NODES));
    assert_eq!(found.machine.node(last).unwrap().cpus.to_string(), "254-255");
    assert_eq!(found.machine.distance(NodeId(0), last), Some(137));
    assert_eq!(found.info.topology.as_ref().map(Vec::len), Some(NODES));
    let again = read(&SysfsTree::archive(&Capture::of(&tree).unwrap().archive().unwrap()).unwrap()).unwrap();
    assert!(again == found, "it is captured as it is");
    let error = KubeletView::new(&found.info).unwrap_err();
    assert_eq!(error.to_string(), "machine has 128 NUMA nodes, more than the 64 that a node mask holds");
}
