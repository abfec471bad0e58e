//! Ledgers that decide alike with different holders, and ledgers without what only their node needs.

use crate::fixture;
use std::hash::{DefaultHasher, Hasher as _};

use device_manager::{Device, Inventory};
use node_config::OwnOptions;
use pod_spec::{HostPort, Pod};
use topology_admission::{Compat, Ledger, Node, Verdict};

use crate::fixture::Asked;

const MACHINE: &str = "pack:2 [numa(memory=32GiB)] core:4 pu:2";

fn node() -> Node {
    let info = fixture::machine(MACHINE, 8);
    let config = fixture::config(&info, "best-effort", "container", 2);
    fixture::node(&info, &config, Compat::default(), OwnOptions::default())
}

fn admit(node: &Node, ledger: &Ledger, pod: &Pod) -> Ledger {
    let attempt = node.admission(ledger, pod).attempt();
    assert!(matches!(attempt.verdict, Verdict::Admitted(_)), "{}: {:?}", pod.name, attempt.verdict);
    ledger.commit(attempt).unwrap()
}

/// The ledger after these pods, some of which leave again.
fn after(node: &Node, pods: &[(&str, Asked)], leaving: &[&str]) -> Ledger {
    let mut ledger = node.empty_ledger().with_inventory(fixture::inventory(node, 8));
    for (name, asked) in pods {
        ledger = admit(node, &ledger, &fixture::pod(name, &[*asked]));
    }
    leaving.iter().fold(ledger, |ledger, name| ledger.release(&fixture::pod(name, &[]).uid))
}

fn asked(cpus: u64, memory: u64, vfs: u64) -> Asked {
    Asked { cpus, memory, vfs, ..Asked::default() }
}

fn hash(ledger: &Ledger) -> u64 {
    let mut hasher = DefaultHasher::new();
    ledger.hash_state(&mut hasher);
    hasher.finish()
}

#[test]
fn names_do_not_matter_and_everything_that_is_held_does() {
    let node = node();
    let (small, large) = (asked(2, 1024, 0), asked(4, 2048, 1));
    let of = |pods: &[(&str, Asked)], leaving: &[&str]| after(&node, pods, leaving);
    let base = of(&[("a", small), ("b", large)], &[]);
    let same = of(&[("z", small), ("y", large)], &[]);
    assert!(base.decides_like(&same, &node));
    assert_eq!(hash(&base), hash(&same));
    assert!(base.decides_like(&base.lean(), &node), "what is left out does not decide");
    for (what, other) in [
        ("other CPUs", of(&[("c", small), ("a", small), ("b", large)], &["c"])),
        ("one pod more", of(&[("a", small), ("b", large), ("c", asked(0, 0, 0))], &[])),
        ("less memory", of(&[("a", small), ("b", asked(4, 1024, 1))], &[])),
        ("a device more", of(&[("a", small), ("b", asked(4, 2048, 2))], &[])),
    ] {
        assert!(!base.decides_like(&other, &node), "{what}");
        assert!(!other.decides_like(&base, &node), "{what}");
    }
}

#[test]
fn equal_sums_in_other_places_are_not_alike() {
    let node = node();
    // Memory of pods that share CPUs: in sum the same, on both NUMA nodes and on the first alone.
    let shared = |name: &str, gibibytes: u64| {
        let mut pod = fixture::pod(name, &[asked(1, gibibytes << 10, 0)]);
        for container in &mut pod.containers {
            for list in [&mut container.requests, &mut container.limits] {
                list.insert("cpu".into(), "500m".parse().unwrap());
            }
        }
        pod
    };
    let of = |pods: &[Pod]| pods.iter().fold(node.empty_ledger(), |ledger, pod| admit(&node, &ledger, pod));
    let (a, b, c) = (shared("a", 12), shared("b", 12), shared("c", 8));
    let first = of(&[a.clone(), b.clone(), c.clone()]).release(&a.uid);
    let second = of(&[b, c]);
    assert_eq!(first.pods().count(), second.pods().count());
    assert!(!first.decides_like(&second, &node), "{:?} {:?}", first.memory(), second.memory());

    // As many CPUs, and others.
    let first = after(&node, &[("a", asked(2, 1024, 0)), ("b", asked(2, 1024, 0))], &["a"]);
    let second = after(&node, &[("b", asked(2, 1024, 0))], &[]);
    assert!(!first.decides_like(&second, &node), "{:?}", first.cpus());

    // The same number of devices, and others.
    let (vf, none) = (asked(0, 0, 1), asked(0, 0, 0));
    let first = after(&node, &[("a", vf), ("b", vf), ("c", none)], &["a"]);
    let second = after(&node, &[("b", vf), ("c", none)], &[]);
    assert!(!first.decides_like(&second, &node), "{:?}", first.devices());

    // Other devices altogether.
    let inventory = Inventory::new(node.nodes().clone()).with("example.com/other", [Device::new("x", &[0])]);
    let empty = node.empty_ledger();
    assert!(!empty.decides_like(&empty.with_inventory(inventory), &node));
}

#[test]
fn ports_of_the_node_are_compared() {
    let node = node();
    let pod = |name: &str, ports: &[u16]| {
        let mut pod = fixture::pod(name, &[asked(0, 0, 0)]);
        let port = |port: &u16| HostPort { address: "0.0.0.0".into(), protocol: "TCP".into(), port: *port };
        pod.constraints.host_ports = ports.iter().map(port).collect();
        pod
    };
    let of = |pods: &[Pod]| pods.iter().fold(node.empty_ledger(), |ledger, pod| admit(&node, &ledger, pod));
    let base = of(&[pod("a", &[80]), pod("b", &[443])]);
    assert!(base.decides_like(&of(&[pod("y", &[443]), pod("z", &[80])]), &node));
    assert!(!base.decides_like(&of(&[pod("a", &[80]), pod("b", &[444])]), &node));
    assert!(base.decides_like(&base.lean(), &node));
}

#[test]
fn what_dead_pods_hold_is_collected_before_ledgers_are_compared() {
    let node = node();
    let (a, b) = (fixture::pod("a", &[asked(2, 1024, 0)]), fixture::pod("b", &[asked(2, 1024, 0)]));
    let running = admit(&node, &node.empty_ledger(), &a);
    let ended = running.end(&a.uid);
    assert!(!ended.decides_like(&node.empty_ledger(), &node));
    assert!(ended.collect().decides_like(&node.empty_ledger(), &node));
    assert!(ended.lean().decides_like(&node.empty_ledger(), &node));
    assert!(admit(&node, &ended.lean(), &b).decides_like(&running, &node));
    // A pod that is left out in detail is still released as a whole.
    assert!(running.lean().release(&a.uid).decides_like(&node.empty_ledger(), &node));
}
