//! What real machines have been seen to do, one trap each, on a small server.

use crate::small::{CPUS, NODES, PCI, Small};
use topology_discovery::Discovery;
use topology_model::{DeviceNode, NodeId, Sriov};

fn cores(found: &Discovery) -> Vec<String> {
    found.machine.cores().iter().map(|core| core.cpus.to_string()).collect()
}

fn node_cpus(found: &Discovery) -> Vec<(i64, String)> {
    found.machine.nodes().iter().map(|node| (node.id.0, node.cpus.to_string())).collect()
}

fn said(found: &Discovery) -> Vec<String> {
    found.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_said_of_threads_and_pages_fits_the_cpus_and_nodes() {
    let smt = |name: &str| format!("{CPUS}/smt/{name}");
    let as_read =
        |path: &str, other: String| format!("{path} contradicts {other}: each is taken as it reads");
    let cpu_topology = format!("{CPUS}/cpu*/topology");
    for (path, text, expected) in [
        (smt("active"), "0", as_read(&smt("active"), cpu_topology)),
        // Two threads of each core may run, and no CPU is offline.
        (smt("control"), "2", as_read(&smt("control"), format!("{CPUS}/online"))),
    ] {
        assert_eq!(said(&Small::server().with(&path, text).read()), [expected]);
    }
    let nodes = ["node0", "node1"].map(|node| format!("{NODES}/{node}/hugepages"));
    let of_no_node = Small::server().without(&nodes[0]).without(&nodes[1]);
    let missing = nodes.map(|node| format!("{node}/hugepages-1048576kB/nr_hugepages is missing: left out"));
    assert_eq!(said(&of_no_node.clone().read()), missing);
    // Kernels that list no isolated CPUs may count pages for the machine alone.
    let old = of_no_node.without(&format!("{CPUS}/isolated")).without(&format!("{CPUS}/smt"));
    assert_eq!(said(&old.read()), [] as [&str; 0]);
}

/// The server with its second node under another number.
fn second_node_is(id: &str) -> Small {
    let mut server = Small::server();
    for (path, content) in server.0.clone() {
        if let Some(rest) = path.strip_prefix(&format!("{NODES}/node1/")) {
            server.0.insert(format!("{NODES}/node{id}/{rest}"), content);
        }
    }
    server.without(&format!("{NODES}/node1")).with(&format!("{NODES}/online"), &format!("0,{id}"))
}

#[test]
fn the_server_itself_has_no_problem() {
    let found = Small::server().read();
    assert_eq!(said(&found), [] as [&str; 0]);
    assert_eq!(cores(&found), ["0,4", "1,5", "2,6", "3,7"]);
    assert_eq!(node_cpus(&found), [(0, "0-1,4-5".to_owned()), (1, "2-3,6-7".to_owned())]);
    assert_eq!(found.machine.memory(), Some(134_217_000 << 10));
    assert_eq!(found.machine.nodes()[0].memory, Some(64 << 30));
    assert_eq!(found.machine.caches_at(3).count(), 2);
    assert_eq!(found.info.num_cpus, 8);
}

#[test]
fn a_core_is_what_the_kernel_calls_siblings_and_no_number() {
    // All cores of the machine have one number: cAdvisor sees one fat core a node.
    let mut server = Small::server();
    for cpu in 0..8 {
        server.file(&format!("{CPUS}/cpu{cpu}/topology/core_id"), "7");
    }
    let found = server.read();
    assert_eq!(cores(&found), ["0,4", "1,5", "2,6", "3,7"]);
    let of_cadvisor: Vec<_> =
        found.info.topology.iter().flatten().map(|node| node.cores.as_ref().unwrap().len()).collect();
    assert_eq!(of_cadvisor, [1, 1]);

    // Threads of a core have different numbers: cAdvisor sees cores of one thread.
    let mut server = Small::server();
    for cpu in 0..8 {
        server.file(&format!("{CPUS}/cpu{cpu}/topology/core_id"), &cpu.to_string());
    }
    let found = server.read();
    assert_eq!(cores(&found), ["0,4", "1,5", "2,6", "3,7"]);
    assert_eq!(said(&found), [] as [&str; 0]);
    assert_eq!(found.info.topology.unwrap()[0].cores.as_ref().unwrap().len(), 4);

    // One thread has another number than its core's first.
    let found = Small::server().with(&format!("{CPUS}/cpu5/topology/core_id"), "0").read();
    let [own, first] = ["cpu5", "cpu1"].map(|cpu| format!("{CPUS}/{cpu}/topology/core_id"));
    assert_eq!(
        said(&found),
        [format!("{own} has 0, but {first} has 1: CPUs are one core where they are siblings")]
    );
}

#[test]
fn masks_without_lists_are_enough() {
    let mut server = Small::server();
    for cpu in 0..8 {
        let folder = format!("{CPUS}/cpu{cpu}/topology");
        let (core, package) = (0x11 << (cpu % 4), if cpu % 4 < 2 { "33" } else { "cc" });
        server.file(&format!("{folder}/thread_siblings"), &format!("00000000,{core:08x}"));
        server.file(&format!("{folder}/core_siblings"), package);
        server = server.without(&format!("{folder}/thread_siblings_list"));
        server = server.without(&format!("{folder}/core_siblings_list"));
        server = server.without(&format!("{NODES}/node{}/cpu{cpu}", cpu % 4 / 2));
    }
    let server = server.without(&format!("{NODES}/node0/cpulist")).without(&format!("{NODES}/node1/cpulist"));
    let found = server.read();
    let whole = Small::server().read();
    assert_eq!(found.machine, whole.machine);
    assert_eq!(found.info, whole.info, "cAdvisor needs the links, which are mended");
    assert_eq!(
        said(&found),
        [0, 1].map(|node| format!("{NODES}/node{node}/cpu* is missing: the node's CPU mask is believed"))
    );
}

#[test]
fn a_distance_goes_by_position_and_not_by_node_id() {
    let found = second_node_is("8").read();
    let (first, second) = (NodeId(0), NodeId(8));
    assert_eq!(found.machine.distance(first, second), Some(21));
    assert_eq!(found.machine.distance(second, second), Some(10));
    // The network card names node 1, which is not there.
    assert!(said(&found).iter().any(|text| text.contains("there is no NUMA node 1")), "{:?}", said(&found));
}

#[test]
fn a_distance_row_of_another_length_is_not_used() {
    for row in ["10", "10 21 21", "10 far", ""] {
        let found = Small::server().with(&format!("{NODES}/node0/distance"), row).read();
        assert_eq!(found.machine.nodes()[0].distances, None, "{row:?}");
        assert!(
            said(&found).iter().any(|text| text.starts_with(&format!("{NODES}/node0/distance"))),
            "{row:?}"
        );
        assert_eq!(found.machine.nodes()[1].distances, Some(vec![21, 10]), "the other row stays");
    }
    let spaced = Small::server().with(&format!("{NODES}/node0/distance"), "10\t  21").read();
    assert_eq!(spaced.machine.nodes()[0].distances, Some(vec![10, 21]));
}

#[test]
fn offline_cpus_have_no_topology_and_are_in_no_core() {
    let server = Small::server().with(&format!("{CPUS}/online"), "1-6");
    let server = server.without(&format!("{CPUS}/cpu0/topology")).without(&format!("{CPUS}/cpu7/topology"));
    let mut server = server;
    for cpu in [4, 3] {
        server.file(&format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list"), &cpu.to_string());
    }
    let found = server.read();
    assert_eq!(found.machine.offline().to_string(), "0,7");
    assert_eq!(cores(&found), ["1,5", "2,6", "3", "4"]);
    assert_eq!(node_cpus(&found), [(0, "1,4-5".to_owned()), (1, "2-3,6".to_owned())]);
    assert_eq!(found.info.num_cpus, 6);
    assert_eq!(said(&found), [] as [&str; 0], "that is how kernels say it");
}

#[test]
fn without_a_list_of_cpus_that_run_those_with_a_topology_run() {
    let server = Small::server().without(&format!("{CPUS}/online")).without(&format!("{CPUS}/cpu6/topology"));
    let found = server.with(&format!("{CPUS}/cpu7/online"), "0").read();
    assert_eq!(found.machine.online().to_string(), "0-5");
    assert!(said(&found).iter().any(|text| text.starts_with(&format!("{CPUS}/online is missing"))));
}

#[test]
fn a_package_number_of_minus_one_says_nothing() {
    let mut server = Small::server();
    for cpu in 0..8 {
        server.file(&format!("{CPUS}/cpu{cpu}/topology/physical_package_id"), "-1");
    }
    let found = server.read();
    let packages: Vec<_> =
        found.machine.packages().iter().map(|package| (package.id.0, package.cpus.to_string())).collect();
    assert_eq!(packages, [(-1, "0-1,4-5".to_owned()), (-1, "2-3,6-7".to_owned())]);
}

#[test]
fn nodes_may_have_no_cpus_no_memory_or_neither() {
    let mut server = second_node_is("3");
    server.file(&format!("{NODES}/node1/meminfo"), "Node 1 MemTotal:  1024 kB");
    server.file(&format!("{NODES}/node1/cpulist"), "");
    server.file(&format!("{NODES}/node2/meminfo"), "Node 2 MemTotal:  0 kB");
    server.file(&format!("{NODES}/node2/cpumap"), "0");
    for node in 0..4 {
        server.file(&format!("{NODES}/node{node}/distance"), "10 20 20 20");
    }
    let found = server.read();
    let nodes: Vec<_> = found.machine.nodes().iter().map(|node| (node.cpus.len(), node.memory)).collect();
    assert_eq!(nodes, [(4, Some(64 << 30)), (0, Some(1 << 20)), (0, Some(0)), (4, Some(64 << 30))]);
    let ids: Vec<_> = found.info.topology.unwrap().iter().map(|node| node.id).collect();
    assert_eq!(ids, [0, 1, 2, 3]);
}

#[test]
fn a_kernel_without_numa_is_one_node_with_everything() {
    let found = Small::server().without(NODES).read();
    assert_eq!(node_cpus(&found), [(0, "0-7".to_owned())]);
    assert_eq!(found.machine.nodes()[0].memory, found.machine.memory());
    assert!(said(&found).contains(&format!("{NODES} is missing: one node is taken to hold everything")));
    // cAdvisor makes nodes of the packages, without memory.
    assert_eq!(found.info.topology.unwrap().iter().map(|node| node.memory).collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn links_are_believed_where_lists_overlap() {
    let mut server = Small::server();
    for node in 0..2 {
        server.file(&format!("{NODES}/node{node}/cpulist"), "0-7");
    }
    let found = server.read();
    assert_eq!(node_cpus(&found), [(0, "0-1,4-5".to_owned()), (1, "2-3,6-7".to_owned())]);
    assert_eq!(said(&found).len(), 2, "{:?}", said(&found));
    assert!(said(&found)[0].contains("node0/cpulist has CPUs 0-7, but"));
}

#[test]
fn a_cpu_of_two_nodes_stays_in_the_first_and_one_of_none_goes_there() {
    let mut server = Small::server();
    server.link(&format!("{NODES}/node1/cpu0"), "../../cpu/cpu0");
    let server = server.without(&format!("{NODES}/node1/cpu7")).without(&format!("{NODES}/node1/cpulist"));
    let found = server.without(&format!("{NODES}/node1/cpumap")).read();
    assert_eq!(node_cpus(&found), [(0, "0-1,4-5,7".to_owned()), (1, "2-3,6".to_owned())]);
    let of_nodes: Vec<_> = said(&found).into_iter().filter(|line| line.starts_with(NODES)).collect();
    assert_eq!(of_nodes.len(), 2, "{of_nodes:?}");
}

#[test]
fn a_device_without_a_node_has_that_of_the_bridge_above() {
    let mut server = Small::server();
    server.device("pci0000:00/0000:00:01.0/0000:01:00.0", "0x020000", "-1");
    server.device("pci0000:80/0000:80:00.0", "0x030200", "-1");
    let found = server.read();
    let node = |address: &str| found.machine.device(address.parse().unwrap()).unwrap().node;
    assert_eq!(node("0000:00:01.0"), DeviceNode::Known(NodeId(1)));
    assert_eq!(node("0000:01:00.0"), DeviceNode::Inherited(NodeId(1)));
    assert_eq!(node("0000:80:00.0"), DeviceNode::Unknown, "its local CPUs are all CPUs, which says nothing");
    assert_eq!(node("0000:01:00.0").reported(), None, "a device plugin would not know");
}

#[test]
fn devices_know_the_bridge_they_are_behind_and_their_virtual_functions() {
    let mut server = Small::server();
    for function in 1..=2 {
        server.device(&format!("pci0000:00/0000:00:01.0/0000:01:00.{function}"), "0x020000", "1");
        server.link(
            &format!("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.{function}/physfn"),
            "../0000:01:00.0",
        );
    }
    server.device("pci10000:00/10000:00:00.0", "0x010802", "0");
    let found = server.read();
    let device = |address: &str| found.machine.device(address.parse().unwrap()).unwrap();
    let (bridge, card) = ("0000:00:01.0".parse().unwrap(), "0000:01:00.0".parse().unwrap());
    assert_eq!(device("0000:00:01.0").parent, None);
    assert_eq!(device("0000:01:00.0").parent, Some(bridge));
    let functions = ["0000:01:00.1", "0000:01:00.2"].map(|address| address.parse().unwrap());
    assert_eq!(device("0000:01:00.0").sriov, Sriov::Physical(functions.to_vec()));
    assert_eq!(device("0000:01:00.2").sriov, Sriov::Virtual(card));
    assert_eq!(device("10000:00:00.0").node, DeviceNode::Known(NodeId(0)), "a domain of five digits");
}

#[test]
fn what_is_no_device_is_left_out() {
    let mut server = Small::server().without("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/class");
    server.link(&format!("{PCI}/card"), "../../../devices/nowhere");
    let found = server.read();
    assert_eq!(found.machine.devices().len(), 1);
    assert_eq!(said(&found).len(), 2, "{:?}", said(&found));
}

#[test]
fn caches_without_ids_are_known_by_their_cpus() {
    let mut server = Small::server();
    for cpu in 0..8 {
        server = server.without(&format!("{CPUS}/cpu{cpu}/cache/index3/id"));
    }
    let found = server.read();
    let caches: Vec<_> = found.machine.caches_at(3).map(|cache| (cache.id, cache.cpus.to_string())).collect();
    assert_eq!(caches, [(None, "0-1,4-5".to_owned()), (None, "2-3,6-7".to_owned())]);
    assert_eq!(found.info.topology.unwrap()[0].caches, None, "cAdvisor drops them");
}

#[test]
fn fast_and_small_cores_are_told_apart() {
    use topology_model::CoreKind::{Efficiency, Performance, Plain};
    let found = Small::server().with("sys/devices/cpu_core/cpus", "0-1,4-5").read();
    let kinds = |found: &Discovery| found.machine.cores().iter().map(|core| core.kind).collect::<Vec<_>>();
    assert_eq!(kinds(&found), [Performance, Performance, Plain, Plain]);
    let server = Small::server().with("sys/devices/cpu_core/cpus", "0-1,4-5");
    let found = server.with("sys/devices/cpu_atom/cpus", "2-3,6-7").read();
    assert_eq!(kinds(&found), [Performance, Performance, Efficiency, Efficiency]);
}
