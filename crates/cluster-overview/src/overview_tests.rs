//! Nodes of a cluster as an API server lists them.

use serde_json::{Value, json};
use terminal_text::{Glyphs, Page};

use jiff::Timestamp;

use crate::{ClusterObjects, ClusterOverview, Detail, RowOrder};

const NOW: &str = "2026-11-30T12:00:00Z";

fn node(name: &str, ready: &str) -> Value {
    json!({"metadata": {"name": name}, "status": {"conditions": [
        {"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": ready},
    ]}})
}

fn topology(name: &str, free: [&str; 2]) -> Value {
    let zone = |(at, free): (usize, &&str)| {
        json!({"name": format!("node-{at}"), "type": "Node", "resources": [
            {"name": "cpu", "capacity": "16", "allocatable": "16", "available": free},
            {"name": "memory", "capacity": "64Gi", "allocatable": "64Gi", "available": "32Gi"},
        ]})
    };
    let zones: Vec<Value> = free.iter().enumerate().map(zone).collect();
    json!({"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology", "metadata": {"name": name},
        "topologyPolicies": ["SingleNUMANodeContainerLevel"], "zones": zones})
}

/// A pod with exclusive CPUs, made so many minutes ago.
fn pod(name: &str, cpus: &str, minutes: i64, node: &str, status: &Value) -> Value {
    let now: Timestamp = NOW.parse().unwrap();
    let created = now - jiff::SignedDuration::from_mins(minutes);
    let limits = json!({"cpu": cpus, "memory": "1Gi"});
    let mut spec = json!({"containers": [{"name": "app", "image": "i",
        "resources": {"limits": limits, "requests": limits}}]});
    if !node.is_empty() {
        spec["nodeName"] = node.into();
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ran", "uid": name,
        "creationTimestamp": created.to_string()}, "spec": spec, "status": status})
}

fn refused(minutes: i64) -> Value {
    let now: Timestamp = NOW.parse().unwrap();
    let at = now - jiff::SignedDuration::from_mins(minutes);
    json!({"phase": "Failed", "reason": "TopologyAffinityError", "startTime": at.to_string(),
        "message": "Pod was rejected: Resources cannot be allocated with Topology locality"})
}

fn overview(pods: Result<Vec<Value>, String>) -> ClusterOverview {
    let objects = ClusterObjects {
        nodes: vec![node("a", "True"), node("b", "Unknown"), node("c", "True")],
        states: Ok(Vec::new()),
        topologies: Ok(vec![topology("a", ["12", "4"]), topology("b", ["2", "3"])]),
        pods,
    };
    ClusterOverview::new(&objects, NOW.parse().unwrap())
}

#[test]
fn each_node_has_a_row_with_what_is_free_and_what_fits() {
    let running = || json!({"phase": "Running"});
    let pods = vec![
        pod("wide", "8", 60, "a", &running()),
        pod("small-1", "2", 60, "b", &running()),
        pod("small-2", "2", 90, "", &json!({"phase": "Pending"})),
        pod("old", "16", 26 * 60, "a", &running()),
        pod("no", "8", 30, "b", &refused(30)),
        pod("no-longer", "8", 120, "b", &refused(120)),
    ];
    let all = overview(Ok(pods));
    let page = Page::endless(Glyphs::Ascii);
    let expected = "\
NODE  FREE CPUS  FREE MEMORY  LARGEST THAT FITS      REFUSED  CONDITIONS
a     12 4       32Gi 32Gi    ~ 8 CPUs, 1Gi memory   -        -
b     2 3        32Gi 32Gi    ~ 2 CPUs, 1Gi memory   1        NotReady
c     ?          ?            ?                      -        -

~ of 2 nodes: by amounts that are published, which is not the kubelet's answer
? of 1 node: nothing is published of it
";
    assert_eq!(
        all.text(Detail::Brief, page).split_whitespace().collect::<Vec<_>>(),
        expected.split_whitespace().collect::<Vec<_>>()
    );
    let asked: Vec<(&str, usize, usize)> =
        all.asked.iter().map(|asked| (asked.asks.as_str(), asked.pods, asked.fits_nodes)).collect();
    assert_eq!(asked, [("8 CPUs, 1Gi memory", 3, 1), ("2 CPUs, 1Gi memory", 2, 2)]);
}

#[test]
fn what_may_not_be_listed_is_said() {
    let all = overview(Err("the right to list pods is missing".to_owned()));
    let text = all.text(Detail::Brief, Page::endless(Glyphs::Ascii));
    assert!(text.contains("not seen: pods: the right to list pods is missing"), "{text}");
    assert!(!text.contains("LARGEST"), "{text}");
    let row = text.lines().find(|line| line.starts_with('a')).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>(),
        ["a", "12", "4", "32Gi", "32Gi", "?", "-"],
        "{text}"
    );
}

#[test]
fn rows_are_sorted_by_what_is_wanted() {
    let mut all = overview(Ok(vec![pod("no", "8", 30, "b", &refused(30))]));
    let mut names = |order| {
        all.sort(order);
        all.nodes.iter().map(|row| row.node.clone()).collect::<Vec<_>>().concat()
    };
    assert_eq!(
        [RowOrder::Refused, RowOrder::Name, RowOrder::Cpu].map(&mut names),
        ["bac", "abc", "abc"].map(str::to_owned)
    );
}
