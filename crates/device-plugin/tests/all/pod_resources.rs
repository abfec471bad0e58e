//! The pod resources service over its socket.

use crate::support;
use std::sync::Arc;
use std::time::Duration;

use crate::support::{Folder, Node, exported};
use device_manager::{DeviceEntry, RpcCode};
use device_plugin::proto::podresources_v1alpha1::pod_resources_lister_client::PodResourcesListerClient as V1Alpha1Client;
use device_plugin::proto::podresources_v1alpha1::{ListPodResourcesRequest, ListPodResourcesResponse};
use device_plugin::{
    Amounts, ClaimEntry, ClaimedEntry, ClientError, ContainerEntry, MemoryEntry, PodEntry,
    PodResourcesClient, PodResourcesSnapshot, Questions, Setup,
};
use pod_spec::ContainerName;
use topology_model::NodeId;

fn amounts() -> Amounts {
    let device = |id: &str, node: Option<i64>| DeviceEntry {
        resource: "vendor.io/gpu".into(),
        device: id.into(),
        node: node.map(NodeId),
    };
    Amounts {
        cpus: "2-3,8".parse().unwrap(),
        memory: vec![MemoryEntry {
            kind: "hugepages-1Gi".into(),
            size: 1 << 30,
            nodes: vec![NodeId(0), NodeId(1)],
        }],
        devices: vec![device("gpu-0", Some(0)), device("gpu-0", Some(1)), device("gpu-1", None)],
    }
}

fn pod(name: &str, containers: Vec<ContainerEntry>) -> PodEntry {
    PodEntry { name: name.to_owned(), namespace: "ran".to_owned(), containers, whole: Amounts::default() }
}

fn snapshot() -> PodResourcesSnapshot {
    let gpu =
        ClaimedEntry { driver: "gpu.example.com".into(), pool: "worker-1".into(), device: "gpu-0".into() };
    let claims =
        vec![ClaimEntry { namespace: "ran".into(), name: "dpdk-gpu-x7k2p".into(), devices: vec![gpu] }];
    let app = ContainerEntry { name: ContainerName::new("app"), amounts: amounts(), claims };
    let idle =
        ContainerEntry { name: ContainerName::new("idle"), amounts: Amounts::default(), claims: Vec::new() };
    PodResourcesSnapshot {
        pods: vec![pod("dpdk", vec![app, idle]), pod("bare", Vec::new())],
        allocatable: amounts(),
    }
}

fn connect(folder: &Folder) -> PodResourcesClient {
    PodResourcesClient::connect(&folder.pod_resources_socket(), support::PATIENCE).unwrap()
}

#[test]
fn what_pods_hold_is_told_and_counted() {
    let folder = Folder::new();
    let node = Node::start(&folder);
    *node.told.0.lock().unwrap() = Arc::new(snapshot());
    let mut client = connect(&folder);
    assert_eq!(client.list().unwrap(), snapshot().pods);
    assert_eq!(client.allocatable().unwrap(), snapshot().allocatable);
    assert_eq!(client.get("ran", "dpdk").unwrap().as_ref(), Some(&snapshot().pods[0]));
    for (namespace, name) in [("default", "dpdk"), ("ran", "gone")] {
        let Err(ClientError::Failed(error)) = client.get(namespace, name) else { panic!("it is not there") };
        assert_eq!(error.code, RpcCode(2));
        assert_eq!(error.message, format!("pod {name} in namespace {namespace} not found"));
    }
    let exported = exported(&node);
    for (metric, count) in [
        ("requests_total", 5),
        ("requests_list", 1),
        ("requests_get_allocatable", 1),
        ("requests_get", 3),
        ("errors_get", 2),
    ] {
        let line =
            format!("\nkubelet_pod_resources_endpoint_{metric}{{server_api_version=\"v1\"}} {count}\n");
        assert!(exported.contains(&line), "{line} in {exported}");
    }
}

/// What `v1alpha1` answers, or its error.
fn list_v1alpha1(folder: &Folder, times: usize) -> Vec<Result<ListPodResourcesResponse, String>> {
    support::plugin::runtime().block_on(async {
        let channel = support::plugin::channel(&folder.pod_resources_socket()).await;
        let mut client = V1Alpha1Client::new(channel);
        let mut answers = Vec::new();
        for _ in 0..times {
            let answer = client.list(ListPodResourcesRequest {}).await;
            answers
                .push(answer.map(tonic::Response::into_inner).map_err(|status| status.message().to_owned()));
        }
        answers
    })
}

#[test]
fn clients_of_v1alpha1_are_told_the_devices_of_all_pods_on_the_same_socket() {
    let folder = Folder::new();
    let node = Node::start(&folder);
    *node.told.0.lock().unwrap() = Arc::new(snapshot());
    let told = list_v1alpha1(&folder, 1).remove(0).unwrap();
    let pods: Vec<(&str, &str, usize)> = told
        .pod_resources
        .iter()
        .map(|pod| (pod.namespace.as_str(), pod.name.as_str(), pod.containers.len()))
        .collect();
    assert_eq!(pods, [("ran", "dpdk", 2), ("ran", "bare", 0)]);
    let app = &told.pod_resources[0].containers[0];
    let devices: Vec<(&str, &[String])> =
        app.devices.iter().map(|of| (of.resource_name.as_str(), of.device_ids.as_slice())).collect();
    // One entry for each device and node, as in v1.
    let (first, last) = (["gpu-0".to_owned()], ["gpu-1".to_owned()]);
    let gpu = "vendor.io/gpu";
    assert_eq!(devices, [(gpu, &first[..]), (gpu, &first[..]), (gpu, &last[..])]);
    assert!(told.pod_resources[0].containers[1].devices.is_empty());
    let exported = exported(&node);
    let all = "\nkubelet_pod_resources_endpoint_requests_total{server_api_version=\"v1alpha1\"} 1\n";
    assert!(exported.contains(all), "{exported}");
    assert!(!exported.contains("requests_list{"), "the kubelet counts those of v1 only: {exported}");
}

#[test]
fn both_versions_take_their_questions_from_one_bucket() {
    let folder = Folder::new();
    let _node = Node::start(&folder);
    let began = std::time::Instant::now();
    let mut client = connect(&folder);
    let mut served = (0..100).filter(|_| client.list().is_ok()).count();
    let others = list_v1alpha1(&folder, 100);
    assert!(
        others.iter().filter_map(|answer| answer.as_ref().err()).all(|text| text == "rejected by rate limit")
    );
    served += others.iter().filter(|answer| answer.is_ok()).count();
    let granted = 10.0 + 100.0 * began.elapsed().as_secs_f64();
    assert!(f64::from(u32::try_from(served).unwrap()) <= granted, "{served} served, {granted} granted");
}

#[test]
fn more_than_ten_questions_at_once_are_too_many() {
    let folder = Folder::new();
    let _node = Node::start(&folder);
    let mut client = connect(&folder);
    let began = std::time::Instant::now();
    let refused: Vec<String> =
        (0..200).filter_map(|_| client.list().err()).map(|error| error.to_string()).collect();
    let text = "rpc error: code = ResourceExhausted desc = rejected by rate limit";
    assert!(refused.iter().all(|error| error == text), "{refused:?}");
    // However slow this is: ten, and those that have come back meanwhile.
    let granted = 10.0 + 100.0 * began.elapsed().as_secs_f64();
    let served = 200 - u32::try_from(refused.len()).unwrap();
    println!("{served} served of 200, {granted:.0} granted");
    assert!(f64::from(served) <= granted, "{served} served, {granted} granted");
}

#[test]
fn all_questions_are_answered_where_they_are_not_rated() {
    let folder = Folder::new();
    let _node = Node::with(&Setup { questions: Questions::All, ..support::setup(&folder) }).unwrap();
    let mut client = connect(&folder);
    assert!((0..200).all(|_| client.list().is_ok()));
}

#[test]
fn a_socket_that_nobody_serves_is_named() {
    let folder = Folder::new();
    let socket = folder.path().join("nobody.sock");
    let error = PodResourcesClient::connect(&socket, Duration::from_secs(1)).unwrap_err();
    assert_eq!(error.to_string(), format!("no server answers at {}", socket.display()));
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let error = PodResourcesClient::connect(&socket, Duration::from_millis(50)).unwrap_err();
    assert!(matches!(error, ClientError::NotServed(_)), "{error}");
}
