//! Machines that lack something, or have more than usual: they are shown and captured as they are, and what is
//! unknown of them is shown as unknown.

use crate::tree::{Place, Tree};
use serde_json::Value;

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 1Gi}}}]}\n";

fn json(place: &Place) -> Value {
    serde_json::from_str(&place.shown("json")).unwrap()
}

fn with_pod(tree: &Tree, name: &str) -> Place {
    let place = tree.written(name);
    std::fs::write(place.path().join("pod.yaml"), POD).unwrap();
    place
}

/// The forms that people look at.
const FORMS: [&str; 3] = ["table", "tree", "svg"];

#[test]
fn a_machine_of_128_nodes_is_shown_and_captured_and_not_decided_on() {
    let place = with_pod(&Tree::of_nodes(128), "many");
    for form in FORMS {
        let shown = place.shown(form);
        assert!(shown.contains("128 NUMA nodes") && shown.contains("255"), "{form}: {shown}");
    }
    assert_eq!(json(&place)["nodes"].as_array().unwrap().len(), 128);
    let info = place.shown("machineinfo");
    std::fs::write(place.path().join("info.json"), &info).unwrap();
    let shown = place.printed(&["topology", "-m", "./info.json"]);
    assert!(shown.contains("128 NUMA nodes") && shown.contains("254-255"), "{shown}");
    place.printed(&["capture", "many.tar.zst", "-m", "./machine"]);
    place.printed(&["capture", "--check", "many.tar.zst", "-m", "./machine"]);
    let error = place.error(&["admit", "-m", "./many.tar.zst", "-f", "pod.yaml"]);
    assert!(error.contains("machine has 128 NUMA nodes, more than the 64"), "{error}");
}

#[test]
fn isolated_cpus_are_shown_in_every_form() {
    let isolated = "sys/devices/system/cpu/isolated";
    let place = Tree::of_nodes(2).with(isolated, "1,3").written("isolated");
    for form in FORMS {
        assert!(place.shown(form).contains("4 CPUs (1,3 isolated)"), "{form}: {}", place.shown(form));
    }
    assert_eq!(json(&place)["isolatedCpus"], "1,3");
    assert_eq!(json(&Tree::of_nodes(2).written("none-isolated"))["isolatedCpus"], "");
    assert_eq!(
        json(&Tree::of_nodes(2).without(isolated).written("unknown-isolated"))["isolatedCpus"],
        Value::Null
    );
}

#[test]
fn a_node_of_unknown_memory_is_not_shown_as_a_node_without_any() {
    let node = "sys/devices/system/node";
    // As in captures that lack files: a third node with a folder and nothing else, and a fourth that is empty.
    let tree = Tree::of_nodes(2).with(&format!("{node}/node2/cpulist"), "");
    let tree = tree
        .with(&format!("{node}/node3/cpulist"), "")
        .with(&format!("{node}/node3/meminfo"), "Node 3 MemTotal: 0 kB");
    let place = tree.without(&format!("{node}/node1/meminfo")).written("unknown");
    let table = place.shown("table");
    let row = |id: &str| table.lines().find(|line| line.starts_with(id)).unwrap_or_default().to_owned();
    assert!(row("0 ").contains("64Gi"), "{table}");
    assert!(row("1 ").contains("unknown") && row("2 ").contains("unknown"), "{table}");
    assert_eq!(row("3 "), "3  no CPUs, no memory", "nothing is known of devices");
    for form in ["tree", "svg"] {
        let shown = place.shown(form);
        assert!(shown.contains("NUMA 1 of unknown memory"), "{form}: {shown}");
        assert!(shown.contains("NUMA 2 of unknown memory, no CPUs"), "{form}: {shown}");
        assert!(shown.contains("NUMA 3: no CPUs, no memory"), "{form}: {shown}");
    }
    let nodes = json(&place)["nodes"].clone();
    assert_eq!(
        (&nodes[1]["memory"], &nodes[2]["memory"], &nodes[3]["memory"]),
        (&Value::Null, &Value::Null, &Value::from(0))
    );
    assert_eq!(nodes[2]["distances"], Value::Null);
}

#[test]
fn a_node_of_a_generic_initiator_is_not_shown_as_an_empty_one() {
    let node = "sys/devices/system/node";
    let mut tree = Tree::of_nodes(2).with(&format!("{node}/has_generic_initiator"), "1-2");
    for empty in ["node2", "node3"] {
        tree = tree.with(&format!("{node}/{empty}/cpulist"), "");
        tree = tree.with(&format!("{node}/{empty}/meminfo"), &format!("Node {} MemTotal: 0 kB", &empty[4..]));
    }
    let place = tree.written("initiators");
    let table = place.shown("table");
    assert!(table.contains("\n2  generic initiator; no CPUs, no memory\n3  no CPUs, no memory\n"), "{table}");
    assert!(table.contains("64Gi    generic initiator"), "{table}");
    for form in ["tree", "svg"] {
        let shown = place.shown(form);
        assert!(shown.contains("NUMA 2: generic initiator; no CPUs, no memory"), "{form}: {shown}");
        assert!(shown.contains("NUMA 3: no CPUs, no memory"), "{form}: {shown}");
        assert!(shown.contains("NUMA 1 64Gi, generic initiator"), "{form}: {shown}");
    }
    let nodes = json(&place)["nodes"].clone();
    assert_eq!(
        (&nodes[2]["genericInitiator"], &nodes[3]["genericInitiator"]),
        (&Value::from(true), &Value::Null)
    );
}

#[test]
fn packages_that_nobody_numbered_are_unknown() {
    let mut tree = Tree::of_nodes(2);
    for cpu in 0..4 {
        tree = tree.with(&format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"), "-1");
    }
    let place = tree.written("packages");
    let table = place.shown("table");
    assert!(table.contains("\n0     unknown  0-1") && !table.contains("-1,"), "{table}");
    assert!(place.shown("tree").contains("package of unknown number"));
    assert_eq!(json(&place)["nodes"][0]["packages"], Value::Null);
    assert!(table.contains("! the machine has 2 packages, and the kubelet counts 1\n"), "{table}");
}

/// Every command that decides, with the pod where it takes one.
const DECIDING: [&[&str]; 6] = [
    &["admit", "-f", "pod.yaml"],
    &["explain", "-f", "pod.yaml"],
    &["simulate", "--find-max", "-f", "pod.yaml"],
    &["config", "check"],
    &["config", "check", "--propose"],
    &["export", "nrt", "--node-name", "a"],
];

#[test]
fn a_machine_that_lacks_its_memory_says_so_and_takes_it_from_the_command_line() {
    let place = with_pod(&Tree::of_nodes(2).without_memory(), "lacking");
    for command in DECIDING {
        let on = [command, &["-m", "./machine"]].concat();
        let error = place.error(&on);
        assert!(error.contains("nothing tells how much memory machine has"), "{command:?}: {error}");
        assert!(
            error.contains("--memory 0=64Gi,1=64Gi") && !error.contains("would not start"),
            "{command:?}: {error}"
        );
        let given = [on.as_slice(), &["--memory", "0=64Gi,1=32Gi"]].concat();
        let output = place.topolet(&given);
        assert_ne!(output.status.code(), Some(1), "{given:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    // What is only shown needs no memory.
    assert!(place.shown("table").contains("unknown"));
    assert_eq!(json(&place)["memory"], Value::Null);
    place.printed(&["capture", "lacking.tar.zst", "-m", "./machine"]);
    let shown = place.printed(&["topology", "-m", "./machine", "--memory", "0=64Gi,1=32Gi"]);
    assert!(shown.contains("96Gi") && !shown.contains("unknown") && !shown.contains("meminfo"), "{shown}");
    assert!(shown.contains("given instead of what the machine has:\n! --memory 0=64Gi,1=32Gi\n"), "{shown}");
}

#[test]
fn given_memory_decides() {
    let place = with_pod(&Tree::of_nodes(2), "given");
    let admit = |memory: &str| {
        let output = place.topolet(&["admit", "-m", "./machine", "-f", "pod.yaml", "--memory", memory]);
        output.status.code()
    };
    assert_eq!((admit("0=64Gi"), admit("0=512Mi,1=512Mi")), (Some(0), Some(2)));
    for (memory, error) in [
        ("7=1Gi", "--memory names NUMA node 7; the machine has 0, 1"),
        ("0=1Gi,0=1Gi", "gives NUMA node 0 memory a second time"),
        ("0=x", "--memory 0=x: \"x\" is no quantity, expected an amount such as 2, 500m or 1.5Gi"),
    ] {
        let said = place.error(&["admit", "-m", "./machine", "-f", "pod.yaml", "--memory", memory]);
        assert!(said.contains(error), "{memory}: {said}");
    }
    let both = ["topology", "-m", "./machine", "--memory", "0=8Gi", "--hugepages"];
    let said = place.error(&[both.as_slice(), &["0:1Gi=9"]].concat());
    assert!(said.contains("--hugepages asks for 9Gi of huge pages on NUMA node 0, which has 8Gi"), "{said}");
    for form in FORMS {
        let shown = place.printed(&[both.as_slice(), &["0:1Gi=4", "-o", form]].concat());
        assert!(shown.contains("8Gi") && shown.contains("4×1Gi"), "{form}: {shown}");
    }
}

#[test]
fn a_node_of_unknown_memory_beside_others_is_told_where_memory_decides() {
    let tree = Tree::of_nodes(2).without("sys/devices/system/node/node1/meminfo");
    let place = with_pod(&tree, "partly");
    let admit = ["admit", "-m", "./machine", "-f", "pod.yaml"];
    let warned = |arguments: &[&str]| {
        String::from_utf8_lossy(&place.topolet(arguments).stderr)
            .contains("nothing tells how much memory NUMA 1 of machine has")
    };
    assert!(!warned(&[admit.as_slice(), &["--config", "kubelet-defaults"]].concat()), "memory is not pinned");
    assert!(!warned(&[admit.as_slice(), &["--memory", "1=64Gi"]].concat()));
    assert!(warned(&admit));
}

#[test]
fn memory_of_nodes_that_nobody_knows_is_asked_for_where_it_is_to_be_pinned() {
    let node = |at| format!("sys/devices/system/node/node{at}/meminfo");
    let place = with_pod(&Tree::of_nodes(2).without(&node(0)).without(&node(1)), "total-only");
    let admit = ["admit", "-m", "./machine", "-f", "pod.yaml"];
    let warned = String::from_utf8_lossy(&place.topolet(&admit).stderr).into_owned();
    assert!(warned.contains("NUMA 0-1 of machine has, and memory is not pinned"), "{warned}");
    assert!(warned.contains("--memory 0=64Gi,1=64Gi"), "{warned}");
    let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmemoryManagerPolicy: Static\nkubeReserved: {memory: 924Mi}\nreservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n";
    std::fs::write(place.path().join("static.yaml"), config).unwrap();
    let pinned = [admit.as_slice(), &["--config", "static.yaml"]].concat();
    let error = place.error(&pinned);
    assert!(
        error.contains("memoryManagerPolicy Static decides by it")
            && error.contains("--memory 0=64Gi,1=64Gi"),
        "{error}"
    );
    let error = place.error(&["config", "check", "--config", "static.yaml", "-m", "./machine"]);
    assert!(error.contains("memoryManagerPolicy Static decides by it"), "{error}");
    let given = place.topolet(&[pinned.as_slice(), &["--memory", "0=64Gi,1=64Gi"]].concat());
    assert_eq!(given.status.code(), Some(0), "{}", String::from_utf8_lossy(&given.stderr));
}

#[test]
fn a_machine_of_another_architecture_is_captured_without_a_change() {
    let cpuinfo = "processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nmmu\t\t: sv39\n";
    let place = Tree::of_nodes(2).with("proc/cpuinfo", cpuinfo).written("riscv");
    place.printed(&["capture", "riscv.tar.zst", "-m", "./machine"]);
    place.printed(&["capture", "--check", "riscv.tar.zst", "-m", "./machine"]);
    let again = |format| {
        place.printed(&["topology", "-m", "./riscv.tar.zst", "-o", format]).replace("riscv", "machine")
    };
    for format in ["table", "json", "machineinfo"] {
        assert_eq!(place.shown(format), again(format), "{format}");
    }
}

#[test]
fn a_problem_that_is_new_is_a_change_of_the_machine() {
    let place = Tree::of_nodes(2).written("before");
    place.printed(&["capture", "before.tar.zst", "-m", "./machine"]);
    let mask = place.path().join("machine/sys/devices/system/node/node1/cpumap");
    std::fs::write(mask, "4\n").unwrap();
    let output = place.topolet(&["capture", "--check", "before.tar.zst", "-m", "./machine"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("node1/cpumap has CPUs 2, but") && said.contains(": new"), "{said}");
}

#[test]
fn what_the_kubelet_sees_otherwise_is_told_in_sentences() {
    let mut tree = Tree::of_nodes(3).with("sys/devices/system/cpu/cpu2/topology/core_id", "1");
    tree = tree.with("sys/devices/system/cpu/cpu3/topology/core_id", "1");
    let table = tree.written("sentences").shown("table");
    assert!(
        table.contains(
            "\nthe kubelet sees another machine:\n! the machine has 6 cores, and the kubelet counts 5\n"
        ),
        "{table}"
    );
}
