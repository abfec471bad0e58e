//! A node whose kubelet lists the node's pods: another daemon writes the files, and this test is the kubelet's pods API.

use crate::daemon;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::daemon::{Daemon, Folder, pod, until};
use pods_api::{KubeletPod, PodsServer, SOCKET};

/// A pod of the daemon's, as a kubelet tells of it.
fn told(name: &str, limits: &str, status: &str) -> KubeletPod {
    let amounts: Vec<String> = limits
        .split(", ")
        .map(|amount| {
            let (resource, amount) = amount.split_once(": ").unwrap();
            format!("\"{resource}\":\"{amount}\"")
        })
        .collect();
    let amounts = amounts.join(",");
    let json = format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"default","uid":"default_{name}"}},
            "spec":{{"containers":[{{"name":"app","resources":{{"limits":{{{amounts}}},"requests":{{{amounts}}}}}}}]}},
            "status":{status}}}"#
    );
    KubeletPod::from_json(&json).unwrap()
}

const RUNNING: &str = r#"{"phase":"Running"}"#;

fn refused(reason: &str, message: &str) -> String {
    format!(r#"{{"phase":"Failed","reason":"{reason}","message":"Pod was rejected: {message}"}}"#)
}

const NOT_ALIGNED: &str = "Resources cannot be allocated with Topology locality";

struct Node {
    owner: Daemon,
    watcher: Daemon,
    root: Folder,
    _own: Folder,
}

impl Node {
    fn start() -> Self {
        Self::with(&[])
    }

    /// The same with more options of the watcher.
    fn with(more: &[&str]) -> Self {
        let (root, own) = (Folder::new(), Folder::new());
        let owner = Daemon::start(root.path(), &[]);
        let socket = own.path().join("observe.sock");
        let config = ["--socket", socket.to_str().unwrap(), "--config", "pinned"];
        let watcher = Daemon::observe(root.path(), &[&config, more].concat()).at(&socket);
        until("a watcher", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
        Self { owner, watcher, root, _own: own }
    }

    /// The kubelet serves it, and is listened to.
    fn pods_api(&self) -> PodsServer {
        let server = PodsServer::listen(&self.root.path().join(SOCKET)).unwrap();
        until("a listener", || self.is_logged(&["the kubelet lists the node's pods"]).then_some(()));
        server
    }

    /// The daemon's status and reason for the pod.
    fn admit(&self, name: &str, limits: &str) -> u16 {
        self.owner.ask("POST", "/v1/pods", &pod(name, limits)).status
    }

    fn is_logged(&self, parts: &[&str]) -> bool {
        self.watcher.log().iter().any(|line| parts.iter().all(|part| line.contains(part)))
    }

    fn counts(&self, metric: &str, value: u32) {
        let line = format!("{metric} {value}\n");
        until(&line, || self.watcher.get("/metrics").body.contains(&line).then_some(()));
    }
}

#[test]
fn what_the_kubelet_refuses_is_explained() {
    let node = Node::start();
    let server = node.pods_api();
    assert_eq!(node.admit("first", "cpu: 44, memory: 1Gi"), 200);
    server.put(told("first", "cpu: 44, memory: 1Gi", RUNNING));
    until("names", || node.watcher.pods().contains("first").then_some(()));
    node.counts("topolet_observe_disagreements_total", 0);

    // 44 CPUs of one NUMA node are taken, and the other has not 48.
    let big = "cpu: 48, memory: 1Gi";
    assert_eq!(node.admit("big", big), 422);
    server.put(told("big", big, &refused("TopologyAffinityError", NOT_ALIGNED)));
    until("an explanation", || node.watcher.get("/v1/decisions").body.contains("default/big").then_some(()));
    let decisions = node.watcher.get("/v1/decisions").json("Decisions");
    let decision = &decisions["decisions"][0];
    assert_eq!(decision["source"], "kubelet");
    assert_eq!(decision["kubelet"]["reason"], "TopologyAffinityError");
    assert_eq!(decision["kubelet"]["agrees"], true);
    let table = node.watcher.get("/v1/decisions?output=table").body;
    assert!(table.contains("refused by the kubelet") && table.contains("would fit"), "{table}");
    assert!(!table.contains("not looked at: the node-wide fit"), "requests of all pods are known:\n{table}");
    let parts = ["pod refused by the kubelet", "default/big", "TopologyAffinityError", "why=", "fits="];
    until("a line of the log", || node.is_logged(&parts).then_some(()));
    let listed = node.watcher.pods();
    assert!(listed.contains("big") && listed.contains("TopologyAffinityError"), "{listed}");
    node.counts("topolet_observe_refusals_total{reason=\"TopologyAffinityError\"}", 1);

    // The same status again is not another refusal.
    server.put(told("big", big, &refused("TopologyAffinityError", NOT_ALIGNED)));
    server.put(told(
        "small",
        "cpu: 1, memory: 1Gi",
        &refused("NodeAffinity", "Predicate NodeAffinity failed"),
    ));
    until("another reason", || node.is_logged(&["default/small", "NodeAffinity"]).then_some(()));
    node.counts("topolet_observe_refusals_total{reason=\"TopologyAffinityError\"}", 1);
    node.counts("topolet_observe_disagreements_total", 0);

    server.remove("default_big");
    until("it is gone", || (!node.watcher.pods().contains("big")).then_some(()));
}

#[test]
fn what_the_files_still_list_of_a_refused_pod_is_free() {
    let node = Node::start();
    let server = node.pods_api();
    assert_eq!(node.admit("other", "cpu: 2, memory: 1Gi"), 200);
    server.put(told("other", "cpu: 2, memory: 1Gi", RUNNING));
    // A kubelet books the first containers of a pod before it refuses another, and writes that before it tells of the pod.
    assert_eq!(node.admit("half", "cpu: 40, memory: 1Gi"), 200);
    let fits = || {
        let twice = ["wide", "next"].map(|name| pod(name, "cpu: 44, memory: 1Gi")).join("---\n");
        let explained = node.watcher.ask("POST", "/v1/explain", &twice).json("Explanation");
        let decisions = explained["decisions"].as_array().unwrap();
        decisions.iter().all(|decision| decision["admitted"] == true)
    };
    until("it is booked, though nobody has told of it", || (!fits()).then_some(()));
    server.put(told("half", "cpu: 40, memory: 1Gi", &refused("TopologyAffinityError", NOT_ALIGNED)));
    until("its CPUs are free", || fits().then_some(()));

    // It is deleted, and listed all the same until the next admission.
    server.remove("default_half");
    until("it is gone", || (!node.watcher.pods().contains("half")).then_some(()));
    server.put(told(
        "other",
        "cpu: 2, memory: 1Gi",
        r#"{"phase":"Running","containerStatuses":[{"name":"app"}]}"#,
    ));
    until("a look", || node.watcher.get("/v1/events").body.contains("Admitted").then_some(()));
    assert!(fits() && !node.watcher.pods().contains("half"), "{}", node.watcher.pods());
}

#[test]
fn what_is_admitted_without_cpus_of_its_own_is_explained_once() {
    let node = Node::start();
    let server = node.pods_api();
    let status = r#"{"phase":"Pending","containerStatuses":[{"name":"app"}]}"#;
    let events = || node.watcher.get("/v1/events?output=table").body;
    let is_told = |parts: &[&str]| events().lines().any(|line| parts.iter().all(|part| line.contains(part)));

    assert_eq!(node.admit("own", "cpu: 2, memory: 1Gi"), 200);
    server.put(told("own", "cpu: 2, memory: 1Gi", status));
    until("what it holds", || is_told(&["Admitted", "default/own", "app: CPUs 1,49"]).then_some(()));

    // A bound pod that the kubelet has not looked at yet is neither admitted nor refused.
    server.put(told("part", "cpu: 1500m, memory: 1Gi", r#"{"phase":"Pending"}"#));
    assert_eq!(node.admit("part", "cpu: 1500m, memory: 1Gi"), 200);
    assert!(!is_told(&["default/part"]));
    for _ in 0..2 {
        server.put(told("part", "cpu: 1500m, memory: 1Gi", status));
    }
    let explained = |name: &str, amount: &str| {
        let why = format!("app: admitted, CPUs NOT pinned: {amount} CPUs are no whole number of CPUs");
        until("why", || is_told(&["Normal", "NotPinned", &format!("default/{name}"), &why]).then_some(()));
        let parts = ["pod runs without exclusive CPUs", &format!("default/{name}"), &why];
        until("a line of the log", || node.is_logged(&parts).then_some(()));
    };
    explained("part", "1500m");
    assert_eq!(events().matches("NotPinned").count(), 1);
    for (name, amount) in [("quarter", "250m"), ("half", "500m"), ("most", "2500m")] {
        let limits = format!("cpu: {amount}, memory: 1Gi");
        assert_eq!(node.admit(name, &limits), 200);
        server.put(told(name, &limits, status));
        explained(name, amount);
    }
    assert_eq!(events().matches("NotPinned").count(), 4);

    // Of a pod that is not Guaranteed, a container that requests less than a CPU is not expected to be pinned.
    for (name, cpu) in [("small", "500m"), ("large", "2")] {
        let json = told(name, &format!("cpu: {cpu}, memory: 1Gi"), status).to_json().unwrap();
        let mut json: serde_json::Value = serde_json::from_str(&json).unwrap();
        json["spec"]["containers"][0]["resources"]["limits"] = serde_json::json!({});
        server.put(KubeletPod::from_json(&json.to_string()).unwrap());
        until("it is admitted", || is_told(&["Admitted", &format!("default/{name}")]).then_some(()));
    }
    until("why", || is_told(&["NotPinned", "default/large", "Burstable"]).then_some(()));
    assert_eq!(node.owner.ask("DELETE", "/v1/pods/default/own", "").status, 200);
    server.remove("default_own");
    until("its end", || is_told(&["Ended", "default/own"]).then_some(()));
    assert_eq!(events().matches("NotPinned").count(), 5);
}

#[test]
fn a_refusal_that_is_not_understood_is_said_to_be_so() {
    let node = Node::start();
    // Both are refused before the watcher connects; one fits now.
    let server = PodsServer::listen(&node.root.path().join(SOCKET)).unwrap();
    server.starting(true);
    let not_aligned = refused("TopologyAffinityError", NOT_ALIGNED);
    server.put(told("fits", "cpu: 1, memory: 1Gi", &not_aligned));
    server.put(told("huge", "cpu: 49, memory: 1Gi", &not_aligned));
    server.starting(false);
    until("pods", || node.watcher.pods().contains("fits").then_some(()));
    until("a line", || node.is_logged(&["default/fits", "the node has changed since"]).then_some(()));
    until("the other", || node.watcher.get("/v1/decisions").body.contains("default/huge").then_some(()));
    assert!(!node.watcher.get("/v1/decisions").body.contains("default/fits"));
    let table = node.watcher.get("/v1/decisions?output=table").body;
    assert!(table.contains("refused by the kubelet some time before"), "{table}");

    server.put(told("odd", "cpu: 1, memory: 1Gi", &refused("TopologyAffinityError", NOT_ALIGNED)));
    until("a disagreement", || {
        node.is_logged(&["decided otherwise here", "default/odd", "here=\"admitted\""]).then_some(())
    });
    node.counts("topolet_observe_disagreements_total", 1);
    let table = node.watcher.get("/v1/decisions?output=table").body;
    assert!(table.contains("TopologyAffinityError") && table.contains("decides otherwise"), "{table}");

    let json = format!(
        r#"{{"metadata":{{"name":"bare","namespace":"default","uid":"u"}},"status":{}}}"#,
        refused("TopologyAffinityError", NOT_ALIGNED)
    );
    server.put(KubeletPod::from_json(&json).unwrap());
    until("a line", || node.is_logged(&["default/bare", "what it requests is not known"]).then_some(()));
    node.counts("topolet_observe_disagreements_total", 1);
}

/// The node files in a folder.
fn node_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "zst")).collect();
    files.sort();
    files
}

#[test]
fn what_is_decided_otherwise_is_packed_and_can_be_decided_again() {
    let own = Folder::new();
    let folder = own.path().join("new/disagreements");
    let node = Node::with(&["--disagreements", folder.to_str().unwrap()]);
    let server = node.pods_api();
    assert_eq!(node.admit("first", "cpu: 44, memory: 1Gi"), 200);
    server.put(told("first", "cpu: 44, memory: 1Gi", RUNNING));
    until("names", || node.watcher.pods().contains("first").then_some(()));

    // What the kubelet decides as we do is not packed.
    assert_eq!(node.admit("big", "cpu: 48, memory: 1Gi"), 422);
    server.put(told("big", "cpu: 48, memory: 1Gi", &refused("TopologyAffinityError", NOT_ALIGNED)));
    until("big", || node.watcher.get("/v1/decisions").body.contains("default/big").then_some(()));
    assert_eq!(node_files(&folder), Vec::<PathBuf>::new());

    server.put(told("odd", "cpu: 46, memory: 2Gi", &refused("TopologyAffinityError", NOT_ALIGNED)));
    until("a node file", || node.is_logged(&["the node is packed", "default/odd", "replay="]).then_some(()));
    let [file] = node_files(&folder).try_into().unwrap();
    let pod = fs::read_to_string(file.with_added_extension("pod.yaml")).unwrap();
    let lines: Vec<&str> = pod.lines().take(3).collect();
    let replay = lines[2].strip_prefix("# ").unwrap();
    assert_eq!(lines[0], format!("# refused by the kubelet: TopologyAffinityError: {NOT_ALIGNED}"));
    assert_eq!(lines[1], "# decided here: admitted");
    assert!(replay.contains(&format!("topolet explain -m {} -f ", file.display())), "{replay}");
    let log = node.watcher.log();
    let line = log.iter().find(|line| line.contains("the node is packed")).unwrap();
    assert!(line.contains(replay), "{line}");

    // The command makes the same decision on the same node, elsewhere.
    let program = Path::new(env!("CARGO_BIN_EXE_topolet")).parent().unwrap().display();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap());
    let again =
        Command::new("sh").args(["-c", &format!("{replay} -o json")]).env("PATH", path).output().unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stderr));
    let again: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    let here = node.watcher.get("/v1/decisions").json("Decisions");
    let (again, here) = (&again["pods"][0], &here["decisions"][1]);
    assert_eq!(here["pod"], "default/odd");
    for field in ["pod", "admitted", "containers", "units"] {
        assert!(!here[field].is_null(), "{here}");
        assert_eq!(again[field], here[field], "{field}");
    }

    // The oldest make room.
    for count in 0..21 {
        let name = format!("odd-{count}");
        server.put(told(&name, "cpu: 1, memory: 1Gi", &refused("TopologyAffinityError", NOT_ALIGNED)));
        until(&name, || {
            node.is_logged(&["the node is packed", &format!("pod=\"default/{name}\"")]).then_some(())
        });
    }
    until("a line", || node.is_logged(&["the oldest node files", "20 are kept"]).then_some(()));
    until("the last 20", || (node_files(&folder).len() == 20).then_some(()));
    assert!(!file.exists() && !file.with_added_extension("pod.yaml").exists());
}

#[test]
fn nothing_is_packed_into_the_folder_of_a_kubelet() {
    let (root, own) = (Folder::new(), Folder::new());
    assert!(Daemon::start(root.path(), &[]).terminate());
    let link = own.path().join("link");
    std::os::unix::fs::symlink(root.path(), &link).unwrap();
    for folder in [root.path().join("odd"), link.join("a/b")] {
        let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
            .args(["serve", "--observe", "-m", daemon::MACHINE, "--config", "pinned", "--root"])
            .arg(root.path())
            .arg("--socket")
            .arg(own.path().join("observe.sock"))
            .arg("--disagreements")
            .arg(&folder)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("error: --disagreements ") && said.contains("name another folder"), "{said}");
        assert_eq!(output.status.code(), Some(1));
        assert!(!folder.exists());
    }
}

#[test]
fn a_kubelet_that_restarts_is_listened_to_again() {
    let node = Node::start();
    let server = node.pods_api();
    for name in ["a", "b"] {
        assert_eq!(node.admit(name, "cpu: 2, memory: 1Gi"), 200);
        server.put(told(name, "cpu: 2, memory: 1Gi", RUNNING));
    }
    until("both", || (node.watcher.pods().matches("default").count() == 2).then_some(()));
    drop(server);

    // It starts, and has not read its pods.
    let server = PodsServer::listen(&node.root.path().join(SOCKET)).unwrap();
    server.starting(true);
    server.put(told("b", "cpu: 2, memory: 1Gi", RUNNING));
    until("two refused questions", || (server.refused() >= 2).then_some(()));
    assert!(node.watcher.pods().contains(" a "), "what is known stays");
    server.starting(false);
    until("the rest", || (!node.watcher.pods().contains(" a ")).then_some(()));
    assert!(node.watcher.pods().contains(" b "));

    // A watch that ends is made anew.
    server.end_watches();
    assert_eq!(node.admit("c", "cpu: 2, memory: 1Gi"), 200);
    server.put(told("c", "cpu: 2, memory: 1Gi", RUNNING));
    until("the next", || node.watcher.pods().contains(" c ").then_some(()));
}

/// A kubelet that looks at cgroups often.
const QUICK: &str = "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
cpuManagerReconcilePeriod: 200ms
reservedSystemCPUs: 0,24,48,72
memoryManagerPolicy: Static
evictionHard: {memory.available: 1Gi}
reservedMemory:
- {numaNode: 0, limits: {memory: 1Gi}}
topologyManagerPolicy: restricted
";

#[test]
fn containers_that_run_elsewhere_than_the_files_say_are_found() {
    let (root, own) = (Folder::new(), Folder::new());
    let cgroups = own.path().join("cgroup");
    let scope = cgroups.join("kubepods.slice/kubepods-poddefault_a.slice/cri-containerd-0aa1.scope");
    fs::create_dir_all(&scope).unwrap();
    fs::write(cgroups.join("cgroup.controllers"), "cpuset cpu memory\n").unwrap();
    let set = |cpus: &str, nodes: &str| {
        fs::write(scope.join("cpuset.cpus.effective"), format!("{cpus}\n")).unwrap();
        fs::write(scope.join("cpuset.mems.effective"), format!("{nodes}\n")).unwrap();
    };
    set("1,49", "0");
    let config = own.path().join("kubelet.yaml");
    fs::write(&config, QUICK).unwrap();
    let owner = Daemon::with_config(root.path(), config.to_str().unwrap());
    assert_eq!(owner.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
    let socket = own.path().join("observe.sock");
    let more = ["--socket", "--config", "--cgroup-root"].into_iter();
    let given = [&socket, &config, &cgroups].into_iter().map(|path| path.to_str().unwrap());
    let more: Vec<&str> = more.zip(given).flat_map(|(name, path)| [name, path]).collect();
    let watcher = Daemon::observe(root.path(), &more).at(&socket);
    until("a watcher", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    let server = PodsServer::listen(&root.path().join(SOCKET)).unwrap();
    let running =
        r#"{"phase":"Running","containerStatuses":[{"name":"app","containerID":"containerd://0aa1"}]}"#;
    server.put(told("a", "cpu: 2, memory: 1Gi", running));
    let drifted = |count: u32| {
        let line = format!("topolet_observe_drifted_containers {count}\n");
        until(&line, || watcher.get("/metrics").body.contains(&line).then_some(()));
    };
    drifted(0);

    set("0-95", "0-1");
    drifted(1);
    let sentence = "container app of pod default/a has CPUs 0-95 where the kubelet's files say 1,49, and memory of NUMA 0-1 \
                    where the kubelet's files say 0";
    let is_said = |text: &str| text.contains(sentence);
    until("a line of the log", || watcher.log().iter().any(|line| is_said(line)).then_some(()));
    let status = watcher.get("/v1/status").json("NodeStatus");
    assert!(status["problems"].to_string().contains(sentence), "{status}");
    assert_eq!(watcher.topolet(&["status"]).status.code(), Some(2), "something is wrong");
    let conditions = |status: &serde_json::Value| {
        let all = status["conditions"].as_array().unwrap();
        let one = |condition: &serde_json::Value| {
            let field = |name: &str| condition[name].as_str().unwrap().to_owned();
            assert!(field("lastTransitionTime").ends_with('Z'), "{condition}");
            ["type", "status", "reason", "message"].map(field)
        };
        all.iter().map(one).collect::<Vec<_>>()
    };
    let current = ["Current", "True", "AsExpected", ""].map(str::to_owned);
    assert!(conditions(&status).contains(&current), "{status}");
    assert!(
        conditions(&status).contains(&["InPlace", "False", "Moved", sentence].map(str::to_owned)),
        "{status}"
    );

    set("1,49", "0");
    drifted(0);
    let status = watcher.get("/v1/status").json("NodeStatus");
    assert!(!conditions(&status).iter().any(|[kind, ..]| kind == "InPlace"), "{status}");
    drop(fs::remove_dir_all(&cgroups));
    drifted(0);
}
