//! Predictions of the devices of claims.

use dra_model::{
    AllocationMode, AllocationResult, Device, DeviceId, DeviceRequest, DeviceResult, DeviceTaint,
    DeviceTaintSelector, Metadata, NodeSelection, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
    RequestedDevices, ResourceClaimSpec, Selector, TaintEffect,
};
use node_input::told_object;
use pod_spec::PodRules;
use scheduler_extender::topology_admission::node_config::KubeletConfiguration;
use scheduler_extender::topology_admission::topology_model::{KubeletView, MachineInfo};
use serde_json::{Value, json};

use super::*;

const NUMA: &str = "resource.kubernetes.io/numaNode";

/// Two NUMA nodes of four CPUs, of which CPU 0 is reserved, so that four exclusive CPUs are on node 1.
pub(crate) fn machine() -> KubeletNode {
    let info: MachineInfo =
        "pack:2 [numa(memory=8GiB)] core:4 pu:1".parse().unwrap_or_else(|error| panic!("{error:?}"));
    let view = KubeletView::new(&info).unwrap_or_else(|error| panic!("{error}"));
    let config = KubeletConfiguration {
        cpu_manager_policy: Some("static".to_owned()),
        reserved_system_cpus: Some("0".to_owned()),
        topology_manager_policy: Some("single-numa-node".to_owned()),
        ..KubeletConfiguration::default()
    };
    KubeletNode::start(&view, &config).unwrap_or_else(|error| panic!("{error}"))
}

/// A slice of a node with a GPU on each of these NUMA nodes.
pub(crate) fn slice(node: &str, gpus: &[i64]) -> ResourceSlice {
    let devices = gpus.iter().enumerate().map(|(at, numa)| {
        let mut device = Device::new(&format!("gpu-{at}"));
        device.attributes.insert(NUMA.into(), (*numa).into());
        device
    });
    ResourceSlice {
        metadata: Metadata::named(&format!("{node}-gpu")),
        driver: "gpu.example.com".into(),
        pool: dra_model::Pool { name: node.into(), generation: 1, slice_count: 1 },
        nodes: NodeSelection { node_name: Some(node.to_owned()), ..NodeSelection::default() },
        devices: Some(devices.collect()),
        ..ResourceSlice::default()
    }
}

fn spec() -> ResourceClaimSpec {
    let mode = AllocationMode::ExactCount(1);
    let exactly = Some(RequestedDevices { class: "gpu".into(), mode, ..RequestedDevices::default() });
    let request = DeviceRequest { name: "gpu".into(), exactly, ..DeviceRequest::default() };
    ResourceClaimSpec { requests: vec![request], ..ResourceClaimSpec::default() }
}

/// A claim that holds a GPU of a node.
fn holder(name: &str, node: &str, device: &str) -> ClusterObjects {
    let id = DeviceId { driver: "gpu.example.com".into(), pool: node.into(), device: device.into() };
    let result = DeviceResult { request: "gpu".into(), device: id, ..DeviceResult::default() };
    let mut claim = ResourceClaim {
        metadata: Metadata { namespace: "default".to_owned(), ..Metadata::named(name) },
        spec: spec(),
        ..ResourceClaim::default()
    };
    claim.status.allocation = Some(AllocationResult { results: vec![result], ..AllocationResult::default() });
    ClusterObjects { claims: vec![claim], ..ClusterObjects::default() }
}

pub(crate) fn cluster(slices: Vec<ResourceSlice>) -> DevicePredictions {
    let selectors = vec![Selector::cel("device.driver == 'gpu.example.com'")];
    let class = DeviceClass { metadata: Metadata::named("gpu"), selectors, ..DeviceClass::default() };
    let template = ResourceClaimTemplate {
        metadata: Metadata { namespace: "default".to_owned(), ..Metadata::named("t") },
        spec: spec(),
        ..ResourceClaimTemplate::default()
    };
    let mut claims = DevicePredictions::default();
    claims.apply(ClusterObjects {
        slices,
        classes: vec![class],
        templates: vec![template],
        ..ClusterObjects::default()
    });
    for kind in Kind::ALL {
        claims.heard(kind);
    }
    claims
}

/// A pod with a GPU by a template and so many CPUs, as an API server has it.
pub(crate) fn object(name: &str, cpus: usize) -> Value {
    let resources =
        json!({ "limits": { "cpu": cpus.to_string(), "memory": "1Gi" }, "claims": [{ "name": "gpu" }] });
    json!({ "metadata": { "name": name, "namespace": "default", "uid": name },
        "spec": { "resourceClaims": [{ "name": "gpu", "resourceClaimTemplateName": "t" }],
            "containers": [{ "name": "app", "image": "none", "resources": resources }] } })
}

fn pod(name: &str) -> Pod {
    told_object(&object(name, 1), PodRules::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The NUMA nodes that the pod's devices would be on.
fn nodes(claims: &mut DevicePredictions, pod: &Pod, node: &str) -> Option<Vec<i64>> {
    nodes_beside(claims, pod, node, 0)
}

/// The same where device plugins of the node offer so many devices of every resource.
fn nodes_beside(claims: &mut DevicePredictions, pod: &Pod, node: &str, plugins: i64) -> Option<Vec<i64>> {
    let asked = claims.asked(pod)?;
    let on = OnNode { name: node, machine: &machine(), plugin_devices: &|_| plugins };
    let places = claims.places(asked, pod, &on)?;
    Some(places.known.iter().map(|device| device.node).collect())
}

#[test]
fn devices_are_those_that_the_allocator_takes_first_of_what_is_left() {
    let mut claims = cluster(vec![slice("a", &[1, 0]), slice("b", &[0, 1])]);
    assert_eq!(nodes(&mut claims, &pod("p"), "a"), Some(vec![1]));
    assert_eq!(nodes(&mut claims, &pod("p"), "b"), Some(vec![0]));
    claims.apply(holder("h", "a", "gpu-0"));
    assert_eq!(nodes(&mut claims, &pod("p"), "a"), Some(vec![0]));
    claims.apply(holder("i", "a", "gpu-1"));
    assert_eq!(nodes(&mut claims, &pod("p"), "a"), None);
    claims.is_gone(Kind::Claims, "default", "h");
    assert_eq!(nodes(&mut claims, &pod("p"), "a"), Some(vec![1]));
    claims.is_gone(Kind::Slices, "", "b-gpu");
    assert_eq!(nodes(&mut claims, &pod("p"), "b"), None);
}

#[test]
fn a_claim_that_has_its_devices_keeps_them() {
    let mut claims = cluster(vec![slice("a", &[1, 0])]);
    claims.apply(holder("own", "a", "gpu-1"));
    let mut pod = pod("p");
    pod.constraints.claims[0].object = Some(ClaimObject::Claim("own".to_owned()));
    assert_eq!(nodes(&mut claims, &pod, "a"), Some(vec![0]));
    pod.constraints.claims[0].object = Some(ClaimObject::Claim("none".to_owned()));
    assert_eq!(nodes(&mut claims, &pod, "a"), None);
}

#[test]
fn devices_are_searched_for_once_for_each_kind_of_claims_and_change() {
    const NODES: usize = 200;
    let names: Vec<String> = (0..NODES).map(|at| format!("n{at}")).collect();
    let mut claims = cluster(names.iter().map(|name| slice(name, &[1, 0])).collect());
    let machine = machine();
    let searched = |claims: &mut DevicePredictions, pod: &Pod| {
        let before = claims.searches;
        let asked = claims.asked(pod);
        for name in &names {
            let on = OnNode { name, machine: &machine, plugin_devices: &|_| 0 };
            let _ = asked.and_then(|asked| claims.places(asked, pod, &on));
        }
        claims.searches - before
    };
    assert_eq!(searched(&mut claims, &pod("p")), NODES as u64);
    assert_eq!(searched(&mut claims, &pod("q")), 0, "a pod of the same template");
    claims.apply(holder("h", "n7", "gpu-0"));
    assert_eq!(searched(&mut claims, &pod("r")), 1, "only what has changed");
    // An allocation that is heard of again changes nothing.
    claims.apply(holder("h", "n7", "gpu-0"));
    assert_eq!(searched(&mut claims, &pod("s")), 0);
    let mut without = pod("t");
    without.constraints.claims.clear();
    assert_eq!(searched(&mut claims, &without), 0, "a pod without claims");
}

#[test]
fn what_is_not_watched_predicts_nothing() {
    let mut claims = cluster(vec![slice("a", &[1])]);
    claims.heard.remove(&Kind::Claims);
    assert_eq!(nodes(&mut claims, &pod("p"), "a"), None);
    claims.heard(Kind::Claims);
    assert_eq!(nodes(&mut claims, &pod("p"), "a"), Some(vec![1]));
}

/// Slices that select nodes by labels are those of the nodes that have these labels, and unknown where labels are not known.
#[test]
fn slices_select_nodes_by_their_labels() {
    let zone = |zone: &str| BTreeMap::from([("zone".to_owned(), zone.to_owned())]);
    let requirement = NodeSelectorRequirement {
        key: "zone".to_owned(),
        operator: "In".to_owned(),
        values: vec!["north".to_owned()],
    };
    let term = NodeSelectorTerm { labels: vec![requirement], ..NodeSelectorTerm::default() };
    let mut shared = slice("shared", &[0]);
    shared.nodes =
        NodeSelection { node_selector: Some(NodeSelector { terms: vec![term] }), ..NodeSelection::default() };
    let mut claims = cluster(vec![shared]);
    let pod = pod("p");
    assert_eq!(nodes(&mut claims, &pod, "a"), None, "its labels are not known");
    claims.labelled("a", Some(zone("north")));
    claims.labelled("b", Some(zone("south")));
    assert_eq!(nodes(&mut claims, &pod, "a"), Some(vec![0]));
    assert_eq!(nodes(&mut claims, &pod, "b"), None, "it has no devices");
    let before = claims.searches;
    claims.labelled("a", Some(zone("north")));
    assert_eq!(nodes(&mut claims, &pod, "a"), Some(vec![0]));
    assert_eq!(claims.searches, before, "labels that are heard of again change nothing");
    claims.labelled("a", Some(zone("south")));
    assert_eq!(nodes(&mut claims, &pod, "a"), None);
    claims.labelled("b", None);
    assert_eq!(nodes(&mut claims, &pod, "b"), None, "it is gone");
}

/// Devices that a rule taints are not chosen, and come back with its end. Without rules being watched nothing is predicted.
#[test]
fn rules_for_taints_keep_devices_away() {
    let taint = DeviceTaint {
        key: "example.com/broken".to_owned(),
        effect: TaintEffect::NoSchedule,
        ..DeviceTaint::default()
    };
    let selector = DeviceTaintSelector {
        driver: Some("gpu.example.com".into()),
        pool: Some("a".into()),
        device: Some("gpu-0".into()),
    };
    let rule = DeviceTaintRule { metadata: Metadata::named("broken"), selector: Some(selector), taint };
    let mut claims = cluster(vec![slice("a", &[1, 0])]);
    assert_eq!(nodes(&mut claims, &pod("p"), "a"), Some(vec![1]));
    claims.apply(ClusterObjects { taint_rules: vec![rule], ..ClusterObjects::default() });
    assert_eq!(nodes(&mut claims, &pod("p"), "a"), Some(vec![0]));
    claims.is_gone(Kind::TaintRules, "", "broken");
    assert_eq!(nodes(&mut claims, &pod("p"), "a"), Some(vec![1]));
    claims.heard.remove(&Kind::TaintRules);
    assert_eq!(nodes(&mut claims, &pod("p"), "a"), None);
}

/// A class serves an extended resource on the nodes whose device plugins do not.
#[test]
fn a_class_serves_extended_resources_where_no_plugin_does() {
    let mut claims = cluster(vec![slice("a", &[1, 0]), slice("b", &[0, 1])]);
    let resources = json!({ "limits": { "cpu": "1", "memory": "1Gi", "example.com/gpu": "2" } });
    let object = json!({ "metadata": { "name": "p", "namespace": "default", "uid": "p" },
        "spec": { "containers": [{ "name": "app", "image": "none", "resources": resources }] } });
    let pod = told_object(&object, PodRules::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(claims.asked(&pod).is_none(), "no class serves it");
    let selectors = vec![Selector::cel("device.driver == 'gpu.example.com'")];
    let extended_resource = Some("example.com/gpu".to_owned());
    let class = DeviceClass {
        metadata: Metadata::named("gpu"),
        selectors,
        extended_resource,
        ..DeviceClass::default()
    };
    claims.apply(ClusterObjects { classes: vec![class], ..ClusterObjects::default() });
    assert_eq!(nodes(&mut claims, &pod, "a"), Some(vec![1, 0]));
    assert_eq!(nodes_beside(&mut claims, &pod, "a", 4), None, "its plugin serves it");
    assert_eq!(nodes_beside(&mut claims, &pod, "a", 0), Some(vec![1, 0]));
    // On one node of the cluster a plugin serves it, and on another the class.
    assert_eq!(nodes_beside(&mut claims, &pod, "b", 4), None);
    assert_eq!(nodes_beside(&mut claims, &pod, "a", 0), Some(vec![1, 0]));
    assert_eq!(nodes_beside(&mut claims, &pod, "b", 0), Some(vec![0, 1]));
}

/// Devices of a pool with slices of several nodes are chosen once all its slices are there, and not while one is missing.
#[test]
fn a_pool_of_several_nodes_is_whole_with_the_slices_of_all() {
    let shared = |node: &str, numa: i64| {
        let mut slice = slice(node, &[numa]);
        slice.pool = dra_model::Pool { name: "shared".into(), generation: 1, slice_count: 2 };
        slice
            .devices
            .iter_mut()
            .flatten()
            .for_each(|device| device.name = format!("gpu-{node}").as_str().into());
        slice
    };
    let mut claims = cluster(vec![shared("a", 1)]);
    assert_eq!(nodes(&mut claims, &pod("p"), "a"), None, "a slice is missing");
    claims.apply(ClusterObjects { slices: vec![shared("b", 0)], ..ClusterObjects::default() });
    assert_eq!(nodes(&mut claims, &pod("p"), "a"), Some(vec![1]));
    assert_eq!(nodes(&mut claims, &pod("p"), "b"), Some(vec![0]));
    claims.is_gone(Kind::Slices, "", "b-gpu");
    assert_eq!(nodes(&mut claims, &pod("p"), "a"), None);
}
