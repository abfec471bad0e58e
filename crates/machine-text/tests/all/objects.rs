//! Objects of a cluster, kubelets' logs, and lists of PCI devices.

use machine_text::{Form, Lack, MachineText, read};
use topology_model::{DeviceNode, NodeId, Sriov};

fn machine(text: &str) -> MachineText {
    read(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn error(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

fn cores(read: &MachineText) -> Vec<String> {
    read.machine.cores().iter().map(|core| core.cpus.to_string()).collect()
}

const ZONES: &str = "\
apiVersion: topology.node.k8s.io/v1alpha2
kind: NodeResourceTopology
metadata: {name: worker-0}
attributes:
- {name: topologyManagerPolicy, value: single-numa-node}
zones:
- name: node-0
  type: Node
  costs: [{name: node-0, value: 10}, {name: node-1, value: 21}]
  resources:
  - {name: cpu, capacity: \"4\", allocatable: \"3\", available: \"3\"}
  - {name: memory, capacity: 32Gi, allocatable: 32Gi, available: 32Gi}
  - {name: hugepages-1Gi, capacity: 4Gi, allocatable: 4Gi, available: 4Gi}
  - {name: vendor/nic1, capacity: \"8\", allocatable: \"8\", available: \"8\"}
- name: node-1
  type: Node
  costs: [{name: node-0, value: 21}, {name: node-1, value: 10}]
  resources:
  - {name: cpu, capacity: 4, allocatable: 4, available: 4}
  - {name: memory, capacity: 16Gi, allocatable: 32Gi, available: 32Gi}
";

#[test]
fn zones_tell_numbers_of_cpus_memory_pages_and_distances() {
    let read = machine(ZONES);
    let [first, second] = read.machine.nodes() else { panic!("{read:?}") };
    assert_eq!((first.cpus.to_string(), second.cpus.to_string()), ("0-3".into(), "4-7".into()));
    assert_eq!((first.memory, second.memory), (Some(32 << 30), Some(16 << 30)));
    assert_eq!(first.distances, Some(vec![10, 21]));
    assert_eq!(first.hugepages[0].num_pages, 4);
    assert_eq!(read.lacks, [Lack::Cores, Lack::Caches, Lack::Devices]);
    assert!(read.assumed[0].starts_with("CPUs are numbered by NUMA node"), "{read:?}");
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {}", ZONES.replace('\n', "\n  "));
    assert_eq!(machine(&list).machine, read.machine);
}

#[test]
fn zones_that_do_not_tell_enough_are_refused() {
    let two = format!("{ZONES}---\n{}", ZONES.replace("worker-0", "worker-1"));
    assert_eq!(
        error(&two),
        "there are 2 objects in it, of worker-0, worker-1: `kubectl get noderesourcetopology NODE -o yaml` prints one"
    );
    assert_eq!(machine_text::read_node(&two, "worker-1").unwrap().machine, machine(ZONES).machine);
    assert_eq!(machine_text::read_node(&two, "worker-2"), Err(machine_text::MachineTextError::Unknown));
    for (from, to, message) in [
        ("type: Node", "type: Die", "NodeResourceTopology: it has no zone of type Node"),
        (
            "node-1\n",
            "node\n",
            "NodeResourceTopology: zone \"node\" has no number of a NUMA node: expected node-0",
        ),
        ("16Gi", "lots", "NodeResourceTopology: zone node-1 has memory \"lots\", which is no amount"),
        ("- name: node-1", "- name: node-0", "NodeResourceTopology: two zones are of NUMA node 0"),
        (
            "capacity: \"4\"",
            "capacity: \"99999\"",
            "NodeResourceTopology: NUMA node 0 has more CPUs than there can be",
        ),
    ] {
        assert_eq!(error(&ZONES.replace(from, to)), message, "{from}");
    }
    let bare = machine(&ZONES.replace("capacity: 4, ", ""));
    assert!(bare.assumed.iter().any(|text| text.contains("since it has no capacity")), "{bare:?}");
}

#[test]
fn a_numatopology_tells_each_cpu() {
    let read = machine(
        "apiVersion: nodeinfo.volcano.sh/v1alpha1\nkind: Numatopology\nmetadata: {name: n}\nspec:\n  cpuDetail:\n    \"0\": {}\n    \
         \"1\": {numa: 1, socket: 1, core: 1}\n    \"2\": {core: 0}\n    \"3\": {numa: 1, socket: 1, core: 1}\n",
    );
    assert_eq!(cores(&read), ["0,2", "1,3"]);
    assert_eq!((read.machine.nodes().len(), read.machine.packages().len()), (2, 2));
    assert_eq!(read.lacks, [Lack::Memory, Lack::Distances, Lack::Caches, Lack::HugePages, Lack::Devices]);
    assert_eq!(error("kind: Numatopology\nspec: {}\n"), "Numatopology: it has no spec.cpuDetail");
}

#[test]
fn a_kubelets_log_tells_cores_and_uncore_caches() {
    let json = "I1130 18:00:00.1 1 cpu_manager.go:191] \"Detected CPU topology\" topology={\"NumCPUs\":4,\"NumCores\":2,\
                \"NumUncoreCache\":1,\"NumSockets\":1,\"NumNUMANodes\":1,\"CPUDetails\":{\"0\":{\"NUMANodeID\":0,\"SocketID\":0,\
                \"CoreID\":0,\"UncoreCacheID\":0},\"1\":{\"NUMANodeID\":0,\"SocketID\":0,\"CoreID\":1,\"UncoreCacheID\":0},\
                \"2\":{\"NUMANodeID\":0,\"SocketID\":0,\"CoreID\":0,\"UncoreCacheID\":0},\"3\":{\"NUMANodeID\":0,\"SocketID\":0,\
                \"CoreID\":1,\"UncoreCacheID\":0}}} logger=\"x\"\n";
    let read = machine(json);
    assert_eq!(cores(&read), ["0,2", "1,3"]);
    assert_eq!(read.forms, [Form::KubeletLog]);
    assert_eq!(read.machine.caches().len(), 1);
    let named = "\"Detected CPU topology\" topology=&{NumCPUs:4 NumCores:2 NumSockets:2 NumNUMANodes:2 CPUDetails:map[0:{NUMANodeID:0 \
                 SocketID:0 CoreID:0} 1:{NUMANodeID:1 SocketID:1 CoreID:1} 2:{NUMANodeID:0 SocketID:0 CoreID:0} 3:{NUMANodeID:1 \
                 SocketID:1 CoreID:1}]}\n";
    let bare =
        "[cpumanager] detected CPU topology: &{4 2 2 2 map[0:{0 0 0} 1:{1 1 1} 2:{0 0 0} 3:{1 1 1}]}\n";
    assert_eq!(machine(bare).machine, machine(named).machine);
    assert_eq!(machine(named).machine.nodes().len(), 2);
    // Of several starts the last counts.
    assert_eq!(machine(&format!("{named}{json}")).machine, read.machine);
    assert!(error(&named[..120]).contains("cut off"));
    let other = error(&format!("{json}CPU NODE SOCKET CORE\n0 0 0 0\n"));
    assert_eq!(
        other,
        "outputs contradict each other: lscpu's table has online CPUs 0, and the kubelet's log 0-3"
    );
}

const TABLE: &str = "CPU NODE SOCKET CORE\n0 0 0 0\n1 1 1 1\n";

#[test]
fn lspci_tells_classes_numbers_and_nodes() {
    let long = "\
0000:18:00.0 Ethernet controller [0200]: Intel Corporation Ethernet [X] Controller [8086:1592] (rev 02)
	Subsystem: Intel [8086:0001]
	NUMA node: 1
	Capabilities: [160 v1] Single Root I/O Virtualization (SR-IOV)
		Initial VFs: 128, Total VFs: 128, Number of VFs: 2, Function Dependency Link: 00
		VF offset: 8, stride: 1, Device ID: 1889
	Kernel driver in use: ice

0000:18:01.0 Ethernet controller [0200]: Intel Corporation Ethernet Adaptive Virtual Function [8086:1889] (rev 02)
	NUMA node: 1
0000:18:01.1 Ethernet controller [0200]: Intel Corporation Ethernet Adaptive Virtual Function [8086:1889] (rev 02)
	NUMA node: 1
";
    let read = machine(&format!("{TABLE}{long}"));
    let [card, first, second] = read.machine.devices() else { panic!("{:?}", read.machine.devices()) };
    assert_eq!((card.class, card.vendor, card.device), (0x02_0000, Some(0x8086), Some(0x1592)));
    assert_eq!(card.node, DeviceNode::Known(NodeId(1)));
    assert_eq!(card.sriov, Sriov::Physical(vec![first.address, second.address]));
    assert_eq!(second.sriov, Sriov::Virtual(card.address));
    assert!(!read.lacks.contains(&Lack::Devices), "{read:?}");
    assert!(read.assumed.iter().any(|text| text.contains("without bridges")));
    assert!(
        error(&format!("{TABLE}{}", long.replace("node: 1", "node: 7")))
            .contains("0000:18:00.0 on NUMA node 7")
    );
}

#[test]
fn lspci_is_read_in_each_form_and_says_what_it_lacks() {
    let records = "Slot:\t3b:00.0\nClass:\t3D controller [0302]\nVendor:\tNVIDIA Corporation [10de]\nDevice:\tGA100 [20b0]\n\
                   NUMANode:\t0\n\nSlot:\td8:00.0\nClass:\t0302\nVendor:\t10de\nDevice:\t20b0\nNUMANode:\t1\n";
    let read = machine(&format!("{TABLE}{records}"));
    assert_eq!(read.machine.devices().len(), 2);
    assert_eq!(read.machine.devices()[1].node, DeviceNode::Known(NodeId(1)));
    let numbers = machine(&format!("{TABLE}3b:00.0 0302: 10de:20b0 (rev a1)\n"));
    assert_eq!(numbers.machine.devices()[0].class, 0x03_0200);
    assert!(numbers.lacks.contains(&Lack::DeviceNodes), "{numbers:?}");
    let names = machine(&format!("{TABLE}3b:00.0 3D controller: NVIDIA Corporation GA100 (rev a1)\n"));
    assert!(names.machine.devices().is_empty() && names.lacks.contains(&Lack::DeviceNumbers), "{names:?}");
}
