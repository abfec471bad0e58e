//! Pictures of decisions: what was free, what was chosen, what lacked.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_topolet"));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).env("LC_ALL", "C.UTF-8");
    command.args(arguments).args(["-o", "svg"]).output().unwrap()
}

/// The picture that a command draws with this exit status.
fn drawn(arguments: &[&str], status: i32) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(status), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn has_all(picture: &str, texts: &[&str]) {
    for text in texts {
        assert!(picture.contains(&format!(">{text}<")), "no {text:?} in {picture}");
    }
}

#[test]
fn what_was_chosen_is_marked_beside_what_others_hold() {
    let arguments = ["admit", "-m", "xeon-2s-96cpu-sriov", "-f", "fixtures/pods/two-containers.yaml"];
    let state = ["--state", "fixtures/state/healthy", "--pods", "fixtures/state/pods"];
    let picture = drawn(&[&arguments[..], &state].concat(), 0);
    has_all(
        &picture,
        &[
            "default/numa-aligned-pair admitted",
            "NUMA 0: chosen",
            "NUMA 1",
            "cpu, asked 2: fits, 34 free of 46",
            "A numa-aligned-container0",
            "NUMA 0 · CPUs 7,55 · 200Mi · nvidia.com/gpu ? not checked, nvidia.com/nic ? not checked",
        ],
    );
    // Two CPUs and the entry of the list; a part of the bar of the CPUs and one of that of the memory.
    for (class, count) in [("cpu p0", 3), ("cpu p1", 3), ("memory p0", 2)] {
        assert_eq!(picture.matches(&format!("<rect class=\"{class}\"")).count(), count, "{class}");
    }
    assert_eq!(picture.matches(">held<").count(), 28, "what other pods hold");
    assert_eq!(picture.matches(">res<").count(), 4, "what is reserved");
}

#[test]
fn what_init_containers_leave_is_counted_once() {
    let picture =
        drawn(&["admit", "-m", "xeon-2s-96cpu-sriov", "-f", "fixtures/pods/init-containers.yaml"], 0);
    has_all(&picture, &["ABC", "D", "A fetch (init)", "NUMA 0 · CPUs 1,49 · 2.79Gi"]);
    // The first init container has no part of a bar; of the second it is what no later container uses.
    for (class, count) in [("memory p0", 0), ("memory p1", 1), ("memory p2", 2), ("memory p3", 2)] {
        assert_eq!(picture.matches(&format!("<rect class=\"{class}\"")).count(), count, "{class}");
    }
}

#[test]
fn a_refusal_says_what_each_node_lacks_in_the_words_of_the_table() {
    let picture =
        drawn(&["explain", "-m", "xeon-2s-96cpu-sriov", "-f", "fixtures/pods/refused/memory.yaml"], 2);
    let table = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["admit", "-m", "xeon-2s-96cpu-sriov", "-f", "fixtures/pods/refused/memory.yaml"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    let cells: Vec<&str> = table
        .split("  ")
        .map(str::trim)
        .filter(|cell| cell.starts_with('✘') && cell.contains("free of"))
        .collect();
    assert!(!cells.is_empty(), "{table}");
    for cell in cells {
        let words = cell.replace('✘', "does not fit,");
        assert!(picture.contains(&format!(": {words}<")), "no {words:?}");
    }
    has_all(&picture, &["why", "would fit"]);
    assert!(!picture.contains(": chosen<"));
}

#[test]
fn policy_none_and_large_machines_are_drawn() {
    let pod = ["-f", "fixtures/pods/dpdk.yaml"];
    let none =
        drawn(&[&["admit", "-m", "xeon-2s-96cpu-sriov", "-c", "kubelet-defaults"], &pod[..]].concat(), 0);
    assert!(!none.contains(">res<"), "no CPU is given to a container");
    let large = run(&[&["admit", "-m", "power8-phyp-1024cpu-16node"], &pod[..]].concat());
    let large = String::from_utf8(large.stdout).unwrap();
    let width = large.split("width=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(width.parse::<u32>().unwrap() < 5000, "{width}");
}

#[test]
fn a_picture_shows_one_pod() {
    for (arguments, said) in [
        (
            &[][..],
            "3 pods are decided on, and a picture shows one: choose it with --pod, as in --pod ran/upf-0",
        ),
        (
            &["--summary"],
            "a picture shows one pod, whatever its outcome: expected no --only and no --summary",
        ),
        (&["--pod", "nobody"], "no pod is called nobody: 3 pods are decided on"),
    ] {
        let pods = ["admit", "-m", "xeon-2s-96cpu-sriov", "-f", "fixtures/pods/workloads.yaml"];
        let output = run(&[&pods[..], arguments].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && error.contains(said), "{error}");
        assert!(output.stdout.is_empty());
    }
}
