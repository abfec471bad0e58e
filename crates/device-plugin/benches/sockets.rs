//! What the sockets cost: a plugin's `Allocate` of eight devices, there and back, and `List` of 500 pods.
//!
//! Both times are of whole calls over a socket, with the other end in this process too; our own share is less. An
//! idle core must do the first in 150 µs and the second in 5 ms.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a bench")]

#[path = "../tests/all/support/mod.rs"]
mod support;

use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use device_manager::{DeviceEntry, Question, Reply};
use device_plugin::{
    Amounts, ContainerEntry, PodEntry, PodResources, PodResourcesQuery, PodResourcesSnapshot,
};
use pod_spec::ContainerName;
use support::plugin::{Plugin, Script, channel, device, register, request, runtime};
use support::{Folder, Node};
use topology_model::NodeId;

fn allocate(criterion: &mut Criterion) {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let path = folder.folders().device_plugins.join("gpu.sock");
    let names: Vec<String> = (0..64).map(|at| format!("gpu-{at:04}")).collect();
    let devices = names.iter().map(|name| device(name, &[0])).collect();
    let _plugin = Plugin::listen(&path, Script::default(), devices);
    let waiting = std::thread::spawn({
        let kubelet = folder.kubelet_socket();
        move || register(&kubelet, request("gpu.sock", "vendor.io/gpu"))
    });
    node.until("it has listed", |inventory| inventory.is_registered(&"vendor.io/gpu".into()));
    waiting.join().unwrap().unwrap();
    let devices = names.iter().take(8).map(|name| name.as_str().into()).collect();
    let question = Question::Allocate { resource: "vendor.io/gpu".into(), devices };
    criterion.bench_function("allocate of 8 devices, plugin included", |bencher| {
        bencher.iter(|| assert!(matches!(node.server.ask(&question), Reply::Allocated(_))));
    });
}

/// 500 pods with a container each that has 16 CPUs and 4 devices.
fn snapshot() -> PodResourcesSnapshot {
    let pod = |at: usize| {
        let devices = (0..4).map(|device| DeviceEntry {
            resource: "vendor.io/gpu".into(),
            device: format!("gpu-{at}-{device}").as_str().into(),
            node: Some(NodeId(0)),
        });
        let amounts =
            Amounts { cpus: "0-15".parse().unwrap(), memory: Vec::new(), devices: devices.collect() };
        let container = ContainerEntry { name: ContainerName::new("app"), amounts, claims: Vec::new() };
        PodEntry {
            name: format!("pod-{at}"),
            namespace: "default".to_owned(),
            containers: vec![container],
            whole: Amounts::default(),
        }
    };
    PodResourcesSnapshot { pods: (0..500).map(pod).collect(), allocatable: Amounts::default() }
}

fn list(criterion: &mut Criterion) {
    use device_plugin::proto::podresources as messages;
    let snapshot = snapshot();
    // The service answers a hundred questions a second; what it does for one is this, and a call over a socket.
    criterion.bench_function("answer to List, 500 pods", |bencher| {
        bencher.iter(|| {
            let pod_resources: Vec<messages::PodResources> = snapshot.pods.iter().map(Into::into).collect();
            prost::Message::encode_to_vec(&messages::ListPodResourcesResponse { pod_resources })
        });
    });
    let folder = Folder::new();
    let node = Node::start(&folder);
    *node.told.0.lock().unwrap() = Arc::new(snapshot);
    assert_eq!(node.told.snapshot(PodResourcesQuery::List).pods.len(), 500);
    let runtime = runtime();
    let channel = runtime.block_on(channel(&folder.pod_resources_socket()));
    let client = messages::pod_resources_lister_client::PodResourcesListerClient::new(channel);
    criterion.bench_function("List over the socket, 500 pods", |bencher| {
        bencher.iter_custom(|count| {
            let mut took = std::time::Duration::ZERO;
            for _ in 0..count {
                // Not faster than is granted.
                std::thread::sleep(std::time::Duration::from_millis(11));
                let began = std::time::Instant::now();
                let mut client = client.clone();
                let told = runtime.block_on(client.list(messages::ListPodResourcesRequest {})).unwrap();
                took += began.elapsed();
                assert_eq!(told.into_inner().pod_resources.len(), 500);
            }
            took
        });
    });
}

criterion_group! {
    name = sockets;
    config = Criterion::default().sample_size(20);
    targets = allocate, list
}
criterion_main!(sockets);
