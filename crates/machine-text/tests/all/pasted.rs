//! Machines as people paste them: in tables, with lines left out, as files, and outputs of other tools.

use machine_text::{Form, MachineTextError, OtherForm, read};

#[test]
fn a_table_of_markdown_is_the_output_that_it_was_made_of() {
    let text = "## Hardware

| Field                | Value     |
| ---                  | ---       |
| CPU(s):              | 4         |
| On-line CPU(s) list: | 0-3       |
| Thread(s) per core:  | 1         |
| Core(s) per socket:  | 2         |
| Socket(s):           | 2         |
| NUMA node(s):        | 2         |
| NUMA node0 CPU(s):   | 0,2       |
| NUMA node1 CPU(s):   | 1,3       |

| a | b: | c |
";
    let machine = read(text).unwrap().machine;
    let nodes: Vec<String> = machine.nodes().iter().map(|node| node.cpus.to_string()).collect();
    assert_eq!((machine.packages().len(), nodes), (2, vec!["0,2".to_owned(), "1,3".to_owned()]));
}

#[test]
fn files_of_numa_nodes_are_read_as_grep_prints_them() {
    let text = "$ grep . /sys/devices/system/node/node*/{cpulist,distance}
/sys/devices/system/node/node0/cpulist:0-1
/sys/devices/system/node/node2/cpulist:2-3
/sys/devices/system/node/node0/distance:10 21
/sys/devices/system/node/node2/distance:21 10
/sys/devices/system/node/node2/hugepages/hugepages-1048576kB/nr_hugepages:3
";
    let read = read(text).unwrap();
    assert!(read.forms.contains(&Form::NodeFiles), "{:?}", read.forms);
    let [first, second] = read.machine.nodes() else { panic!("{:?}", read.machine.nodes()) };
    assert_eq!((second.id.0, second.cpus.to_string().as_str()), (2, "2-3"));
    assert_eq!(first.distances, Some(vec![10, 21]));
    for (line, expected) in [
        ("node0/cpulist:x", "files of NUMA nodes, line 1: \"x\" is no list of CPUs"),
        (
            "node0/distance:10 9",
            "files of NUMA nodes, line 1: \"10 9\" is no row of distances of at least 10",
        ),
    ] {
        let error = machine_text::read(&format!("/sys/devices/system/node/{line}\n")).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn what_is_left_out_is_said_and_not_guessed() {
    let numactl = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1 ... 6 7\nnode 1 cpus: 8 9\n";
    let expected = "numactl --hardware, line 2: CPUs are left out here: it has to be whole";
    assert_eq!(read(numactl).unwrap_err().to_string(), expected);
    let drawing = |snip: &str| {
        format!(
            "Machine (8GB total)\n{snip}  NUMANode L#1 (P#1 4GB)\n    Core L#1 + PU L#1 (P#1)\n    Core L#2 + PU L#2 (P#2)\n"
        )
    };
    for snip in ["  ...<snip>...\n", "  [...]\n", "  …\n"] {
        let error = read(&drawing(snip)).unwrap_err().to_string();
        assert_eq!(error, "lstopo, line 2: lines are left out here: it has to be whole", "{snip}");
    }
    // Logical numbers have no gaps.
    let error = read(&drawing("")).unwrap_err();
    assert_eq!(error, MachineTextError::LeftOut { form: Form::Lstopo, what: "CPUs", all: 3, listed: 2 });
}

#[test]
fn outputs_of_other_tools_are_named_with_what_to_run_instead() {
    for (text, form, instead) in [
        ("Handle 0x0400, DMI type 4, 48 bytes\nCore Count: 24\n", OtherForm::Dmidecode, "topolet capture"),
        (
            "CPU(s): 32\nCPU socket(s): 1\nCore(s) per socket: 8\nNUMA cell(s): 2\n",
            OtherForm::NodeInfo,
            "`virsh capabilities`",
        ),
        (
            "Name: w-1\nAllocatable:\n  cpu: 4\nSystem Info:\n  Kubelet Version: v1.36.3\n",
            OtherForm::DescribedNode,
            "`kubectl get node NODE -o yaml`",
        ),
        (
            "Hardware Thread Topology\nHWThread\tThread\tCore\n",
            OtherForm::Likwid,
            "`(lscpu -e; lscpu; numactl -H)`",
        ),
        ("machdep.cpu.core_count: 12\n", OtherForm::Sysctl, "on Linux alone"),
        ("GPU[0]\t: (Topology) Numa Node: 0\n", OtherForm::RocmTopology, "`--devices FILE`"),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!(error, MachineTextError::Other { form }, "{text}");
        assert!(error.to_string().contains(instead), "{error}");
    }
}

#[test]
fn drivers_of_functions_are_read_in_each_form_of_lspci() {
    let nodes = "available: 1 nodes (0)\nnode 0 cpus: 0 1\n";
    let short = "18:01.0 Ethernet controller [0200]: Intel [8086:1889]\n\tKernel driver in use: vfio-pci\n\tKernel modules: iavf\n";
    let record = "Slot:\t18:01.0\nClass:\tEthernet controller [0200]\nVendor:\tIntel [8086]\nDevice:\tVF [1889]\nDriver:\tvfio-pci\n";
    for listed in [short, record] {
        let machine = read(&format!("{listed}\n{nodes}")).unwrap().machine;
        let drivers: Vec<Option<&str>> = machine.devices().iter().map(|own| own.driver.as_deref()).collect();
        assert_eq!(drivers, [Some("vfio-pci")], "{listed}");
    }
}
