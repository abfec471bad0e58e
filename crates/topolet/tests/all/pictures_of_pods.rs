//! Pictures and trees of machines with what pods hold, from a kubelet's files.

use std::process::Command;

/// What is drawn of the server that the state in the fixtures is from, and with which exit status.
fn drawn(format: &str, state: &str, status: i32) -> String {
    drawn_with(&[], format, state, status)
}

/// The same with further arguments.
fn drawn_with(arguments: &[&str], format: &str, state: &str, status: i32) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["topology", "--machine", "xeon-2s-96cpu-sriov", "-o", format])
        .args(["--state", &format!("../../fixtures/state/{state}"), "--pods", "../../fixtures/state/pods"])
        .args(arguments)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(status), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The numbers in the boxes of a class: the text that follows a box is what stands in it.
fn cpus(picture: &str, class: &str) -> Vec<String> {
    let start = format!("<rect class=\"{class}\"");
    let lines: Vec<_> = picture.lines().collect();
    let pairs =
        lines.windows(2).filter(|pair| pair[0].starts_with(&start) && pair[1].starts_with("<text class=\"m"));
    pairs.map(|pair| pair[1].split('>').nth(1).unwrap().split('<').next().unwrap().to_owned()).collect()
}

#[test]
fn every_pod_has_its_colour() {
    let picture = drawn("svg", "healthy", 0);
    let of = |numbers: &[std::ops::RangeInclusive<u32>]| -> Vec<String> {
        let mut all: Vec<_> = numbers.iter().cloned().flatten().collect();
        // As they are drawn: core by core.
        all.sort_by_key(|cpu| (cpu % 48, *cpu));
        all.iter().map(ToString::to_string).collect()
    };
    assert_eq!(cpus(&picture, "cpu p0"), of(&[25..=32, 73..=80]), "ml/train-0");
    assert_eq!(cpus(&picture, "cpu p1"), of(&[1..=4, 49..=52]), "ran/dpdk-7");
    assert_eq!(cpus(&picture, "cpu p2"), of(&[5..=6, 53..=54]), "ran/upf-0");
    assert_eq!(cpus(&picture, "cpu").len(), 96 - 28, "the shared pool");
    for text in [
        "B dpdk-7 4Gi 8×1Gi",
        "A train-0 32Gi",
        "2× NIC VF Intel Ethernet Adaptive Virtual Function",
        "0000:18:01.2, C upf-0",
        "CPUs 1-4,49-52 · 4Gi on NUMA 0 · 8×1Gi on NUMA 0",
        "intel.com/sriov_vf 0000:18:01.0, 0000:18:01.1",
        "shared pool",
    ] {
        assert!(picture.contains(&format!(">{text}<")), "no {text:?}");
    }
    let memory = picture.matches("<rect class=\"memory p1\"").count();
    let devices = picture.matches("<rect class=\"device p1\"").count();
    assert_eq!((memory, devices), (2, 1), "a bar and its name, and a group of devices");
}

#[test]
fn files_that_contradict_themselves_are_drawn_as_they_are() {
    let picture = drawn("svg", "two-owners", 0);
    assert!(!cpus(&picture, "cpu several").is_empty());
    assert!(picture.contains(">two pods hold the same, which no kubelet grants<"));
    let picture = drawn("svg", "torn", 2);
    assert!(picture.contains(">cpu_manager_state cannot be read"), "the file is named");
    assert_eq!(cpus(&picture, "cpu").len(), 96, "nothing is known of any CPU");
}

#[test]
fn reserved_cpus_and_memory_are_not_the_shared_pool() {
    let unknown = drawn("svg", "healthy", 0);
    assert!(unknown.contains(">which of the CPUs are reserved is not known<"));
    let picture = drawn_with(&["-c", "pinned"], "svg", "healthy", 0);
    assert_eq!(cpus(&picture, "reserved"), ["0", "48", "24", "72"]);
    assert_eq!(cpus(&picture, "cpu").len(), 96 - 28 - 4, "the shared pool");
    for text in ["reserved 1Gi", "\"res\": reserved CPU, which no container gets for itself"] {
        assert!(picture.contains(&format!(">{text}<")), "no {text:?}");
    }
    assert!(!picture.contains("not known"), "all is known");
    let shared = drawn_with(&["-c", "kubelet-defaults"], "svg", "healthy", 0);
    assert!(cpus(&shared, "reserved").is_empty());
    assert!(shared.contains(">CPU manager policy none: containers share all CPUs, and none is reserved<"));
}
