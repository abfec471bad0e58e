//! What a node in the place of a kubelet writes about pods, beside what kubelets wrote about the same pods in a guest
//! (`cargo xtask vm --kubelet VERSION --statuses --write`): statuses field by field, and events.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::daemon::Folder;
use local_cluster::{Cluster, Containers, NODE_RIGHTS, Node, NodeOptions, Parts};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(1);

/// Where a status is another one, by the path of the field without places in lists, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    (".containerStatuses.containerID", "nobody starts containers here"),
    (".containerStatuses.imageID", "nobody pulls images here"),
    (".containerStatuses.user", "the runtime says as whom a container runs"),
    (".containerStatuses.image", "the runtime says what an image is called"),
    (".containerStatuses.allocatedResourcesStatus.resources.resourceID", "ids are the plugin's"),
    (".observedGeneration", GENERATION),
    (".conditions.ContainersReady.observedGeneration", GENERATION),
    (".conditions.Initialized.observedGeneration", GENERATION),
    (".conditions.PodReadyToStartContainers.observedGeneration", GENERATION),
    (".conditions.PodScheduled.observedGeneration", GENERATION),
    (".conditions.Ready.observedGeneration", GENERATION),
    (".hostIP", ADDRESS),
    (".hostIPs", ADDRESS),
    (".podIP", ADDRESS),
    (".podIPs", ADDRESS),
    (".resources.limits.example.com/fn", RUNS),
    (".resources.requests.example.com/fn", RUNS),
];

const GENERATION: &str = "a static pod has no generation";
const ADDRESS: &str = "a kubelet without an API server does not know its node's address";
const RUNS: &str =
    "without an API server nobody tells a kubelet that the pod runs, and it does not read the pod's cgroup";

/// Reasons of events that a kubelet writes about what its runtime did.
const RUNTIMES: [&str; 4] = ["Pulled", "Created", "Started", "Killing"];

#[test]
fn pods_have_the_statuses_and_events_that_a_kubelet_writes() {
    let target = Path::new(env!("CARGO_BIN_EXE_topolet")).parent().unwrap().parent().unwrap();
    let Some(cluster) = Cluster::for_test(target, Parts::Storage) else { return };
    cluster.apply(NODE_RIGHTS).unwrap();
    let folder = Folder::new();
    let devices = folder.path().join("devices.yaml");
    std::fs::write(&devices, "devices:\n- {resource: example.com/fn, perNode: {0: 3, 1: 3}}\n").unwrap();
    let mut found = BTreeSet::new();
    for (release, seen) in kubelets() {
        let policies: BTreeSet<&str> = seen.values().map(|seen| seen["policy"].as_str().unwrap()).collect();
        for policy in policies {
            let name = format!("{policy}-{}", release.replace('.', "-"));
            let arguments =
                ["--policy", policy, "--kubelet", &release, "--devices", devices.to_str().unwrap()];
            let options = NodeOptions {
                name: &name,
                machine: "xeon-2s-96cpu-sriov",
                containers: Containers::Simulated,
                arguments: &arguments,
            };
            let node = Node::start(&cluster, Path::new(env!("CARGO_BIN_EXE_topolet")), options).unwrap();
            for (pod, seen) in seen.iter().filter(|(_, seen)| seen["policy"] == policy) {
                let context = format!("{pod} beside kubelet {release}");
                let (status, events) = ours(&cluster, &node, pod, seen);
                compare(&context, "", &seen["status"], &status, &mut found);
                compare_events(&context, &seen["events"], &events);
            }
        }
    }
    let listed: BTreeSet<String> = DIFFERENCES.iter().map(|(path, _)| (*path).to_owned()).collect();
    let others: Vec<&String> = found.difference(&listed).collect();
    assert!(others.is_empty(), "{others:#?}");
    let equal: Vec<&String> = listed.difference(&found).collect();
    assert!(equal.is_empty(), "listed, and no difference any more: {equal:?}");
}

/// What was seen of each pod, by release.
fn kubelets() -> Vec<(String, BTreeMap<String, Value>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kubelet-statuses");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), serde_json::from_str(&text).unwrap())
        })
        .collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    assert!(!all.is_empty());
    all
}

/// The same pod on our node: its status once it is that of the kubelet's, and the events on it.
fn ours(cluster: &Cluster, node: &Node, name: &str, seen: &Value) -> (Value, Vec<Value>) {
    let mut pod = seen["manifest"].clone();
    let name = format!("{name}-{}", node.name());
    pod["metadata"] = json!({"name": name, "namespace": "default"});
    pod["spec"]["nodeName"] = node.name().into();
    cluster.apply(&pod.to_string()).unwrap();
    let phase = &seen["status"]["phase"];
    let began = Instant::now();
    let object = loop {
        let text = cluster.kubectl(&["get", "pod", &name, "-o", "json"]).unwrap();
        let object: Value = serde_json::from_str(&text).unwrap();
        if object["status"]["phase"] == *phase && is_final(&object["status"]) {
            break object;
        }
        assert!(began.elapsed() < PATIENCE, "{name} does not stay at {phase}: {}", object["status"]);
        thread::sleep(Duration::from_millis(50));
    };
    let wanted = seen["events"].as_array().unwrap().iter().any(|event| !is_runtimes(event));
    let events = loop {
        let selector = format!("involvedObject.uid={}", object["metadata"]["uid"].as_str().unwrap());
        let text = cluster.kubectl(&["get", "events", "-o", "json", "--field-selector", &selector]).unwrap();
        let mut events = serde_json::from_str::<Value>(&text).unwrap()["items"].as_array().unwrap().clone();
        // Beside it there is one of our own, which says why and what would fit.
        events.retain(|event| event["reportingComponent"] == "kubelet");
        if !wanted || !events.is_empty() {
            break events;
        }
        assert!(began.elapsed() < PATIENCE, "{name} has no events");
        thread::sleep(Duration::from_millis(50));
    };
    (object["status"].clone(), events)
}

/// Whether no status follows: of a pod that runs, the first still tells all resources of its manifest, and the next, after
/// the node has read its own words back, CPUs and memory alone ([`RUNS`]).
fn is_final(status: &Value) -> bool {
    let amounts =
        ["limits", "requests"].into_iter().filter_map(|field| status["resources"][field].as_object());
    let mut resources = amounts.flat_map(|amounts| amounts.keys());
    status["phase"] != "Running" || resources.all(|resource| matches!(resource.as_str(), "cpu" | "memory"))
}

/// Compares all fields. Times are some time, addresses some address.
fn compare(context: &str, path: &str, theirs: &Value, ours: &Value, found: &mut BTreeSet<String>) {
    match (theirs, ours) {
        (Value::Object(one), Value::Object(other)) => {
            for name in one.keys().chain(other.keys()).collect::<BTreeSet<_>>() {
                let (one, other) = (&theirs[name.as_str()], &ours[name.as_str()]);
                compare(context, &format!("{path}.{name}"), one, other, found);
            }
        }
        (Value::Array(one), Value::Array(other)) if path == ".conditions" => {
            let by_kind = |list: &[Value]| -> Value {
                list.iter().map(|one| (one["type"].as_str().unwrap().to_owned(), one.clone())).collect()
            };
            compare(context, path, &by_kind(one), &by_kind(other), found);
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (one, other) in one.iter().zip(other) {
                compare(context, path, one, other, found);
            }
        }
        (Value::String(one), Value::String(other)) if is_time(one) && is_time(other) => {}
        (Value::String(one), Value::String(other)) if is_address(one) && is_address(other) => {}
        (one, other) if one == other => {}
        _ if DIFFERENCES.iter().any(|(known, _)| *known == path) => {
            found.insert(path.to_owned());
        }
        _ => {
            found.insert(format!("{context}: {path} is {theirs} there, and {ours} here"));
        }
    }
}

/// Events that are not about the runtime: type, reason and message.
fn compare_events(context: &str, theirs: &Value, ours: &[Value]) {
    let theirs = theirs.as_array().unwrap().iter().filter(|event| !is_runtimes(event));
    let theirs: Vec<&Value> = theirs.collect();
    assert_eq!(theirs.len(), ours.len(), "{context}: {theirs:?} there, and {ours:?} here");
    for (one, other) in theirs.iter().zip(ours) {
        for field in ["type", "reason", "message"] {
            assert_eq!(one[field], other[field], "{context}: {field}");
        }
    }
}

fn is_runtimes(event: &Value) -> bool {
    RUNTIMES.iter().any(|reason| event["reason"] == *reason)
}

fn is_time(text: &str) -> bool {
    text.len() == 20 && text.ends_with('Z') && text.as_bytes()[10] == b'T'
}

fn is_address(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}
