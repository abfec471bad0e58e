//! A node that somebody else owns: another daemon that writes its files like a kubelet, all the time.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod daemon;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use daemon::plugin::{Plugin, Script, device, register, request};
use daemon::{Daemon, Folder, MACHINE, pod, until};

/// Every file below a folder with its contents, or that it is a socket.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(tree(&path));
            all.insert(path, Vec::new());
        } else {
            let contents = fs::read(&path).unwrap_or_default();
            all.insert(path, contents);
        }
    }
    all
}

#[test]
fn a_node_of_others_is_watched_and_not_touched() {
    let (root, own) = (Folder::new(), Folder::new());
    let owner = Daemon::start(root.path(), &[]);
    let plugins = root.path().join("device-plugins");
    let _plugin = Plugin::listen(
        &plugins.join("vf.sock"),
        Script::default(),
        vec![device("v0", &[0]), device("v1", &[1])],
    );
    register(&plugins.join("kubelet.sock"), request("vf.sock", "example.com/vf")).unwrap();
    let listed = "topolet_free_devices{numa_node=\"1\",resource=\"example.com/vf\"} 1";
    until("devices", || owner.get("/metrics").body.contains(listed).then_some(()));
    let admit = |name: &str, limits: &str| {
        let reply = owner.ask("POST", "/v1/pods", &pod(name, limits));
        assert_eq!(reply.status, 200, "{}", reply.body);
    };
    admit("first", "cpu: 2, memory: 1Gi, example.com/vf: 1");

    let socket = own.path().join("observe.sock");
    let watching = ["--observe", "--socket", socket.to_str().unwrap()];
    let watcher = Daemon::spawn(MACHINE, root.path(), "pinned", &watching).at(&socket);
    until("a watcher", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    let listed = watcher.prints(&["get", "pods"]);
    assert!(listed.contains("default") && listed.contains("first"), "named by the pod resources:\n{listed}");
    assert!(listed.contains("kubelet"), "it says whose they are:\n{listed}");

    // What it says is always one of the states that there have been, or the one before.
    for round in 0..30 {
        admit("more", "cpu: 4, memory: 2Gi");
        let seen = watcher.get("/v1/state?output=table").body;
        assert!(seen.contains("1,49"), "round {round}: the first pod is lost:\n{seen}");
        assert_eq!(owner.ask("DELETE", "/v1/pods/default/more", "").status, 200);
    }
    admit("last", "cpu: 6, memory: 2Gi");
    until("the last pod", || watcher.prints(&["get", "pods"]).contains("last").then_some(()));

    // Whom a repair has quarantined is known by a file of ours.
    let mark = root.path().join("topolet-quarantine.json");
    fs::write(&mark, r#"{"pods":{"default_first":{"name":"default/first","why":"of two owners"}}}"#).unwrap();
    let is_marked = || watcher.prints(&["get", "pods"]).contains("Quarantined");
    until("the mark", || is_marked().then_some(()));
    fs::remove_file(&mark).unwrap();
    until("no mark", || (!is_marked()).then_some(()));

    let before = tree(root.path());
    let metrics = watcher.get("/metrics").body;
    assert!(
        metrics.contains("topolet_free_devices{numa_node=\"0\",resource=\"example.com/vf\"} 0"),
        "{metrics}"
    );
    assert!(metrics.contains("topolet_free_cpus{numa_node=\"0\"} 38"), "{metrics}");
    let file = own.path().join("pod.yaml");
    fs::write(&file, pod("asked", "cpu: 44, memory: 1Gi")).unwrap();
    let told = watcher.prints(&["apply", "--dry-run", "-f", file.to_str().unwrap()]);
    assert!(told.contains("NUMA 1") || told.contains("  1  "), "only node 1 has so many:\n{told}");
    let refused = watcher.topolet(&["apply", "-f", file.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("a kubelet owns this node"), "{said}");

    // Files that do not fit together leave what is known as it was.
    let state = root.path().join("cpu_manager_state");
    let whole = fs::read(&state).unwrap();
    fs::write(&state, &whole[..20]).unwrap();
    until("a warning", || watcher.log().iter().any(|line| line.contains("stays as it was")).then_some(()));
    assert!(watcher.prints(&["get", "pods"]).contains("last"));
    fs::write(&state, &whole).unwrap();

    assert!(watcher.terminate());
    let after = tree(root.path());
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    assert_eq!(before, after, "nothing is written");
}

#[test]
fn what_is_assumed_of_the_kubelet_is_said() {
    let (root, own) = (Folder::new(), Folder::new());
    let owner = Daemon::start(root.path(), &[]);
    owner.kill();
    let socket = own.path().join("observe.sock");
    let watching = ["--socket", socket.to_str().unwrap()];
    let watcher = Daemon::observe(root.path(), &watching).at(&socket);
    until("a watcher", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    let is_said =
        |text: &str| text.contains("there is no config.yaml in") && text.contains("pinned is assumed");
    until("a warning", || is_said(&watcher.log().join("\n")).then_some(()));
    for path in ["/v1/machine", "/v1/machine?output=table", "/v1/decisions", "/v1/decisions?output=table"] {
        let said = watcher.get(path).body;
        assert!(is_said(&said), "{path}: {said}");
    }

    // The kubelet goes on with another policy.
    let state = root.path().join("cpu_manager_state");
    let before = fs::read(&state).unwrap();
    let other = r#"{"policyName":"none","defaultCpuSet":"","checksum":1353318690}"#;
    fs::write(&state, other).unwrap();
    let told = r#"is of CPU manager policy "none", and configuration pinned has "static""#;
    until("a warning", || watcher.log().iter().any(|line| line.contains(told)).then_some(()));
    let said = watcher.get("/v1/machine?output=table").body;
    assert!(said.contains("what is known stays as it was") && said.contains(told), "{said}");
    assert_eq!(watcher.get("/readyz").status, 503);
    fs::write(&state, before).unwrap();
    until("the old one", || (watcher.get("/readyz").status == 200).then_some(()));
    assert!(!watcher.get("/v1/machine").body.contains("stays as it was"));
    drop(watcher);

    // Nor is it started with.
    fs::write(&state, other).unwrap();
    let refused = Daemon::observe(root.path(), &watching);
    until("a refusal", || refused.log().iter().any(|line| line.contains(told)).then_some(()));

    // With its own configuration there is nothing to be said.
    fs::write(
        root.path().join("config.yaml"),
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n",
    )
    .unwrap();
    fs::remove_file(root.path().join("memory_manager_state")).unwrap();
    let watcher = Daemon::observe(root.path(), &watching).at(&socket);
    until("a watcher", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    assert!(!watcher.get("/v1/machine").body.contains("notes"));
}
