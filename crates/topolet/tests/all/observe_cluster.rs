//! Beside a kubelet of a real API server: another daemon writes the kubelet's files, and this test the status of pods.

use crate::daemon;
use std::path::Path;
use std::time::Duration;

use crate::daemon::{Daemon, Folder, until};
use local_cluster::{Cluster, Parts, PodsEndpoint, WATCHER, WATCHER_RIGHTS};

fn cluster() -> Option<Cluster> {
    let target = Path::new(env!("CARGO_BIN_EXE_topolet")).parent().unwrap().parent().unwrap();
    Cluster::for_test(target, Parts::Storage)
}

const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: worker-1}}";

struct Node {
    cluster: Cluster,
    owner: Daemon,
    watcher: Daemon,
    _folders: [Folder; 2],
}

impl Node {
    fn start(cluster: Cluster) -> Self {
        Self::on(cluster, daemon::MACHINE, "pinned")
    }

    fn on(cluster: Cluster, machine: &str, config: &str) -> Self {
        cluster.apply(&format!("{WATCHER_RIGHTS}{NODE}")).unwrap();
        let (root, own) = (Folder::new(), Folder::new());
        let owner = Daemon::spawn(machine, root.path(), config, &[]).ready();
        let socket = own.path().join("observe.sock");
        let agent = cluster.kubeconfig_of(WATCHER, Duration::from_hours(1)).unwrap();
        let more = ["--socket", socket.to_str().unwrap(), "--config", config, "--node-name", "worker-1"];
        let more: Vec<&str> = more.into_iter().chain(["--kubeconfig", agent.to_str().unwrap()]).collect();
        let watcher = Daemon::observe_on(machine, root.path(), &more).at(&socket);
        until("a listener", || {
            watcher
                .log()
                .iter()
                .any(|line| line.contains("the API server lists the node's pods"))
                .then_some(())
        });
        Self { cluster, owner, watcher, _folders: [root, own] }
    }

    /// Creates the pod at the API server, and has the other daemon decide on it under the same UID. Gives its status.
    fn bind(&self, name: &str, limits: &str) -> u16 {
        let manifest = self.create(name, limits);
        self.owner.ask("POST", "/v1/pods", &manifest).status
    }

    /// Creates the pod at the API server alone. Gives it as that has it.
    fn create(&self, name: &str, limits: &str) -> String {
        let manifest = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  nodeName: worker-1\n  containers:\n  \
             - name: app\n    image: none\n    resources: {{limits: {{{limits}}}}}\n"
        );
        self.cluster.apply(&manifest).unwrap();
        self.cluster.kubectl(&["get", "pod", name, "-o", "json"]).unwrap()
    }

    fn has_status(&self, name: &str, status: &str) {
        let patch = format!("{{\"status\":{status}}}");
        let arguments = ["patch", "pod", name, "--subresource=status", "--type=merge", "-p", &patch];
        self.cluster.kubectl(&arguments).unwrap();
    }

    /// The events that `kubectl describe` shows, once there are as many.
    fn events(&self, pod: &str, count: usize) -> Vec<String> {
        until("events", || {
            let text = self.cluster.kubectl(&["describe", "pod", pod]).unwrap();
            let lines = text.lines().skip_while(|line| !line.starts_with("Events:")).skip(3);
            let lines: Vec<String> = lines.map(str::to_owned).collect();
            (lines.len() >= count).then_some(lines)
        })
    }
}

const REFUSED: &str = r#"{"phase":"Failed","reason":"TopologyAffinityError",
    "message":"Pod was rejected: Resources cannot be allocated with Topology locality"}"#;

#[test]
fn refused_pods_say_why_where_people_look() {
    let Some(cluster) = cluster() else { return };
    let mut node = Node::start(cluster);
    assert_eq!(node.bind("first", "cpu: 44, memory: 1Gi"), 200);
    let running = r#"{"phase":"Running","containerStatuses":[{"name":"app","image":"none","imageID":"","ready":true,
        "restartCount":0,"containerID":"containerd://0aa1"}]}"#;
    node.has_status("first", running);
    until("its name", || node.watcher.pods().contains(" first ").then_some(()));

    assert_eq!(node.bind("big", "cpu: 48, memory: 1Gi"), 422);
    node.has_status("big", REFUSED);
    let events = node.events("big", 1);
    let parts = ["Warning", "TopologyAffinityError", "topolet", "cpu", "would fit: "];
    assert!(parts.iter().all(|part| events[0].contains(part)), "{events:?}");
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(node.watcher.get("/metrics").body.contains("topolet_observe_disagreements_total 0\n"));

    // While the API server is away the last known pods stay, and changes made then are seen afterwards.
    node.cluster.kill_api_server();
    until("a line", || {
        node.watcher.log().iter().any(|line| line.contains("the last known pods stay")).then_some(())
    });
    assert!(node.watcher.pods().contains(" first "));
    node.cluster.start_api_server().unwrap();
    assert_eq!(node.bind("late", "cpu: 47, memory: 1Gi"), 422);
    node.has_status("late", REFUSED);
    let events = node.events("late", 1);
    assert!(events[0].contains("TopologyAffinityError"), "{events:?}");
    node.cluster.kubectl(&["delete", "pod", "late", "--force"]).unwrap();
    until("its end", || (!node.watcher.pods().contains(" late ")).then_some(()));
}

#[test]
fn pods_that_a_fault_of_the_kubelet_concerns_have_an_event() {
    let Some(cluster) = cluster() else { return };
    let fault = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/faults/distribute-hang");
    let path = |file: &str| fault.join(file).display().to_string();
    let node = Node::on(cluster, &path("machine.json"), &path("kubelet.yaml"));
    // The kubelet never answers on the first, so that the second waits behind it.
    node.create("stuck", "cpu: 22, memory: 1Gi");
    node.create("behind", "cpu: 2, memory: 1Gi");
    let events = node.events("stuck", 1);
    let parts = ["Warning", "KubeletNeverAnswers", "topolet", "hands out the CPUs", "avoided by without "];
    assert!(parts.iter().all(|part| events[0].contains(part)), "{events:?}");
    let metrics = node.watcher.get("/metrics").body;
    assert!(metrics.contains("topolet_observe_fates_total{fate=\"neverAnswers\"} 1\n"), "{metrics}");
    assert!(!metrics.contains("topolet_observe_refusals_total{"), "{metrics}");
    // That it waits behind the first is what it has, as soon as it has waited long enough.
    let behind = node.cluster.kubectl(&["describe", "pod", "behind"]).unwrap();
    assert_eq!(behind.matches("Kubelet").count(), behind.matches("KubeletNotReached").count(), "{behind}");
}

#[test]
fn a_missing_right_is_named_and_the_node_is_watched_all_the_same() {
    let Some(cluster) = cluster() else { return };
    let (root, own) = (Folder::new(), Folder::new());
    let owner = Daemon::start(root.path(), &[]);
    let socket = own.path().join("observe.sock");
    let agent = cluster.kubeconfig_of(WATCHER, Duration::from_hours(1)).unwrap();
    let more = ["--socket", socket.to_str().unwrap(), "--kubeconfig", agent.to_str().unwrap()];
    let watcher = Daemon::observe(root.path(), &more).at(&socket);
    until("a line", || {
        let is_said = |line: &String| {
            line.contains("a right is missing: pods is forbidden: User \"agent\" cannot list")
        };
        watcher.log().iter().any(is_said).then_some(())
    });
    until("it is ready", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    drop(owner);
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_said_at_the_start() {
    let own = Folder::new();
    assert!(Daemon::start(own.path(), &[]).terminate());
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["serve", "--observe", "--root"])
        .arg(own.path())
        .arg("--socket")
        .arg(own.path().join("observe.sock"))
        .args(["-m", daemon::MACHINE, "--config", "pinned", "--kubeconfig", "/nowhere/admin.conf"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("error: failed to use kubeconfig /nowhere/admin.conf: "), "{said}");
}

#[test]
fn a_kubelet_before_1_37_is_asked_for_its_pods() {
    let (root, own) = (Folder::new(), Folder::new());
    let owner = Daemon::start(root.path(), &[]);
    let endpoint = PodsEndpoint::start("kubelet-token").unwrap();
    let (socket, token) = (own.path().join("observe.sock"), own.path().join("token"));
    std::fs::write(&token, "another\n").unwrap();
    let arguments =
        ["--socket", socket.to_str().unwrap(), "--config", "pinned", "--kubelet-url", &endpoint.url()]
            .map(str::to_owned);
    let token_file = ["--kubelet-token-file".to_owned(), token.to_str().unwrap().to_owned()];
    let more: Vec<&str> = arguments.iter().chain(&token_file).map(String::as_str).collect();
    // The endpoint's certificate is its own, and the host has none that could have signed it.
    let watcher = Daemon::observe_without_authorities(root.path(), &more).at(&socket);
    let is_logged = |what: &str| watcher.log().iter().any(|line| line.contains(what));
    until("a wrong token", || is_logged("does not accept the credentials").then_some(()));

    let pod = |name: &str, limits: &str, status: &str| {
        format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"default","uid":"default_{name}"}},
                "spec":{{"containers":[{{"name":"app","resources":{{"limits":{{{limits}}},"requests":{{{limits}}}}}}}]}},
                "status":{status}}}"#
        )
    };
    let small = pod("first", r#""cpu":"44","memory":"1Gi""#, r#"{"phase":"Running"}"#);
    let limits = "cpu: 44, memory: 1Gi";
    assert_eq!(owner.ask("POST", "/v1/pods", &daemon::pod("first", limits)).status, 200);
    endpoint.lists(&small);
    std::fs::write(&token, "kubelet-token\n").unwrap();
    until("its name", || watcher.pods().contains(" first ").then_some(()));
    let big = pod("big", r#""cpu":"48","memory":"1Gi""#, REFUSED);
    endpoint.lists(&format!("{small},{big}"));
    until("why", || watcher.get("/v1/decisions").body.contains("default/big").then_some(()));
    assert!(watcher.get("/metrics").body.contains("topolet_observe_disagreements_total 0\n"));
    endpoint.lists(&small);
    until("its end", || (!watcher.pods().contains(" big ")).then_some(()));
}
