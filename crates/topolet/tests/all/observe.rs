//! A node that another process owns: a second daemon, which keeps writing its files like a kubelet.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::daemon::plugin::{Plugin, Script, device, register, request};
use crate::daemon::{Daemon, Folder, MACHINE, pod, until};

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
    let is_said = |text: &str| {
        ["there is no config.yaml in", "`pinned`", "is assumed"].iter().all(|part| text.contains(part))
    };
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

    // With its own configuration there is no note.
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

/// The two files that a kubelet writes one after the other.
const FILES: [&str; 2] = ["cpu_manager_state", "memory_manager_state"];

/// State files in which a pod of that name runs, with exclusive CPUs if the amount is whole.
fn written_with(name: &str, cpus: &str) -> [Vec<u8>; 2] {
    let root = Folder::new();
    let owner = Daemon::start(root.path(), &[]);
    let reply = owner.ask("POST", "/v1/pods", &pod(name, &format!("cpu: {cpus}, memory: 2Gi")));
    assert_eq!(reply.status, 200, "{}", reply.body);
    FILES.map(|file| fs::read(root.path().join(file)).unwrap())
}

/// Replaces a file as a kubelet does.
fn replace(root: &Path, file: &str, contents: &[u8]) {
    let new = root.join(format!(".{file}"));
    fs::write(&new, contents).unwrap();
    fs::rename(new, root.join(file)).unwrap();
}

fn watch(root: &Path, own: &Folder) -> Daemon {
    let socket = own.path().join("observe.sock");
    let watching = ["--observe", "--socket", socket.to_str().unwrap()];
    Daemon::spawn(MACHINE, root, "pinned", &watching).at(&socket)
}

fn names(watcher: &Daemon) -> Vec<String> {
    let pods = watcher.get("/v1/pods").json("Pods");
    pods["pods"].as_array().unwrap().iter().map(|pod| pod["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_pod_whose_memory_is_not_written_yet_is_not_served() {
    let (one, two) = (written_with("g1", "4"), written_with("g2", "6"));
    let fraction = written_with("g3", "1500m");
    let (root, own) = (Folder::new(), Folder::new());
    for (file, contents) in FILES.iter().zip(&one) {
        replace(root.path(), file, contents);
    }
    let watcher = watch(root.path(), &own);
    until("a watcher", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    assert_eq!(names(&watcher), ["default_g1"]);

    // The CPUs of the next pod beside the memory of the one before it.
    replace(root.path(), FILES[0], &two[0]);
    let said = until("a reason", || {
        assert_eq!(names(&watcher), ["default_g1"], "only what fits together is served");
        Some(watcher.get("/readyz")).filter(|reply| reply.status == 503).map(|reply| reply.message())
    });
    assert!(said.contains("what is known stays as it was: cpu_manager_state has container app of pod default_g2, and memory_manager_state does not"), "{said}");
    assert!(watcher.get("/metrics").body.lines().any(|line| line == "topolet_state_stale 1"));
    replace(root.path(), FILES[1], &two[1]);
    until("the next pod", || (names(&watcher) == ["default_g2"]).then_some(()));
    until("readiness", || (watcher.get("/readyz").status == 200).then_some(()));

    // A Guaranteed pod with a fraction of a CPU is in one file only.
    replace(root.path(), FILES[0], &fraction[0]);
    replace(root.path(), FILES[1], &fraction[1]);
    until("the last pod", || (names(&watcher) == ["default_g3"]).then_some(()));
    assert_eq!(watcher.get("/readyz").status, 200);
    // And one that has ended stays in the memory manager's for a while.
    replace(root.path(), FILES[1], &two[1]);
    until("a pod of memory only", || (names(&watcher) == ["default_g2"]).then_some(()));
    assert_eq!(watcher.get("/readyz").status, 200);
}

#[test]
fn files_that_stay_unfit_are_served_in_the_end_and_said_to_be() {
    let (one, two) = (written_with("g1", "4"), written_with("g2", "6"));
    let (root, own) = (Folder::new(), Folder::new());
    replace(root.path(), FILES[0], &two[0]);
    replace(root.path(), FILES[1], &one[1]);
    let watcher = watch(root.path(), &own);
    let is_said = |said: &str| said.contains("the state is served though its files do not fit together");
    let said = until("a note", || {
        watcher.try_get("/readyz").map(|reply| reply.message()).filter(|said| is_said(said))
    });
    assert!(said.contains("pod default_g2"), "{said}");
    assert_eq!(names(&watcher), ["default_g1", "default_g2"]);
    until("a warning", || watcher.log().iter().any(|line| is_said(line)).then_some(()));
    // The warning stays after another look at the same files, and is logged once.
    let looks = watcher.log().len();
    until("another look", || watcher.try_get("/readyz").filter(|reply| reply.status == 503).map(drop));
    assert_eq!(watcher.log().len(), looks, "once");
    replace(root.path(), FILES[1], &two[1]);
    until("readiness", || (watcher.get("/readyz").status == 200).then_some(()));
    assert_eq!(names(&watcher), ["default_g2"]);
}

#[test]
fn get_state_of_a_watched_node_is_what_state_show_says() {
    let (root, own) = (Folder::new(), Folder::new());
    let owner = Daemon::start(root.path(), &[]);
    let plugins = root.path().join("device-plugins");
    let plugin = Plugin::listen(&plugins.join("vf.sock"), Script::default(), vec![device("v0", &[0])]);
    register(&plugins.join("kubelet.sock"), request("vf.sock", "example.com/vf")).unwrap();
    let listed = "topolet_free_devices{numa_node=\"0\",resource=\"example.com/vf\"} 1";
    until("devices", || owner.get("/metrics").body.contains(listed).then_some(()));
    assert_eq!(owner.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
    // The kubelet lists healthy devices only: of a plugin that is gone it has none, and it is still registered.
    drop(plugin);
    until("its end", || owner.get("/metrics").body.contains(&listed.replace("} 1", "} 0")).then_some(()));
    let watcher = watch(root.path(), &own);
    until("a watcher", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    let folder = root.path().to_str().unwrap();
    let lines = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| line.contains("_state") || line.contains("checkpoint"))
            .map(str::to_owned)
            .collect()
    };
    let shown = lines(&watcher.prints(&["state", "show", "--state", folder]));
    assert!(shown.iter().any(|line| line.contains("plugins of example.com/vf")), "{shown:?}");
    assert_eq!(lines(&watcher.prints(&["get", "state"])), shown);
    let free = "topolet_free_devices{numa_node=\"\",resource=\"example.com/vf\"} 0";
    assert!(watcher.get("/metrics").body.lines().any(|line| line == free), "it is registered and has none");
    drop(watcher);
    // And the same where no service lists its pods.
    owner.kill();
    let watcher = watch(root.path(), &own);
    until("a watcher", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    assert_eq!(lines(&watcher.prints(&["get", "state"])), shown);
}

#[test]
fn static_pods_are_named_by_their_manifests_where_nobody_tells_of_them() {
    let (served, root, own) = (Folder::new(), Folder::new(), Folder::new());
    let manifests = own.path().join("manifests");
    let config = own.path().join("kubelet.yaml");
    fs::write(&config, with_static_pods(&manifests)).unwrap();
    let owner = Daemon::with_config(served.path(), config.to_str().unwrap());
    let with_uid = |name: &str, uid: &str| {
        pod(name, "cpu: 2, memory: 1Gi")
            .replace(&format!("name: {name}"), &format!("name: {name}, uid: {uid}"))
    };
    for (name, uid) in [("etcd", "0a0a"), ("web", "0b0b")] {
        assert_eq!(owner.ask("POST", "/v1/pods", &with_uid(name, uid)).status, 200);
    }
    // A kubelet without a service that lists its pods.
    for file in ["cpu_manager_state", "memory_manager_state"] {
        fs::copy(served.path().join(file), root.path().join(file)).unwrap();
    }
    fs::create_dir(&manifests).unwrap();
    fs::write(manifests.join("etcd.yaml"), with_uid("etcd", "0a0a")).unwrap();
    // Nothing says that these hold anything, so they are not here.
    fs::write(manifests.join("idle.yaml"), with_uid("idle", "0c0c")).unwrap();
    fs::write(manifests.join("bare.yaml"), pod("bare", "cpu: 2, memory: 1Gi")).unwrap();
    let socket = own.path().join("observe.sock");
    let more = ["--socket", socket.to_str().unwrap(), "--config", config.to_str().unwrap()];
    let more: Vec<&str> = more.into_iter().chain(["--node-name", "worker-1"]).collect();
    let watcher = Daemon::observe(root.path(), &more).at(&socket);
    until("a watcher", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    let listed = watcher.pods();
    assert!(listed.contains("default    etcd-worker-1 "), "{listed}");
    assert!(listed.contains(" 0b0b "), "nobody says what it is called:\n{listed}");
    assert_eq!(listed.lines().count(), 3, "{listed}");
    let asked = watcher.ask("POST", "/v1/explain?output=table", &pod("new", "cpu: 2, memory: 1Gi")).body;
    assert!(asked.contains("was not checked against the node"), "other pods may run:\n{asked}");
}

/// A configuration that pins, with a folder of static pods.
fn with_static_pods(manifests: &Path) -> String {
    format!(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n\
         reservedSystemCPUs: 0,24,48,72\nmemoryManagerPolicy: Static\nevictionHard: {{memory.available: 1Gi}}\n\
         reservedMemory: [{{numaNode: 0, limits: {{memory: 1Gi}}}}]\ntopologyManagerPolicy: restricted\n\
         staticPodPath: {}\n",
        manifests.display()
    )
}

#[test]
fn what_a_kubelet_never_gets_to_is_no_yes() {
    const MANY_NODES: &str = "gb200-nvl4-34node";
    let (root, own) = (Folder::new(), Folder::new());
    let owner = Daemon::spawn(MANY_NODES, root.path(), "pinned", &[]);
    until("an owner", || owner.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    owner.kill();
    let socket = own.path().join("observe.sock");
    let watching = ["--observe", "--socket", socket.to_str().unwrap()];
    let watcher = Daemon::spawn(MANY_NODES, root.path(), "pinned", &watching).at(&socket);
    until("a watcher", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    let reply = watcher.ask("POST", "/v1/pods?dryRun=All", &pod("web", "cpu: 4, memory: 1Gi"));
    assert_eq!(reply.status, 422, "{}", reply.body);
    assert_eq!(reply.field("topolet-outcome"), "fate");
    let decision = &serde_json::from_str::<serde_json::Value>(&reply.body).unwrap()["decisions"][0];
    assert_eq!((&decision["verdict"], &decision["admitted"]), (&"fate".into(), &false.into()));
    assert_eq!(decision["fate"]["fault"], "merge-product");
}
