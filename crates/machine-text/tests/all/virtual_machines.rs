//! Virtual machines by their definitions: domains of libvirt and command lines of QEMU.

use machine_text::{Form, Lack, MachineText, read};

fn machine(text: &str) -> MachineText {
    read(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn error(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

fn nodes(read: &MachineText) -> Vec<String> {
    let node = |node: &topology_model::Node| {
        let mebibytes = node.memory.map_or("?".to_owned(), |bytes| (bytes >> 20).to_string());
        format!("{}: {} {mebibytes} {:?}", node.id, node.cpus, node.distances.clone().unwrap_or_default())
    };
    read.machine.nodes().iter().map(node).collect()
}

fn cores(read: &MachineText) -> Vec<String> {
    read.machine.cores().iter().map(|core| core.cpus.to_string()).collect()
}

const DOMAIN: &str =
    "<domain type='kvm'><name>a</name><memory unit='GiB'>6</memory><vcpu placement='static'>8</vcpu>
  <cputune><vcpupin vcpu='0' cpuset='4'/></cputune>
  <cpu><topology sockets='2' dies='1' cores='2' threads='2'/><numa>
    <cell id='0' cpus='0-3' memory='2' unit='GiB'><distances><sibling id='1' value='21'/></distances></cell>
    <cell id='1' cpus='4-7' memory='2097152'/>
    <cell id='2' memory='2048' unit='MiB'/>
  </numa></cpu></domain>";

#[test]
fn a_domain_is_the_machine_that_its_kernel_finds() {
    let read = machine(DOMAIN);
    assert_eq!(cores(&read), ["0-1", "2-3", "4-5", "6-7"]);
    assert_eq!(read.machine.packages().len(), 2);
    assert_eq!(
        nodes(&read),
        ["0: 0-3 2048 [10, 21, 20]", "1: 4-7 2048 [21, 10, 20]", "2:  2048 [20, 20, 10]"]
    );
    assert_eq!(read.forms, [Form::LibvirtDomain]);
    assert_eq!(read.lacks, [Lack::Caches, Lack::HugePages, Lack::Devices]);
    assert_eq!(read.assumed, ["memory is all that it is given, of which its kernel keeps a part"]);
}

#[test]
fn a_domain_without_levels_has_packages_and_one_that_contradicts_itself_is_refused() {
    let read = machine("<domain><memory>1048576</memory><vcpu current='2'>4</vcpu></domain>");
    assert_eq!((cores(&read), read.machine.packages().len()), (vec!["0".to_owned(), "1".to_owned()], 2));
    assert_eq!(nodes(&read), ["0: 0-1 1024 [10]"]);
    assert_eq!(read.machine.offline().to_string(), "2-3");
    let each = "<domain><vcpu>3</vcpu><vcpus><vcpu id='0' enabled='yes'/><vcpu id='2' enabled='yes'/></vcpus></domain>";
    let read = machine(each);
    assert_eq!(nodes(&read), ["0: 0,2 ? [10]"]);
    assert!(read.lacks.contains(&Lack::Memory));
    assert_eq!(
        error("<domain><vcpu>4</vcpu><cpu><topology sockets='1' cores='2' threads='1'/></cpu></domain>"),
        "outputs contradict each other: the domain of libvirt has 4 CPUs by its vcpu, and the domain of libvirt 2 by its topology"
    );
    assert_eq!(
        error("<domain><vcpu>2</vcpu><cpu><numa><cell cpus='a'/></numa></cpu></domain>"),
        "the domain of libvirt: cpus \"a\" is no list of CPUs"
    );
    assert!(
        error("<domain><vcpu>2</vcpu><cpu><numa><cell cpus='0-5'/></numa></cpu></domain>").contains("2 CPUs")
    );
}

#[test]
fn parts_of_a_list_of_cpus_are_taken_out_and_cpus_of_no_node_are_the_first_ones() {
    let read = machine(
        "<domain><vcpu>4</vcpu><memory>8192</memory><cpu><numa><cell id='0' cpus='0-3,^2-3' memory='4096'/>\
         <cell id='1' cpus='2' memory='4096'/></numa></cpu></domain>",
    );
    assert_eq!(nodes(&read), ["0: 0-1,3 4 [10, 20]", "1: 2 4 [20, 10]"]);
    assert!(read.assumed.iter().any(|text| text.starts_with("CPUs 3, which no NUMA node lists")), "{read:?}");
    assert!(read.assumed.iter().any(|text| text.starts_with("distances are 10 and 20")), "{read:?}");
}

const COMMAND: &str = "#!/bin/bash
# qemu-system-x86_64 -smp 64
sudo /opt/qemu/bin/qemu-system-x86_64 \\
-drive file=./a.qcow2,format=qcow2 \\
-m 4G,slots=4,maxmem=8G \\
-smp 4,sockets=2 \\
-object memory-backend-ram,size=2G,id=m0 \\
-object '{\"qom-type\":\"memory-backend-ram\",\"id\":\"m1\",\"size\":1073741824}' \\
-object memory-backend-ram,size=1G,id=m2 \\
-numa node,nodeid=0,memdev=m0,cpus=0-1 \\
-numa node,nodeid=1,memdev=m1,cpus=2,cpus=3 \\
-numa node,nodeid=2,memdev=m2 \\
-numa dist,src=0,dst=1,val=30 \\
-numa dist,src=0,dst=2,val=15 \\
-numa dist,src=1,dst=2,val=15
";

#[test]
fn a_command_line_of_qemu_is_a_machine() {
    let read = machine(COMMAND);
    assert_eq!(
        nodes(&read),
        ["0: 0-1 2048 [10, 30, 15]", "1: 2-3 1024 [30, 10, 15]", "2:  1024 [15, 15, 10]"]
    );
    assert_eq!((cores(&read).len(), read.machine.packages().len()), (4, 2));
    assert_eq!(read.forms, [Form::Qemu]);
    let one_line = COMMAND.replace("\\\n", "");
    assert_eq!(machine(&one_line).machine, read.machine);
}

#[test]
fn what_a_command_line_leaves_out_is_what_qemu_takes() {
    let read = machine("qemu-kvm -m 4096 -smp 4\n");
    assert_eq!((nodes(&read), read.machine.packages().len()), (vec!["0: 0-3 4096 [10]".to_owned()], 1));
    assert!(read.assumed.iter().any(|text| text.contains("cores of one package")), "{read:?}");
    let read = machine("qemu-system-aarch64 -m 4G -smp 4,sockets=4 -numa node -numa node");
    assert_eq!(nodes(&read), ["0: 0,2 2048 [10, 20]", "1: 1,3 2048 [20, 10]"]);
    let placed = "qemu-system-x86_64 -m 2G -smp 4,sockets=2,cores=2,threads=1 -numa node,nodeid=0,mem=1G -numa node,nodeid=1,mem=1G \
                  -numa cpu,node-id=1,socket-id=0 -numa cpu,node-id=0,socket-id=1";
    assert_eq!(nodes(&machine(placed)), ["0: 2-3 1024 [10, 20]", "1: 0-1 1024 [20, 10]"]);
    assert_eq!(nodes(&machine("qemu-system-x86_64 -m 1G")), ["0: 0 1024 [10]"]);
}

#[test]
fn a_command_line_that_is_not_filled_in_or_wrong_is_refused() {
    assert_eq!(
        error("qemu-system-x86_64 -smp $CPUS -m 1G"),
        "QEMU's command line: -smp $CPUS is filled in by a shell: `ps -ww -C qemu-system-x86_64 -o args` on the host prints it as \
         it runs"
    );
    assert_eq!(
        error("qemu-system-x86_64 -m 1G -smp 4,sockets=3,cores=1,threads=1"),
        "QEMU's command line: -smp 4,sockets=3,cores=1,threads=1: expected counts whose product is the number of CPUs"
    );
    assert_eq!(
        error("qemu-system-x86_64 -numa node,memdev=x"),
        "QEMU's command line: -object with id=x and a size is missing"
    );
    assert!(error("qemu-system-x86_64 -smp 99999999").contains("99999999 CPUs"));
    assert_eq!(
        error(&format!("{COMMAND}\nqemu-system-x86_64 -m 1G\n")),
        "there are two machines in it: expected the outputs of one"
    );
}
