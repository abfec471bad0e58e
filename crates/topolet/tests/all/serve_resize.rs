//! Pods that run and get other amounts: over HTTP, on disk, and in cgroups.

use std::fs;
use std::path::PathBuf;

use crate::daemon::{Daemon, Folder, pod};
use serde_json::{Value, json};

/// A folder with options that allow resizes.
fn options(own: &Folder) -> PathBuf {
    let path = own.path().join("topolet.yaml");
    let text = "apiVersion: topolet.dev/v1alpha1\nkind: TopoletConfiguration\ncpu: {resize: allow}\n\
                memory: {resize: allow}\n";
    fs::write(&path, text).unwrap();
    path
}

fn body(amounts: &[(&str, &str)]) -> String {
    let amounts: Value = amounts.iter().map(|(name, amount)| ((*name).to_owned(), json!(amount))).collect();
    let resources = json!({ "requests": amounts, "limits": amounts });
    json!({ "spec": { "containers": [{ "name": "app", "resources": resources }] } }).to_string()
}

fn cpus(daemon: &Daemon, name: &str) -> String {
    let pod = daemon.get(&format!("/v1/pods/default/{name}"));
    let document: Value = serde_json::from_str(&pod.body).unwrap();
    document["pod"]["containers"][0]["exclusiveCpus"].as_str().unwrap_or("shared").to_owned()
}

#[test]
fn a_pod_grows_and_shrinks_and_a_restart_changes_nothing() {
    let (root, own) = (Folder::new(), Folder::new());
    let options = options(&own);
    let start = || Daemon::start(root.path(), &["--topolet-config", options.to_str().unwrap()]);
    let daemon = start();
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
    let began = cpus(&daemon, "a");
    let path = "/v1/pods/default/a/resize";
    let grown = daemon.ask("PATCH", path, &body(&[("cpu", "4"), ("memory", "2Gi")]));
    assert_eq!(grown.status, 200, "{}", grown.body);
    let document = grown.json("Resize");
    let four = cpus(&daemon, "a");
    assert_eq!(document["containers"][0]["exclusiveCpus"], json!(four));
    assert_eq!(document["containers"][0]["baseline"], json!(began));
    let six = body(&[("cpu", "6")]).replace("\"6\"", "6");
    let grown = daemon.ask("PATCH", path, &six).json("Resize");
    let container = &grown["containers"][0];
    assert_eq!((&container["cpuBefore"], &container["cpu"]), (&json!("4"), &json!("6")));
    daemon.kill();

    let daemon = start();
    assert_eq!(daemon.ask("PATCH", path, &body(&[("cpu", "4")])).status, 200);
    assert_eq!(cpus(&daemon, "a"), four, "what was added last goes first");
    assert_eq!(daemon.ask("PATCH", path, &body(&[("cpu", "2")])).status, 200);
    assert_eq!(cpus(&daemon, "a"), began);
    let below = daemon.ask("PATCH", path, &body(&[("cpu", "1")]));
    assert_eq!(below.status, 409);
    assert_eq!(
        below.message(),
        "Infeasible: 1 exclusive CPUs are fewer than the 2 that the container was admitted with"
    );
}

#[test]
fn what_cannot_be_is_one_error() {
    let (root, own) = (Folder::new(), Folder::new());
    let options = options(&own);
    let daemon = Daemon::start(root.path(), &["--topolet-config", options.to_str().unwrap()]);
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
    let path = "/v1/pods/default/a/resize";
    let of = |name: &str, resources: &Value| {
        json!({ "spec": { "containers": [{ "name": name, "resources": resources }] } }).to_string()
    };
    for (sent, status, message) in [
        ("{}".to_owned(), 400, "body: missing field `spec` at line 1 column 2"),
        (
            of("app", &json!({})),
            400,
            "body: spec.containers: expected a container with requests or limits of cpu or memory",
        ),
        (
            of("other", &json!({ "requests": { "cpu": "3" } })),
            400,
            "the pod has no container \"other\"; it has app",
        ),
        (
            of("app", &json!({ "requests": { "cpu": "three" } })),
            400,
            "body: spec.containers[0].resources.requests.cpu: \"three\" is no quantity, expected an amount such as 2, \
             500m or 1.5Gi: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            of("app", &json!({ "requests": { "nvidia.com/gpu": "1" } })),
            400,
            "nvidia.com/gpu of container \"app\" cannot be resized; cpu and memory can",
        ),
        (
            of("app", &json!({ "requests": { "cpu": "3" } })),
            400,
            "the cpu request of container \"app\" is 3, above its limit of 2",
        ),
        (
            of("app", &json!({ "limits": { "cpu": "3" } })),
            400,
            "the pod's QoS class is Guaranteed and would become Burstable; a resize must not change it",
        ),
        (
            of("app", &json!({ "requests": { "cpu": true } })),
            400,
            "body: an amount is a quantity such as 4 or \"8Gi\" at line 1 column 73",
        ),
        (
            json!({ "spec": { "initContainers": [{ "name": "app", "resources": {"limits": {"cpu": 2.5}} }],
                              "containers": [{ "name": "app", "resources": {"limits": {"cpu": 3}} }] } })
            .to_string(),
            400,
            "body: spec.initContainers[0].name: container app is there twice",
        ),
        ("[]".to_owned(), 400, "body: expected an object, found an array at line 1 column 2"),
        ("{\"spec\": [[]]}".to_owned(), 400, "body: expected an object, found an array at line 1 column 10"),
        (
            "{\"spec\": {\"containers\": [[\"app\", {}]]}}".to_owned(),
            400,
            "body: expected an object, found an array at line 1 column 26",
        ),
        (
            "{\"spec\": {\"containers\": [{\"name\": \"app\", \"resources\": {\"limits\": {\"cpu\": \"7\", \"cpu\": \"3\"}}}]}}"
                .to_owned(),
            400,
            "body: duplicate key `cpu` at line 1 column 83",
        ),
        ("{\"spec\": {}, \"spec\": {}}".to_owned(), 400, "body: duplicate field `spec` at line 1 column 19"),
        (
            body(&[("cpu", "9223372036854775808")]),
            409,
            "Infeasible: the container has exclusive CPUs, which it would lose: it asks for more CPUs than 64 bits can count",
        ),
        (
            body(&[("memory", "1.7Gi")]),
            409,
            "Infeasible: [memorymanager] failed to represent quantity as int64: the amount is not a whole number of bytes \
             below 2^63",
        ),
        (body(&[("cpu", "0")]), 400, "cpu of container \"app\" is 0, and must be above 0"),
    ] {
        let reply = daemon.ask("PATCH", path, &sent);
        assert_eq!((reply.status, reply.message().as_str()), (status, message), "{sent}");
    }
    let reply = daemon.ask("PATCH", "/v1/pods/default/b/resize", &body(&[("cpu", "3")]));
    assert_eq!((reply.status, reply.message().as_str()), (404, "no pod is called default/b"));
    // Whole bytes, as an API server hands them on.
    let half = daemon.ask("PATCH", path, &body(&[("memory", "1.5Gi")]));
    assert_eq!(half.status, 200, "{}", half.body);
    let large = daemon.ask("PATCH", path, &body(&[("cpu", "10000")]));
    assert!(
        large.message().starts_with("Infeasible: Node didn't have enough capacity: cpu"),
        "{}",
        large.body
    );
}

#[test]
fn bodies_are_objects_with_each_key_once() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
    for (verb, sent) in [("started", "[\"c1\"]"), ("exited", "[\"c1\", 0]")] {
        let reply = daemon.ask("POST", &format!("/v1/pods/default/a/containers/app/{verb}"), sent);
        let expected = (400, "body: expected an object, found an array at line 1 column 1");
        assert_eq!((reply.status, reply.message().as_str()), expected, "{verb}");
    }
    for path in ["/v1/pods", "/v1/explain", "/v1/repack"] {
        for sent in ["[]", "{\"kind\": \"Pod\", \"kind\": \"Pod\"}"] {
            let reply = daemon.ask("POST", path, sent);
            assert_eq!(reply.status, 400, "{path} of {sent}: {}", reply.body);
        }
    }
    // Of a manifest the last of equal keys counts, as an API server has it, and is named.
    let twice = daemon.ask("POST", "/v1/pods", &pod("b", "cpu: 2, cpu: 3, memory: 1Gi"));
    assert_eq!(twice.status, 200, "{}", twice.body);
    assert!(twice.body.contains("is given twice"), "{}", twice.body);
}

#[test]
fn without_the_option_a_pinned_pod_is_not_resized() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
    let reply = daemon.ask("PATCH", "/v1/pods/default/a/resize", &body(&[("cpu", "3")]));
    let expected =
        "Infeasible: Resize is infeasible for Guaranteed Pods alongside CPU Manager policy \"static\"";
    assert_eq!((reply.status, reply.message().as_str()), (409, expected));
}

/// The kubelet asks the same before it writes a lower limit.
#[test]
fn memory_in_use_is_not_taken() {
    let (root, own, groups) = (Folder::new(), Folder::new(), Folder::new());
    let options = options(&own);
    let group = groups.path().join("pods/a");
    fs::create_dir_all(&group).unwrap();
    fs::write(groups.path().join("cgroup.controllers"), "cpuset cpu memory\n").unwrap();
    fs::write(group.join("memory.current"), format!("{}\n", 700 << 20)).unwrap();
    let more =
        ["--topolet-config", options.to_str().unwrap(), "--cgroup-root", groups.path().to_str().unwrap()];
    let daemon = Daemon::start(root.path(), &more);
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
    let started = json!({ "id": "containerd://c1", "cgroup": "pods/a" }).to_string();
    assert_eq!(daemon.ask("POST", "/v1/pods/default/a/containers/app/started", &started).status, 200);
    let path = "/v1/pods/default/a/resize";
    for (memory, status) in [("700Mi", 409), ("1Mi", 409), ("701Mi", 200), ("900Mi", 200)] {
        let reply = daemon.ask("PATCH", path, &body(&[("memory", memory)]));
        assert_eq!(reply.status, status, "{memory}: {}", reply.body);
    }
    let below = daemon.ask("PATCH", path, &body(&[("memory", "512Mi")]));
    let expected = "Deferred: attempting to set container \"app\" memory limit (536870912) below current usage \
                    (734003200)";
    assert_eq!(below.message(), expected);
}

/// The CPUs that containers were admitted with, as the state file of Kubernetes 1.37 has them.
fn baselines(root: &Folder) -> Value {
    let text = fs::read_to_string(root.path().join("cpu_manager_state")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let data: Value = serde_json::from_str(file["data"].as_str().unwrap()).unwrap();
    data["baselines"].clone()
}

#[test]
fn the_file_of_1_37_has_baselines_and_keeps_them() {
    let (root, own) = (Folder::new(), Folder::new());
    let options = options(&own);
    let more = ["--topolet-config", options.to_str().unwrap(), "--kubelet", "1.37"];
    let start = || Daemon::start(root.path(), &more);
    let daemon = start();
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
    let began = cpus(&daemon, "a");
    let expected = json!({ "default_a": { "app": { "baseline": began } } });
    assert_eq!(baselines(&root), expected);
    let path = "/v1/pods/default/a/resize";
    assert_eq!(daemon.ask("PATCH", path, &body(&[("cpu", "4")])).status, 200);
    assert_eq!(baselines(&root), expected, "growth is no baseline");
    daemon.kill();

    let daemon = start();
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("b", "cpu: 2, memory: 1Gi")).status, 200);
    let both = baselines(&root);
    assert_eq!(both["default_a"], expected["default_a"], "another pod's write keeps it");
    assert_eq!(daemon.ask("PATCH", path, &body(&[("cpu", "1")])).status, 409);
    assert_eq!(daemon.ask("PATCH", path, &body(&[("cpu", "2")])).status, 200);
    assert_eq!(cpus(&daemon, "a"), began);
    assert_eq!(daemon.ask("DELETE", "/v1/pods/default/b", "").status, 200);
    assert_eq!(daemon.ask("DELETE", "/v1/pods/default/a", "").status, 200);
    assert_eq!(baselines(&root), Value::Null);
}
