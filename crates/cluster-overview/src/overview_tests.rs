//! Nodes of a cluster as an API server lists them.

use serde_json::{Value, json};
use terminal_text::{Glyphs, Page};

use jiff::Timestamp;
use node_input::{
    LoadedNode, MachineSource, NodeDescription, NodeHoldings, NodeState, PINNED, RulesSource, told_object,
};

use crate::{ClusterObjects, ClusterOverview, Detail, RecentPods, RowBasis, RowOrder};

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

fn recent(pods: &[Value]) -> RecentPods {
    let mut recent = RecentPods::default();
    for pod in pods {
        recent.add(pod, NOW.parse().unwrap());
    }
    recent
}

fn overview(pods: Result<Vec<Value>, String>) -> ClusterOverview {
    let objects = ClusterObjects {
        nodes: vec![node("a", "True"), node("b", "Unknown"), node("c", "True")],
        states: Ok(Vec::new()),
        topologies: Ok(vec![topology("a", ["12", "4"]), topology("b", ["2", "3"])]),
        pods: pods.map(|pods| recent(&pods)),
    };
    ClusterOverview::new(&objects)
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

/// The state of a node with 46 CPUs for containers on each of two NUMA nodes, on which a pod of 40 runs.
fn state(name: &str) -> Value {
    let machine = MachineSource::named("xeon-2s-96cpu-sriov");
    let rules = RulesSource {
        config: Some(PINNED.to_owned()),
        policy: Some("single-numa-node".to_owned()),
        ..RulesSource::default()
    };
    let loaded = LoadedNode::load(&machine, &rules).unwrap();
    let mut pod =
        told_object(&pod("held", "40", 60, name, &json!({"phase": "Running"})), loaded.node.pod_rules());
    let pod = pod.as_mut().map(|pod| pod.clone().delivered()).unwrap();
    let ledger = loaded.empty_ledger();
    let ledger = ledger.commit(loaded.node.admission(&ledger, &pod).attempt()).unwrap();
    let holdings = NodeHoldings::of(&loaded.node, &ledger, Vec::new());
    serde_json::to_value(NodeState::new(name, NodeDescription::of(&loaded), holdings)).unwrap()
}

#[test]
fn a_node_whose_agent_publishes_its_state_is_known_exactly() {
    let asked = |name: &str, cpus: &str| pod(name, cpus, 10, "", &json!({"phase": "Pending"}));
    let mut broken = state("c");
    broken["node"]["machine"] = json!({});
    let objects = ClusterObjects {
        nodes: vec![node("a", "True"), node("b", "True"), node("c", "True")],
        states: Ok(vec![state("a"), state("b"), broken]),
        // What another program publishes of such a node does not count.
        topologies: Ok(vec![topology("a", ["1", "1"])]),
        pods: Ok(recent(&[asked("wide", "46"), asked("small", "6"), asked("none", "60")])),
    };
    let all = ClusterOverview::new(&objects);
    let found: Vec<_> =
        all.nodes.iter().map(|row| (row.node.as_str(), row.basis, row.fits.as_slice())).collect();
    // 46 CPUs are whole on the other NUMA node, and 60 are on none.
    assert_eq!(
        found,
        [("a", RowBasis::Exact, &[1, 2][..]), ("b", RowBasis::Exact, &[1, 2]), ("c", RowBasis::Unknown, &[])]
    );
    let cpus = all.nodes[0].free.iter().find(|free| free.resource == "cpu").unwrap();
    let free: Vec<_> = cpus.numa.iter().map(|cell| (cell.node, cell.free, cell.allocatable)).collect();
    assert_eq!(free, [(0, 6, 46), (1, 46, 46)]);
    assert!(
        all.not_seen.iter().any(|gap| gap.starts_with("the NodeState of c cannot be read")),
        "{:?}",
        all.not_seen
    );
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

#[test]
fn a_thousand_kinds_of_requests_are_counted_and_no_more() {
    let kind = |cpus: i64| pod("kind", &cpus.to_string(), 10, "", &json!({"phase": "Pending"}));
    let pods: Vec<Value> = (1..=1002).chain(1..=2).map(kind).collect();
    let all = overview(Ok(pods));
    let most = &all.asked[..];
    assert_eq!(most.len(), 20);
    assert!(most.iter().any(|asked| asked.asks.starts_with("1 CPU,") && asked.pods == 2), "{most:?}");
    assert!(
        all.not_seen.iter().any(|gap| gap.starts_with("2 pods beyond the first thousand")),
        "{:?}",
        all.not_seen
    );
}

#[test]
fn a_table_fits_its_page() {
    let long = "ip-10-0-143-27.eu-central-1.compute.internal";
    let pods = vec![
        pod("wide", "46", 60, "worker-1", &json!({"phase": "Running"})),
        pod("small", "2", 60, "", &json!({"phase": "Pending"})),
        pod("no", "8", 30, long, &refused(30)),
    ];
    let objects = ClusterObjects {
        nodes: vec![node("worker-1", "True"), node(long, "Unknown"), node("worker-2", "True")],
        states: Ok(vec![state("worker-1")]),
        topologies: Ok(vec![topology(long, ["12", "4"])]),
        pods: Ok(recent(&pods)),
    };
    let all = ClusterOverview::new(&objects);
    for width in [80, 120, 200] {
        let page = Page { glyphs: Glyphs::Unicode, width: Some(width) };
        for detail in [Detail::Brief, Detail::Wide] {
            let text = all.text(detail, page);
            println!("{text}");
            let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > width).collect();
            assert!(wide.is_empty(), "{width}: {wide:?}\n{text}");
        }
    }
}
