//! Each output that is read, what is assumed where it tells less, and what is refused.

use machine_text::{Form, Lack, MachineText, MachineTextError, OtherForm, read};
use proptest::prelude::{any, proptest};

fn machine(text: &str) -> MachineText {
    read(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn cores(read: &MachineText) -> Vec<String> {
    read.machine.cores().iter().map(|core| core.cpus.to_string()).collect()
}

const TABLE: &str = "\
CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE
0   0    0      0    0:0:0:0       yes
1   1    1      1    1:1:1:1       yes
2   0    0      0    0:0:0:0       yes
3   -    -      -    -             no
";

#[test]
fn a_table_tells_cores_caches_and_offline_cpus() {
    let read = machine(TABLE);
    assert_eq!(cores(&read), ["0,2", "1"]);
    assert_eq!(read.machine.offline().to_string(), "3");
    assert_eq!(read.machine.caches_at(3).count(), 2);
    assert_eq!(read.forms, [Form::LscpuTable]);
    assert_eq!(read.lacks, [Lack::Memory, Lack::Distances, Lack::HugePages, Lack::Devices]);
}

#[test]
fn columns_stand_in_any_order_and_names_have_blanks() {
    let read = machine(
        "NODE CPU MODELNAME CORE SOCKET MAXMHZ\n\
         0 0 Intel(R) Xeon(R) Gold 6252N CPU @ 2.30GHz 0 0 3600.0000\n\
         0 1 Intel(R) Xeon(R) Gold 6252N CPU @ 2.30GHz 1 0 3600.0000\n",
    );
    assert_eq!(cores(&read), ["0", "1"]);
    assert_eq!(read.lacks, [Lack::Memory, Lack::Caches, Lack::HugePages, Lack::Devices]);
}

#[test]
fn commas_and_json_tell_the_same_as_the_table() {
    let commas = "\
# The following is the parsable format, which can be fed to other
# programs. Each different item in every column has an unique ID
# starting usually from zero.
# CPU,Core,Socket,Node,,L1d,L1i,L2,L3
0,0,0,0,,0,0,0,0
1,1,1,1,,1,1,1,1
2,0,0,0,,0,0,0,0
";
    let json = r#"{
   "cpus": [
      {"cpu": 0, "node": 0, "socket": 0, "core": 0, "l1d:l1i:l2:l3": "0:0:0:0", "online": true},
      {"cpu": 1, "node": 1, "socket": 1, "core": 1, "l1d:l1i:l2:l3": "1:1:1:1", "online": true},
      {"cpu": 2, "node": 0, "socket": 0, "core": 0, "l1d:l1i:l2:l3": "0:0:0:0", "online": true},
      {"cpu": 3, "node": null, "socket": null, "core": null, "l1d:l1i:l2:l3": null, "online": false}
   ]
}"#;
    let table = machine(TABLE).machine;
    assert_eq!(machine(json).machine, table);
    let commas = machine(commas).machine;
    assert_eq!(
        (commas.cores(), commas.nodes(), commas.caches()),
        (table.cores(), table.nodes(), table.caches())
    );
}

#[test]
fn a_table_with_the_numbers_of_the_firmware_is_of_the_same_machine() {
    let logical = "# CPU,Core,Socket,Node\n0,0,0,0\n1,1,0,0\n2,0,0,0\n3,1,0,0\n";
    let physical = "# CPU,Core,Socket,Node\n0,0,0,0\n1,2,0,0\n2,0,0,0\n3,2,0,0\n";
    assert_eq!(machine(&format!("{logical}{physical}")).machine, machine(logical).machine);
    let other = "# CPU,Core,Socket,Node\n0,0,0,0\n1,0,0,0\n2,1,0,0\n3,1,0,0\n";
    let repeated = "# CPU,Core,Socket,Node\n0,0,-,0\n1,0,-,0\n2,0,-,0\n3,0,-,0\n";
    let counted = machine(&format!("Thread(s) per core: 2\n{logical}{repeated}"));
    assert_eq!(counted.machine.cores(), machine(logical).machine.cores());
    assert_eq!(
        read(&format!("{logical}{other}")).unwrap_err().to_string(),
        "outputs contradict each other: lscpu's table has CPU 1 in core 1, and lscpu's table in core 0"
    );
}

#[test]
fn counts_are_read_in_each_form() {
    let older = "\
CPU(s):                24
On-line CPU(s) list:   0-23
Thread(s) per core:    2
Core(s) per socket:    6
Socket(s):             2
NUMA node(s):          2
L3 cache:              15360K
NUMA node0 CPU(s):     0,2,4,6,8,10,12,14,16,18,20,22
NUMA node1 CPU(s):     1,3,5,7,9,11,13,15,17,19,21,23
";
    let nested = "\
On-line CPU(s) list:     0-23
  Thread(s) per core:    2
  Core(s) per socket:    6
  Socket(s):             2
Caches (sum of all):
  L3:                    30 MiB (2 instances)
NUMA:
  NUMA node(s):          2
  NUMA node0 CPU(s):     0,2,4,6,8,10,12,14,16,18,20,22
  NUMA node1 CPU(s):     1,3,5,7,9,11,13,15,17,19,21,23
";
    let json = r#"{"lscpu": [{"field": "On-line CPU(s) list:", "data": "0-23", "children": [
        {"field": "Thread(s) per core:", "data": "2"}, {"field": "Core(s) per socket:", "data": "6"},
        {"field": "Socket(s):", "data": "2"}]},
        {"field": "L3:", "data": "30 MiB (2 instances)"},
        {"field": "NUMA node0 CPU(s):", "data": "0,2,4,6,8,10,12,14,16,18,20,22"},
        {"field": "NUMA node1 CPU(s):", "data": "1,3,5,7,9,11,13,15,17,19,21,23"}]}"#;
    let read = machine(older);
    assert_eq!(cores(&read)[..2], ["0,12", "1,13"]);
    let halves =
        "the first half of a NUMA node's CPUs is taken as one thread of each core, the rest as the others";
    assert_eq!(read.assumed, [halves, "each package is taken to have one L3 cache"]);
    assert_eq!(machine(nested).assumed, [halves]);
    assert_eq!(read.machine.caches()[0].size_kib, Some(15360));
    for other in [nested, json] {
        assert_eq!(machine(other).machine, read.machine, "{other}");
    }
}

#[test]
fn outputs_follow_each_other_with_anything_between() {
    let text = format!(
        "Hi, this is our node:\n```\n[root@worker-0 ~]# lscpu -e\n{TABLE}```\nand\n\
         $ numactl -H\navailable: 2 nodes (0-1)\nnode 0 cpus: 0 2\nnode 0 size: 64405 MB\nnode 0 free: 1 MB\n\
         node 1 cpus: 1\nnode 1 size: 64467 MB\nnode distances:\nnode   0   1 \n  0:  10  21 \n  1:  21  10 \n\
         $ cat /proc/meminfo\nMemTotal:       131963904 kB\nMemFree: 1 kB\nHugePages_Total:       8\nHugepagesize:    1048576 kB\n\
         $ grep . /sys/devices/system/node/node*/hugepages/*/nr_hugepages\n\
         /sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages:8\n\
         /sys/devices/system/node/node1/hugepages/hugepages-1048576kB/nr_hugepages:0\nThanks!\n"
    );
    let read = machine(&text);
    assert_eq!(read.forms, [Form::LscpuTable, Form::Numactl, Form::Meminfo]);
    assert_eq!(read.lacks, [Lack::Devices]);
    assert_eq!(read.machine.memory(), Some(131_963_904 << 10));
    let node = &read.machine.nodes()[0];
    assert_eq!((node.memory, node.hugepages[0].num_pages), (Some(64405 << 20), 8));
    assert_eq!(node.distances.as_deref(), Some([10, 21].as_slice()));
}

#[test]
fn memory_of_a_node_is_as_precise_as_it_is_printed() {
    let numactl = "node 0 cpus: 0 1\nnode 0 size: 15 MB\n";
    for text in
        [format!("{numactl}Node 0 MemTotal: 16000 kB\n"), format!("Node 0 MemTotal: 16000 kB\n{numactl}")]
    {
        assert_eq!(machine(&text).machine.nodes()[0].memory, Some(16000 << 10), "{text}");
    }
}

#[test]
fn nodes_alone_tell_no_cores() {
    let read = machine(
        "available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 1 MB\nnode 1 cpus:\nnode 1 size: 2 MB\n",
    );
    assert_eq!(cores(&read), ["0", "1"]);
    assert!(read.machine.nodes()[1].cpus.is_empty());
    assert_eq!(
        read.assumed,
        ["each CPU is taken as a separate core", "each NUMA node with CPUs is taken as one package"]
    );
    assert!(read.lacks.contains(&Lack::Cores));
}

#[test]
fn drawings_of_lstopo_are_read() {
    let memory_beside = machine(
        "Machine (380GB total)\n  Package L#0 + L3 L#0 (60MB)\n    Group0 L#0\n      NUMANode L#0 (P#0 31GB)\n      \
         NUMANode L#1 (P#8 16GB)\n      L2 L#0 (2048KB) + L1d L#0 (48KB) + L1i L#0 (32KB) + Core L#0\n        PU L#0 (P#0)\n        \
         PU L#1 (P#64)\n    Group0 L#1\n      NUMANode L#2 (P#1 31GB)\n      L2 L#1 (2048KB) + Core L#1 + PU L#2 (P#1)\n    \
         HostBridge L#0\n      PCI 3b:00.0 (Ethernet)\n        Net L#0 \"ens1f0\"\n",
    );
    assert_eq!(cores(&memory_beside), ["0,64", "1"]);
    let nodes: Vec<_> = memory_beside
        .machine
        .nodes()
        .iter()
        .map(|node| (node.id.0, node.cpus.to_string(), node.memory.map(|bytes| bytes >> 30)))
        .collect();
    assert_eq!(
        nodes,
        [(0, "0,64".into(), Some(31)), (1, "1".into(), Some(31)), (8, String::new(), Some(16))]
    );
    assert_eq!(memory_beside.machine.caches_at(3).count(), 1);
    assert_eq!(memory_beside.assumed, ["memory of NUMA nodes is as rounded as lstopo draws it"]);
    // Before version 2 CPUs lay within their node.
    let older = machine(
        "Machine (64GB)\n  NUMANode P#0 (32GB) + Socket P#0 + L3 (15MB)\n    L2 (256KB) + L1 (32KB) + Core P#0\n      PU P#0\n      PU P#2\n  \
         NUMANode P#1 (32GB) + Socket P#1\n    Core P#0 + PU P#1\n",
    );
    assert_eq!(cores(&older), ["0,2", "1"]);
    assert_eq!(
        (older.machine.packages().len(), older.machine.nodes()[1].cpus.to_string()),
        (2, "1".to_owned())
    );
}

#[test]
fn outputs_are_read_where_they_are_quoted_or_commented_out() {
    for mark in ["> ", "> > ", "# ", "    "] {
        let text = format!("{TABLE}node 0 cpus: 0 2\nnode 0 size: 64405 MB\n");
        let quoted: String = text.lines().map(|line| format!("{mark}{line}\n")).collect();
        assert_eq!(machine(&quoted), machine(&text), "{quoted}");
    }
    let drawing = "Machine (64GB)\n  NUMANode L#0 (P#0 32GB) + Socket L#0 + L3 L#0 (20MB) +\nCore L#0\n    PU L#0 (P#0)\n";
    let quoted: String = drawing.lines().map(|line| format!("> {line}\n")).collect();
    assert_eq!(machine(&quoted), machine(drawing));
    assert_eq!(machine(drawing).machine.cores()[0].cpus.to_string(), "0");
}

#[test]
fn cpus_that_are_nowhere_are_offline_in_any_language() {
    let read = machine(
        "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE MAXMHZ\n0 0 0 0 0:0:0:0 да 1200,0000\n1 - - - ::: нет -\n",
    );
    assert_eq!(
        (read.machine.online().to_string(), read.machine.offline().to_string()),
        ("0".into(), "1".into())
    );
}

#[test]
fn sizes_of_caches_are_of_one_or_of_all_by_version() {
    let counts = "On-line CPU(s) list: 0-7\nThread(s) per core: 1\nCore(s) per socket: 4\nSocket(s): 2\n\
                  NUMA node0 CPU(s): 0-3\nNUMA node1 CPU(s): 4-7\n";
    for (size, kib) in
        [("L3 cache: 15360K", 15360), ("L3 cache: 32 MiB", 16 << 10), ("L3: 32 MiB (2 instances)", 16 << 10)]
    {
        let read = machine(&format!("{counts}{size}\n"));
        let sizes: Vec<_> = read.machine.caches_at(3).map(|cache| cache.size_kib).collect();
        assert_eq!(sizes, [Some(kib), Some(kib)], "{size}");
    }
}

#[test]
fn a_host_of_libvirt_is_read() {
    let read = machine(
        "<capabilities><host><topology><cells num='2'>\
         <cell id='0'><memory unit='KiB'>65000000</memory><pages unit='KiB' size='4'>1000</pages>\
         <pages unit='KiB' size='2048'>7</pages><distances><sibling id='0' value='10'/><sibling id='1' value='20'/></distances>\
         <cpus num='2'><cpu id='0' socket_id='0' die_id='0' core_id='3' siblings='0,2'/>\
         <cpu id='2' socket_id='0' die_id='0' core_id='3' siblings='0,2'/></cpus></cell>\
         <cell id='1'><memory unit='KiB'>66000000</memory>\
         <distances><sibling id='0' value='20'/><sibling id='1' value='10'/></distances>\
         <cpus num='1'><cpu id='1' socket_id='1' core_id='0' siblings='1'/></cpus></cell></cells></topology>\
         <cache><bank id='0' level='3' type='both' size='30' unit='MiB' cpus='0,2'/></cache></host></capabilities>",
    );
    assert_eq!(cores(&read), ["0,2", "1"]);
    let node = &read.machine.nodes()[0];
    assert_eq!((node.memory, node.hugepages[0].num_pages), (Some(65_000_000 << 10), 7));
    assert_eq!(node.distances.as_deref(), Some([10, 20].as_slice()));
    assert_eq!(read.machine.caches()[0].size_kib, Some(30 << 10));
    assert_eq!(read.lacks, [Lack::Devices]);
}

#[test]
fn outputs_of_two_machines_are_refused() {
    for (text, message) in [
        (
            format!("{TABLE}node 0 cpus: 0 1\n"),
            "outputs contradict each other: lscpu's table has CPUs 0,2 on NUMA node 0, and numactl --hardware CPUs 0-1 on NUMA node 0",
        ),
        (
            format!("{TABLE}node 0 cpus: 0 2\nnode 1 cpus: 1 7\n"),
            "outputs contradict each other: lscpu's table has CPUs 0-2, and numactl --hardware CPUs 1,7 on NUMA node 1",
        ),
        (
            format!("On-line CPU(s) list: 0-3\n{TABLE}"),
            "outputs contradict each other: lscpu's table has online CPUs 0-2, and lscpu 0-3",
        ),
        (
            format!("{TABLE}\n{}", TABLE.replace("1   1    1      1", "1   0    0      1")),
            "outputs contradict each other: lscpu's table has CPU 1 in NUMA node 1, and lscpu's table in NUMA node 0",
        ),
        (
            "node 0 size: 10 MB\nnode 0 size: 20 MB\n".to_owned(),
            "outputs contradict each other: numactl --hardware has 10 MiB on NUMA node 0, and numactl --hardware 20 MiB",
        ),
    ] {
        assert_eq!(read(&text).unwrap_err().to_string(), message, "{text}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (text, message) in [
        ("\nCPU CORE\n0 x\n", "lscpu's table, line 3: \"x\" is no number"),
        ("CPU CORE\n0 1 2\n", "lscpu's table, line 2: 3 values in a table of 2 columns"),
        ("node 0 cpus: 0 9999\n", "numactl --hardware, line 1: \"0 9999\" is no list of CPUs"),
        ("node 0 size: many\n", "numactl --hardware, line 1: \"many\" is no size in MB"),
        ("MemTotal: 5\n", "meminfo, line 1: \"5\" is no size in kB"),
        ("MemTotal: 5 kB\n", "meminfo lists no CPUs: add the outputs of `lscpu -e` and `lscpu`"),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), message, "{text}");
    }
}

#[test]
fn other_outputs_are_recognised_with_what_to_run_instead() {
    let instead = "expected a file that `topolet capture FILE.tar.zst` wrote on the node, or the output of `(lscpu -e; lscpu; numactl -H)` there";
    for (text, what) in [
        ("{\"@odata.id\": \"/redfish/v1/Systems/1/Processors/CPU.1\"}", "an answer of Redfish"),
        ("apiVersion: v1\nkind: Pod\n", "an object of Kubernetes"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(what) && error.ends_with(instead), "{error}");
    }
    let matrix = "        GPU0    GPU1    CPU Affinity    NUMA Affinity\nGPU0     X      SYS     0-13    0\n";
    assert!(read(matrix).unwrap_err().to_string().contains("`--devices FILE` takes it"));
    let beside = machine(&format!("{TABLE}{matrix}"));
    assert_eq!(beside.unread, [OtherForm::NvidiaTopology]);
    let lspci = read("0000:3b:00.0 Ethernet controller: Intel\n").unwrap_err().to_string();
    assert_eq!(lspci, "lspci lists no CPUs: add the outputs of `lscpu -e` and `lscpu`");
    assert_eq!(read("hello").unwrap_err(), MachineTextError::Unknown);
    assert_eq!(read("<domain xmlns='urn:jboss'/>").unwrap_err(), MachineTextError::Unknown);
    assert!(matches!(read("<topology><object"), Err(MachineTextError::Xml(_))));
}

const DRAWING: &str = "\
Machine (126GiB total)
  Package L#0
    NUMANode L#0 (P#0 63GiB)
    L3 L#0 (16MB) + L2 L#0 (512KB) + Core L#0
      PU L#0 (P#0)
      PU L#1 (P#2)
    HostBridge
      PCIBridge
        PCI 01:00.0 (NVMe)
          Block(Disk) \"nvme0n1\"

          CoProc(CUDA) \"cuda0\"
      16 x { PCI 03:00.0-01.7 (Ethernet) }
  Package L#1
    NUMANode(DRAM) L#1 (P#1 63GiB)
    Group0(Cluster) L#0
      L3 L#1 (16MB) + L2 L#1 (512KB) + Core L#1
        PU L#2 (P#1)
  Misc(MemoryModule)
";

#[test]
fn a_drawing_goes_on_after_objects_that_are_no_part_of_a_machine() {
    let read = machine(DRAWING);
    assert_eq!((cores(&read), read.machine.packages().len()), (vec!["0,2".to_owned(), "1".to_owned()], 2));
    let memory: Vec<_> =
        read.machine.nodes().iter().map(|node| node.memory.map(|bytes| bytes >> 30)).collect();
    assert_eq!(memory, [Some(63), Some(63)]);
    let broken = DRAWING.replace(" + Core", "\n+ Core");
    assert_eq!(machine(&broken).machine, read.machine);
    let physical = DRAWING.replace("Core L#0", "Core P#0").replace("Core L#1", "Core P#0");
    assert_eq!(cores(&machine(&physical)), cores(&read));
    // Beneath a table without NUMA nodes.
    let table = "CPU SOCKET CORE\n0 0 0\n1 1 1\n2 0 0\n";
    let both = machine(&format!("{table}\n{DRAWING}"));
    assert_eq!((cores(&both), both.machine.nodes()[1].cpus.to_string()), (cores(&read), "1".to_owned()));
}

#[test]
fn a_drawing_that_does_not_say_what_lies_in_what_is_refused() {
    let flat: String = DRAWING.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    assert!(matches!(read(&flat), Err(MachineTextError::NoCpus { form: Form::Lstopo })), "{:?}", read(&flat));
    let deep = format!("Machine (1GB)\n  Package L#0{}\n", " + PU L#0 (P#0)".repeat(200));
    assert!(read(&deep).unwrap_err().to_string().contains("within each other"));
}

#[test]
fn what_is_left_out_is_an_error() {
    for (text, message) in [
        (format!("{TABLE}...\n9 0 0 9 9:9:9:9 yes\n"), "lines are left out here"),
        (format!("CPU(s): 64\n{TABLE}"), "lscpu's table is not whole: of 64 CPUs it lists 4"),
        (
            "available: 4 nodes (0-3)\nnode 0 cpus: 0\nnode 1 cpus: 1\n".to_owned(),
            "of 4 NUMA nodes it lists 2",
        ),
        ("NUMA node(s): 2\nNUMA node0 CPU(s): 0-3\n".to_owned(), "of 2 NUMA nodes it lists 1"),
        (
            "CPU CORE\n0 0\n1 1\nNode 0 MemTotal: 5 kB\nNode 1 MemTotal: 5 kB\n".to_owned(),
            "nothing says which CPUs each of the 2 NUMA nodes has",
        ),
        (format!("Thread(s) per core: 1\n{TABLE}"), "has a core of 2 CPUs, and lscpu Thread(s) per core: 1"),
        (format!("CPU(s): 4\nSocket(s): 1\nCPU(s): 8\n{TABLE}"), "has CPU(s): 4, and lscpu CPU(s): 8"),
    ] {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}

/// `lscpu` numbers the cores of each type of processors from 0, and books of sockets too.
#[test]
fn cores_of_other_types_and_books_are_apart() {
    let types = "CPU NODE SOCKET CORE L1d:L1i:L2:L3\n0 0 0 0 0:0:0:0\n1 0 0 1 1:1:1:0\n2 0 0 0 2:2:2:0\n3 0 0 1 3:3:3:0\n";
    let read = machine(types);
    assert_eq!(cores(&read), ["0", "1", "2", "3"]);
    let ids: std::collections::BTreeSet<i64> = read.machine.cores().iter().map(|core| core.id).collect();
    assert_eq!(ids.len(), 4);
    let books = machine("CPU BOOK SOCKET CORE\n0 0 0 0\n1 0 0 0\n2 1 0 0\n3 1 0 0\n");
    assert_eq!(
        (cores(&books), books.machine.packages().len()),
        (vec!["0-1".to_owned(), "2-3".to_owned()], 2)
    );
    // Each half of a core of Bulldozer has a first cache for itself.
    let halves = machine("CPU NODE SOCKET CORE L1d:L1i:L2\n0 0 0 0 0:0:0\n1 0 0 0 1:0:0\n");
    assert_eq!(cores(&halves), ["0-1"]);
}

#[test]
fn counts_that_do_not_multiply_to_the_cpus_tell_no_cores() {
    let read =
        machine("On-line CPU(s) list: 0-19\nThread(s) per core: 2\nCore(s) per socket: 14\nSocket(s): 1\n");
    assert_eq!(
        (read.machine.cores().len(), read.assumed[0].as_str()),
        (20, "each CPU is taken as a separate core")
    );
}

#[test]
fn newer_forms_of_lists_and_sizes_are_read() {
    let counts = "On-line CPU(s) list: 0-7\nThread(s) per core: 1\nCore(s) per socket: 4\nSocket(s): 2\n\
                  L3 cache: 33554432 (2 instances)\nNUMA node0 CPU(s): 0-6:2\nNUMA node1 CPU(s): 0xaa\n";
    let read = machine(counts);
    assert_eq!(read.machine.nodes()[1].cpus.to_string(), "1,3,5,7");
    assert_eq!(read.machine.caches()[0].size_kib, Some(16 << 10));
    let numactl =
        machine("node 0 cpus: 0-3, 8-11 (8)\nnode 0 size: <not available>\nnode 1 cpus: 4 5\n6 7\n");
    assert_eq!(numactl.machine.nodes()[0].cpus.to_string(), "0-3,8-11");
    assert_eq!(
        (numactl.machine.nodes()[1].cpus.to_string(), numactl.machine.nodes()[0].memory),
        ("4-7".to_owned(), None)
    );
    // The list that goes on is compared as a whole.
    let both = machine(
        "NUMA node0 CPU(s): 0-3\nNUMA node1 CPU(s): 4-7\nnode 0 cpus: 0 1 2 3\nnode 1 cpus: 4 5\n6 7\n",
    );
    assert_eq!(both.machine.nodes()[1].cpus.to_string(), "4-7");
    let json = "{\"cpus\": [{\"cpu\": 0, \"node\": 0, \"core\": 0, \"online\": true},\n{\"cpu\": 1, \"node\": -, \"core\": -, \"online\": false}]}\nthanks";
    assert_eq!(machine(json).machine.offline().to_string(), "1");
    let all = machine(
        "CPU CORE SOCKET NODE BOOK DRAWER CACHE POLARIZATION MMU MHZ\n0 0 0 0 - - - - - 1\n1 1 0 0 - - - - - 1\n",
    );
    assert_eq!(cores(&all), ["0", "1"]);
}

#[test]
fn xml_is_read_wherever_it_stands() {
    let xml = "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n\
               <object type=\"Machine\" cpuset=\"0x3\" complete_cpuset=\"0x7\" nodeset=\"0x3\">\n\
               <object type=\"MemCache\" depth=\"1\" cpuset=\"0x3\" cache_size=\"5\"><object type=\"NUMANode\" os_index=\"1\" cpuset=\"0x3\" local_memory=\"2048\"/></object>\n\
               <object type=\"Package\" os_index=\"0\" cpuset=\"0x3\"><object type=\"NUMANode\" os_index=\"2\" cpuset=\"0x2\"/>\n\
               <object type=\"Core\" os_index=\"0\" cpuset=\"0x1\"><object type=\"PU\" os_index=\"0\" cpuset=\"0x1\"/></object>\n\
               <object type=\"Core\" os_index=\"1\" cpuset=\"0x2\"><object type=\"PU\" os_index=\"1\" cpuset=\"0x2\"/></object>\n\
               </object></object></topology>\n";
    let alone = machine(xml);
    // The nearest node has a CPU, and a cache before memory is none of a level.
    let nodes: Vec<_> =
        alone.machine.nodes().iter().map(|node| (node.cpus.to_string(), node.memory)).collect();
    assert_eq!(nodes, [("0".to_owned(), Some(2048)), ("1".to_owned(), Some(0))]);
    assert_eq!(alone.machine.caches(), []);
    assert_eq!(
        alone.assumed,
        ["CPUs 2, which do not run or were not allowed where lstopo ran, are taken as offline"]
    );
    let prompts =
        machine(&format!("$ lstopo --of xml\n{xml}$ lscpu | grep list\nOn-line CPU(s) list: 0-1\n"));
    assert_eq!((&prompts.machine, prompts.forms), (&alone.machine, vec![Form::HwlocXml, Form::Lscpu]));
    let other = read(&format!("{xml}On-line CPU(s) list: 0-3\n")).unwrap_err().to_string();
    assert_eq!(other, "outputs contradict each other: hwloc's XML has online CPUs 0-1, and lscpu 0-3");
    let contradiction =
        read(&format!("{xml}On-line CPU(s) list: 0-1\nCPU CORE\n0 0\n")).unwrap_err().to_string();
    assert_eq!(
        contradiction,
        "outputs contradict each other: lscpu's table has online CPUs 0, and lscpu 0-1"
    );
    assert_eq!(read(&format!("{xml}{xml}")), Err(MachineTextError::TwoMachines));
    let deep = format!("<topology>{}{}</topology>", "<object>".repeat(200), "</object>".repeat(200));
    assert!(matches!(read(&deep), Err(MachineTextError::Xml(_))));
    let fragment = "<topology><cells num='1'><cell id='0'><memory unit='KiB'>5</memory><cpus num='2'>\
                    <cpu id='0' socket_id='0' core_id='0' siblings='0'/><cpu id='1'/></cpus></cell></cells></topology>";
    assert_eq!(machine(fragment).machine.offline().to_string(), "1");
    let other = read(&format!("{fragment}\nOn-line CPU(s) list: 0-3\n")).unwrap_err().to_string();
    assert_eq!(other, "outputs contradict each other: virsh capabilities has online CPUs 0, and lscpu 0-3");
}

proptest! {
    /// A text that was cut or damaged is an error or a machine, and nothing else.
    #[test]
    fn damaged_texts_do_no_harm(at in any::<proptest::sample::Index>(), byte in any::<u8>(), end in any::<proptest::sample::Index>()) {
        let mut bytes = format!("{TABLE}available: 1 nodes (0)\nnode 0 cpus: 0 2\nnode 0 size: 5 MB\nnode distances:\nnode 0 1\n0: 10 20\nOn-line CPU(s) list: 0-2\nL3: 30 MiB (2 instances)\n").into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(end.index(bytes.len() + 1));
        drop(read(&String::from_utf8_lossy(&bytes)));
    }
}
