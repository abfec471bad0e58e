//! All metrics by name and type, as they are exported.

use crate::support;
use std::collections::BTreeSet;

use crate::support::plugin::{Plugin, Script, device, register, request};
use crate::support::{Folder, Node, exported};
use device_manager::{Question, Reply};
use device_plugin::PodResourcesClient;

#[test]
fn names_and_types_are_the_kubelets() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let path = folder.folders().device_plugins.join("p.sock");
    let _plugin = Plugin::listen(&path, Script::default(), vec![device("d", &[])]);
    let waiting = std::thread::spawn({
        let kubelet = folder.kubelet_socket();
        move || register(&kubelet, request("p.sock", "vendor.io/x"))
    });
    node.until("it has listed", |inventory| inventory.is_registered(&"vendor.io/x".into()));
    waiting.join().unwrap().unwrap();
    let devices = ["d".into()].into();
    let reply = node.server.ask(&Question::Allocate { resource: "vendor.io/x".into(), devices });
    assert!(matches!(reply, Reply::Allocated(_)));
    let mut client = PodResourcesClient::connect(&folder.pod_resources_socket(), support::PATIENCE).unwrap();
    client.list().unwrap();
    client.allocatable().unwrap();
    client.get("default", "nobody").unwrap_err();
    drop(std::os::unix::net::UnixListener::bind(folder.folders().plugins_registry.join("x.sock")).unwrap());
    while !exported(&node).contains("plugin_manager") {
        std::thread::yield_now();
    }
    let text = exported(&node);
    let types: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    assert_eq!(
        types,
        [
            // What is a counter is exported with `_total`, as the kubelet names it.
            "kubelet_device_plugin_registration counter",
            "kubelet_device_plugin_alloc_duration_seconds histogram",
            "kubelet_pod_resources_endpoint_requests counter",
            // Counters whose names do not end in `_total`.
            "kubelet_pod_resources_endpoint_requests_list unknown",
            "kubelet_pod_resources_endpoint_requests_get_allocatable unknown",
            "kubelet_pod_resources_endpoint_requests_get unknown",
            "kubelet_pod_resources_endpoint_errors_get unknown",
            "plugin_manager_total_plugins gauge",
        ]
    );
    let samples: BTreeSet<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(['{', ' ']).next().unwrap())
        .collect();
    let expected = [
        "kubelet_device_plugin_alloc_duration_seconds_bucket",
        "kubelet_device_plugin_alloc_duration_seconds_count",
        "kubelet_device_plugin_alloc_duration_seconds_sum",
        "kubelet_device_plugin_registration_total",
        "kubelet_pod_resources_endpoint_errors_get",
        "kubelet_pod_resources_endpoint_requests_get",
        "kubelet_pod_resources_endpoint_requests_get_allocatable",
        "kubelet_pod_resources_endpoint_requests_list",
        "kubelet_pod_resources_endpoint_requests_total",
        "plugin_manager_total_plugins",
    ];
    assert_eq!(samples, BTreeSet::from(expected));
    let bounds: Vec<&str> =
        text.lines().filter_map(|line| line.split("le=\"").nth(1)?.split('"').next()).collect();
    let kubelets =
        ["0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "2.5", "5.0", "10.0", "+Inf"];
    assert_eq!(bounds, kubelets);
}

#[test]
fn registrations_are_counted_before_they_are_checked_but_not_under_endless_names() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let path = folder.folders().device_plugins.join("p.sock");
    let _plugin = Plugin::listen(&path, Script::default(), Vec::new());
    let odd = "no \"domain\"";
    for _ in 0..2 {
        register(&folder.kubelet_socket(), request("p.sock", odd)).unwrap_err();
    }
    let long = "x".repeat(100_000);
    register(&folder.kubelet_socket(), request("p.sock", &long)).unwrap_err();
    let text = exported(&node);
    let counted = "kubelet_device_plugin_registration_total{resource_name=\"no \\\"domain\\\"\"} 2";
    assert!(text.contains(counted), "{text}");
    assert!(text.len() < 10_000, "a name is cut: {}", text.len());
    let told = node.settle();
    assert!(told.iter().all(|event| event.starts_with("not registered ")), "{told:?}");
    assert_eq!(told.len(), 3);
    assert!(told.iter().all(|event| event.len() < 2000), "a name is cut there too");
}
