//! The daemon by the rules of 1.37.

use std::fs;
use std::time::Duration;

use crate::daemon::{Daemon, Folder};
use device_plugin::{PodEntry, PodResourcesClient};

const CONFIG: &str = "\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
memoryManagerPolicy: Static
topologyManagerPolicy: single-numa-node
topologyManagerScope: pod
reservedSystemCPUs: \"0\"
systemReserved: {memory: 924Mi}
reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]
featureGates: {PodLevelResourceManagers: true, PodLevelResources: true}
";

/// A pod of 6 CPUs and 4Gi, of which one container has 2 exclusive CPUs and 1Gi and the other shares the rest.
const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: whole}
spec:
  resources: {requests: {cpu: 6, memory: 4Gi}, limits: {cpu: 6, memory: 4Gi}}
  containers:
  - {name: own, image: i, resources: {requests: {cpu: 2, memory: 1Gi}, limits: {cpu: 2, memory: 1Gi}}}
  - {name: shares, image: i}
";

/// What the pod resources service and the metrics say of that pod.
fn told(release: &str) -> (PodEntry, Vec<String>) {
    let (root, config) = (Folder::new(), Folder::new());
    let file = config.path().join("config.yaml");
    fs::write(&file, CONFIG).unwrap();
    let daemon = Daemon::with_options(root.path(), file.to_str().unwrap(), &["--kubelet", release]);
    let answer = daemon.ask("POST", "/v1/pods", POD);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let socket = root.path().join("pod-resources/kubelet.sock");
    let mut client = PodResourcesClient::connect(&socket, Duration::from_secs(30)).unwrap();
    let pod = client.get("default", "whole").unwrap().unwrap();
    let text = daemon.get("/metrics").body;
    let named = text.lines().filter(|line| !line.starts_with('#') && line.contains("resource_manager_"));
    let mut names: Vec<String> =
        named.map(|line| line.split(['{', ' ']).next().unwrap().to_owned()).collect();
    names.dedup();
    (pod, names)
}

fn cpus(pod: &PodEntry) -> Vec<(String, usize, usize)> {
    let each = pod.containers.iter();
    each.map(|it| (it.name.to_string(), it.amounts.cpus.len(), it.amounts.memory.len())).collect()
}

#[test]
fn a_pod_that_is_served_as_a_whole_is_told_as_the_release_tells_it() {
    let (before, names) = told("1.36");
    assert!(before.whole.cpus.is_empty() && before.whole.memory.is_empty());
    assert_eq!(
        cpus(&before),
        [("own".to_owned(), 2, 1), ("shares".to_owned(), 4, 1)],
        "shared CPUs are told too"
    );
    assert!(names.iter().all(|name| name.starts_with("resource_manager_")), "{names:?}");
    assert!(names.contains(&"resource_manager_container_assignments".to_owned()), "{names:?}");

    let (after, names) = told("1.37");
    assert_eq!(after.whole.cpus.len(), 6);
    assert_eq!(after.whole.memory.iter().map(|block| block.size).sum::<u64>(), 4 << 30);
    assert_eq!(
        cpus(&after),
        [("own".to_owned(), 2, 1), ("shares".to_owned(), 0, 0)],
        "what is shared is the pod's"
    );
    assert!(names.iter().all(|name| name.starts_with("kubelet_resource_manager_")), "{names:?}");
    assert!(names.contains(&"kubelet_resource_manager_container_assignments_total".to_owned()), "{names:?}");
}
