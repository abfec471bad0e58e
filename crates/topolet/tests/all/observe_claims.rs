//! Claims of devices beside a kubelet: another daemon writes the kubelet's files of CPUs and memory, and this test its file of claims,
//! its pods API, and the API server.

#![cfg(feature = "serve")]

use std::fs;

use pods_api::{KubeletPod, PodsServer, SOCKET};
use serde_json::{Value, json};

use crate::api_double::Double;
use crate::daemon::{Daemon, Folder, pod, until};

const GPU: &str = "gpu.example.com";
const CLAIM: &str = "train-gpu-x7k2p";

/// A node on whose NUMA node 0 pod `train` has CPUs and memory, with a GPU on each of two NUMA nodes.
struct Node {
    server: Double,
    watcher: Daemon,
    root: Folder,
    _owner: Daemon,
    pods: PodsServer,
    _own: Folder,
}

impl Node {
    fn start() -> Self {
        let (root, own) = (Folder::new(), Folder::new());
        let owner = Daemon::start(root.path(), &[]);
        assert_eq!(owner.ask("POST", "/v1/pods", &pod("train", "cpu: 4, memory: 1Gi")).status, 200);
        let kinds = ["DeviceClass", "ResourceClaim", "ResourceClaimTemplate"];
        let plural = |kind: &str| kind.to_ascii_lowercase() + if kind.ends_with('s') { "es" } else { "s" };
        let kinds: Vec<(String, &str)> = kinds.iter().map(|kind| (plural(kind), *kind)).collect();
        let lists = kinds.iter().map(|(resource, kind)| (resource.as_str(), *kind, Vec::new()));
        let lists: Vec<_> = lists.chain([("resourceslices", "ResourceSlice", slices())]).collect();
        let server = Double::of("v1", &lists);
        let kubeconfig = server.clone().start(&own);
        let socket = own.path().join("observe.sock");
        let more = ["--socket", socket.to_str().unwrap(), "--config", "pinned", "--node-name", "worker-1"];
        let more = [&more[..], &["--kubeconfig", kubeconfig.to_str().unwrap()]].concat();
        let watcher = Daemon::observe(root.path(), &more).at(&socket);
        until("a watcher", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
        let pods = PodsServer::listen(&root.path().join(SOCKET)).unwrap();
        let node = Self { server, watcher, root, _owner: owner, pods, _own: own };
        node.pods.put(train());
        node
    }

    /// The API server allocates these devices to the claim, for these pods, and the kubelet prepares them.
    fn allocates(&self, devices: &[(&str, &str)], users: &[&str]) {
        self.has_at_server(devices, users);
        self.prepares(devices, users);
    }

    fn has_at_server(&self, devices: &[(&str, &str)], users: &[&str]) {
        self.has_in_pool("worker-1", devices, users);
    }

    fn has_in_pool(&self, pool: &str, devices: &[(&str, &str)], users: &[&str]) {
        let result = |(driver, device): &(&str, &str)| json!({"request": "gpu", "driver": driver, "pool": pool, "device": device});
        let users = users
            .iter()
            .map(|name| json!({"resource": "pods", "name": name, "uid": format!("default_{name}")}));
        let status = match devices {
            [] => json!({}),
            some => {
                json!({"allocation": {"devices": {"results": some.iter().map(result).collect::<Vec<_>>()}},
                "reservedFor": users.collect::<Vec<_>>()})
            }
        };
        let claim = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": CLAIM, "namespace": "default", "uid": "11"},
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}, "status": status});
        self.server.set(&format!("/v1/namespaces/default/resourceclaims/{CLAIM}"), 200, &claim);
    }

    /// The kubelet replaces its file.
    fn prepares(&self, devices: &[(&str, &str)], users: &[&str]) {
        let mut drivers = serde_json::Map::new();
        for (driver, device) in devices {
            let of = drivers.entry(*driver).or_insert_with(|| json!({"Devices": []}));
            let one = json!({"PoolName": "worker-1", "DeviceName": device, "ShareID": null, "RequestNames": ["gpu"],
                "CDIDeviceIDs": [format!("k8s.{driver}/gpu={device}")]});
            of["Devices"].as_array_mut().unwrap().push(one);
        }
        let users: serde_json::Map<String, Value> =
            users.iter().map(|name| (format!("default_{name}"), json!({}))).collect();
        let claim = json!({"ClaimUID": "11", "ClaimName": CLAIM, "Namespace": "default", "PodUIDs": users,
            "DriverState": drivers});
        let data = json!({"kind": "DRACheckpoint", "apiVersion": "checkpoint.dra.kubelet.k8s.io/v1",
            "ClaimInfoStateList": [claim]});
        let data = data.to_string();
        let text = json!({"Data": data, "Checksum": crc32(data.as_bytes())}).to_string();
        let new = self.root.path().join(".dra");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.root.path().join("dra_manager_state")).unwrap();
    }

    /// The condition, once it has this status and its message these parts.
    fn is(&self, status: &str, parts: &[&str]) -> String {
        let condition = || {
            let status = self.watcher.get("/v1/status").json("NodeStatus");
            let mut all = status["conditions"].as_array().unwrap().clone().into_iter();
            all.find(|condition| condition["type"] == "ClaimsAligned")
        };
        until(&format!("{status} {parts:?}, and not {:?}", condition()), || {
            let condition = condition()?;
            let message = condition["message"].as_str().unwrap();
            let is_it = condition["status"] == status && parts.iter().all(|part| message.contains(part));
            is_it.then(|| message.to_owned())
        })
    }

    /// The events about claims.
    fn events(&self) -> Vec<Value> {
        let all = self.watcher.get("/v1/events").json("Events");
        let events = all["events"].as_array().unwrap().iter();
        events.filter(|event| event["reason"] == "ClaimNotAligned").cloned().collect()
    }

    /// Devices of a driver that are aligned, elsewhere, and unknown.
    fn counts(&self, driver: &str, expected: [u32; 3]) {
        let metrics = self.watcher.get("/metrics").body;
        for (alignment, count) in ["aligned", "elsewhere", "unknown"].into_iter().zip(expected) {
            let line = format!(
                "topolet_observe_claim_devices{{alignment=\"{alignment}\",driver=\"{driver}\"}} {count}\n"
            );
            assert!(metrics.contains(&line), "{line}{metrics}");
        }
    }
}

/// GPUs on two NUMA nodes, NICs that publish no NUMA node, and two drivers for one device.
fn slices() -> Vec<Value> {
    let at = |name: &str, numa: i64| json!({"name": name, "attributes": {"resource.kubernetes.io/numaNode": {"int": numa}}});
    let pci = |name: &str| json!({"name": name, "attributes": {"resource.kubernetes.io/pciBusID": {"string": "0000:e1:00.0"}}});
    let slice = |driver: &str, devices: Vec<Value>| {
        json!({"metadata": {"name": format!("worker-1-{driver}")}, "spec": {"driver": driver, "nodeName": "worker-1",
            "devices": devices, "pool": {"name": "worker-1", "generation": 1, "resourceSliceCount": 1}}})
    };
    vec![
        slice(GPU, vec![at("gpu-0", 0), at("gpu-1", 1)]),
        slice("net.example.com", vec![json!({"name": "nic-0"})]),
        slice("vfio.example.com", vec![pci("card")]),
        slice("card.example.com", vec![pci("card")]),
    ]
}

/// Pod `train` as its kubelet reports it.
fn train() -> KubeletPod {
    let amounts = json!({"cpu": "4", "memory": "1Gi"});
    let container = json!({"name": "app",
        "resources": {"limits": amounts, "requests": amounts, "claims": [{"name": "gpu"}]}});
    let claim = json!({"name": "gpu", "resourceClaimTemplateName": "gpu"});
    let made = json!({"name": "gpu", "resourceClaimName": CLAIM});
    let pod = json!({"metadata": {"name": "train", "namespace": "default", "uid": "default_train"},
        "spec": {"containers": [container], "resourceClaims": [claim]},
        "status": {"phase": "Running", "resourceClaimStatuses": [made]}});
    KubeletPod::from_json(&pod.to_string()).unwrap()
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32| (sum >> 1) ^ (0xEDB8_8320 & (sum & 1).wrapping_neg());
    !bytes.iter().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum)))
}

#[test]
fn a_device_elsewhere_than_the_cpus_is_said_until_the_claim_is_allocated_anew() {
    let node = Node::start();
    node.allocates(&[(GPU, "gpu-1")], &["train"]);
    let sentence = "claim gpu NOT aligned: gpu-1 on NUMA 1, CPUs on NUMA 0, memory on NUMA 0";
    let message = node.is("False", &[sentence]);
    assert_eq!(
        message,
        format!("container app of pod default/train: {sentence}; the kubelet does not align claims")
    );
    node.counts(GPU, [0, 1, 0]);
    let status = node.watcher.get("/v1/status").json("NodeStatus");
    assert!(status["problems"].to_string().contains(sentence), "{status}");
    assert_eq!(node.watcher.topolet(&["status"]).status.code(), Some(2), "something is wrong");
    assert_eq!(node.watcher.get("/readyz").status, 200, "it explains and counts all the same");
    let events = node.events();
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!((&events[0]["type"], &events[0]["name"]), (&json!("Warning"), &json!("train")));
    assert_eq!(events[0]["message"], format!("app: {sentence}; the kubelet does not align claims"));
    let logged = || node.watcher.log().iter().filter(|line| line.contains("NOT aligned")).count();
    assert_eq!(logged(), 1, "{:#?}", node.watcher.log());
    // Who looks at the node sees the claim beside what the container holds.
    for path in ["/v1/status", "/v1/pods/default/train", "/v1/picture"] {
        let text = node.watcher.get(&format!("{path}?output=table")).body;
        assert!(text.contains("claim gpu on NUMA 1, NOT aligned"), "{path}: {text}");
    }
    let held = &node.watcher.get("/v1/pods/default/train").json("PodDescription")["pod"]["containers"][0]["claimed"]
        [0];
    assert_eq!((&held["claim"], &held["alignment"]), (&json!("gpu"), &json!("elsewhere")), "{held}");
    assert_eq!(status["pods"][0]["nodes"], json!([0, 1]), "{status}");

    node.allocates(&[(GPU, "gpu-0")], &["train"]);
    assert_eq!(node.is("True", &[]), "");
    node.counts(GPU, [1, 0, 0]);
    assert_eq!(node.events().len(), 1);

    node.allocates(&[(GPU, "gpu-1")], &["train"]);
    node.is("False", &[sentence]);
    until("an event", || (node.events().len() == 2).then_some(()));
    assert_eq!(logged(), 2);

    // Between two sources that contradict each other nothing is known.
    node.allocates(&[(GPU, "gpu-0")], &["train"]);
    node.is("True", &[]);
    node.prepares(&[(GPU, "gpu-1")], &["train"]);
    let said =
        format!("gpu-1: ResourceClaim default/{CLAIM} has other devices than the kubelet has prepared");
    node.is("Unknown", &[&said]);
    assert_eq!(node.events().len(), 2);
}

#[test]
fn what_is_not_known_is_never_aligned() {
    let node = Node::start();
    let unknown = |driver: &str, why: &str| {
        node.is(
            "Unknown",
            &["whether claim gpu is aligned (CPUs on NUMA 0, memory on NUMA 0) is not known: ", why],
        );
        node.counts(driver, [0, 0, 1]);
    };
    node.allocates(&[("net.example.com", "nic-0")], &["train"]);
    unknown("net.example.com", "nic-0: driver net.example.com publishes no NUMA node");
    node.allocates(&[("card.example.com", "card")], &["train"]);
    unknown("card.example.com", "card: driver vfio.example.com publishes PCI 0000:e1:00.0 too");
    node.allocates(&[(GPU, "gpu-9")], &["train"]);
    unknown(GPU, "gpu-9: no slice of the node lists it");
    // Allocated on another node, where a device has the name of one that is here.
    node.prepares(&[], &[]);
    node.has_in_pool("worker-2", &[(GPU, "gpu-0")], &["train"]);
    unknown(GPU, "gpu-0: no slice of the node lists it");
    node.allocates(&[(GPU, "gpu-0")], &["train", "other"]);
    unknown(GPU, "other pods share the claim, and their CPUs can lie elsewhere: default/other");
    node.has_at_server(&[], &[]);
    node.prepares(&[(GPU, "gpu-0")], &["train"]);
    unknown(GPU, "is released, and the kubelet has it prepared");
    assert_eq!(node.events().len(), 0);
    // Each is in the log once, however often it is looked at.
    for said in [
        "nic-0: driver",
        "card: driver vfio",
        "gpu-9: no slice",
        "gpu-0: no slice",
        "other pods share",
        "is released",
    ] {
        let lines = node.watcher.log();
        let lines: Vec<&String> = lines.iter().filter(|line| line.contains(said)).collect();
        assert_eq!(lines.len(), 1, "{said}: {lines:#?}");
    }
    let status = node.watcher.get("/v1/status").json("NodeStatus");
    assert!(status["problems"].as_array().is_none_or(Vec::is_empty), "{status}");

    // The rest is known.
    node.allocates(&[(GPU, "gpu-0"), ("net.example.com", "nic-0")], &["train"]);
    node.is("Unknown", &["nic-0: driver net.example.com publishes no NUMA node"]);
    node.counts(GPU, [1, 0, 0]);
    node.allocates(&[(GPU, "gpu-1"), ("net.example.com", "nic-0")], &["train"]);
    node.is("False", &["gpu-1 on NUMA 1, CPUs on NUMA 0, memory on NUMA 0"]);
    node.counts(GPU, [0, 1, 0]);
    node.counts("net.example.com", [0, 0, 1]);

    // A file that a kubelet would not start from.
    fs::write(node.root.path().join("dra_manager_state"), "{}").unwrap();
    let said = "dra_manager_state cannot be read: unexpected end of JSON input";
    until("a line", || node.watcher.log().iter().any(|line| line.contains(said)).then_some(()));
}

#[test]
fn without_the_rights_the_right_is_named_and_nothing_is_guessed() {
    let node = Node::start();
    node.server.clone().forbidding("/v1/resourceslices");
    node.prepares(&[(GPU, "gpu-1")], &["train"]);
    let right = "the right to list resourceslices of resource.k8s.io is missing";
    node.is("Unknown", &["gpu-1: claims and slices are not known", right]);
    assert_eq!(
        node.watcher.log().iter().filter(|line| line.contains(right)).count(),
        2,
        "a cause, and what follows"
    );
    assert_eq!(node.events().len(), 0);
}

#[test]
fn two_programs_that_pin_cpus_are_named() {
    let (root, own) = (Folder::new(), Folder::new());
    drop(Daemon::start(root.path(), &[]));
    let registry = root.path().join("plugins_registry");
    fs::create_dir_all(&registry).unwrap();
    let watch = || {
        let socket = own.path().join("observe.sock");
        let more = ["--socket", socket.to_str().unwrap(), "--config", "pinned"];
        Daemon::observe(root.path(), &more).at(&socket)
    };
    let kubelet = "the kubelet's CPU manager (policy static)";
    let is_logged =
        |watcher: &Daemon, text: &str| watcher.log().iter().any(|line| line.contains(text)).then_some(());
    let watcher = watch();
    until("a line", || is_logged(&watcher, &format!("CPUs of containers are pinned by {kubelet}")));
    assert_eq!(watcher.topolet(&["status"]).status.code(), Some(0));
    drop(watcher);
    fs::write(registry.join("dra.cpu-reg.sock"), "").unwrap();
    let watcher = watch();
    let said = format!(
        "2 programs pin CPUs of containers, and none knows what the others give: {kubelet}, CPU driver dra.cpu \
         (plugins_registry/dra.cpu-reg.sock is there); run only one of them"
    );
    until("a line", || is_logged(&watcher, &said));
    let status = watcher.get("/v1/status").json("NodeStatus");
    assert!(status["problems"].to_string().contains(&said), "{status}");
}
