//! `kubectl topolet`, started by kubectl, with an unmodified API server: the agent of a node is asked through it, and
//! where none answers, amounts are compared.

#![cfg(feature = "serve")]

use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use crate::daemon::{Daemon, Folder, until};
use crate::described::Described;
use local_cluster::{Cluster, Parts, User, WATCHER, WATCHER_RIGHTS};

fn cluster() -> Option<Cluster> {
    let target = Path::new(env!("CARGO_BIN_EXE_topolet")).parent().unwrap().parent().unwrap();
    Cluster::for_test(target, Parts::Storage)
}

/// What a person needs for the plugin, and no more.
const RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: looks}
rules:
- {apiGroups: [''], resources: [pods], verbs: [get, list]}
- {apiGroups: [''], resources: [nodes], verbs: [get, list]}
- {apiGroups: [''], resources: [events], verbs: [list]}
- {apiGroups: [''], resources: [pods/portforward], verbs: [create, get]}
- {apiGroups: [topology.node.k8s.io], resources: [noderesourcetopologies], verbs: [get, list]}
- {apiGroups: [resource.k8s.io], resources: [resourceslices, deviceclasses, resourceclaims, resourceclaimtemplates, devicetaintrules], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: looks}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: looks}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: person}]
---
apiVersion: v1
kind: Node
metadata: {name: worker-1, labels: {disk: ssd}}
";

const TOPOLOGIES: &str =
    include_str!("../../../../deploy/crd/topology.node.k8s.io_noderesourcetopologies.yaml");

/// NUMA node 0 is almost full. It publishes no memory.
const TOPOLOGY: &str = "
apiVersion: topology.node.k8s.io/v1alpha2
kind: NodeResourceTopology
metadata: {name: worker-1}
topologyPolicies: [SingleNUMANodeContainerLevel]
zones:
- {name: node-0, type: Node, resources: [{name: cpu, capacity: '48', allocatable: '46', available: '2'}]}
- {name: node-1, type: Node, resources: [{name: cpu, capacity: '48', allocatable: '46', available: '6'}]}
";

const REFUSED: &str = r#"{"phase":"Failed","reason":"TopologyAffinityError",
    "message":"Pod was rejected: Resources cannot be allocated with Topology locality"}"#;
const RUNNING: &str = r#"{"phase":"Running","containerStatuses":[{"name":"app","image":"none","imageID":"","ready":true,
    "restartCount":0,"containerID":"containerd://0aa1"}]}"#;

/// A cluster, and a user with kubectl and the plugin.
struct Desk {
    cluster: Cluster,
    person: PathBuf,
    programs: Folder,
}

impl Desk {
    fn new(cluster: Cluster) -> Self {
        cluster.apply(&format!("{WATCHER_RIGHTS}{RIGHTS}")).unwrap();
        let programs = Folder::new();
        for name in ["kubectl-topolet", "kubectl_complete-topolet"] {
            symlink(env!("CARGO_BIN_EXE_topolet"), programs.path().join(name)).unwrap();
        }
        let person = User { name: "person", groups: &[] };
        let person = cluster.kubeconfig_of(person, Duration::from_hours(1)).unwrap();
        Self { cluster, person, programs }
    }

    /// A command with the programs in its path.
    fn command(&self, program: &str) -> Command {
        let own = Path::new(env!("CARGO_BIN_EXE_topolet")).parent().unwrap().display();
        let kubectl = self.cluster.kubectl_command();
        let kubectl = Path::new(kubectl.get_program()).parent().unwrap().display();
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{own}:{kubectl}:{path}", self.programs.path().display());
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\"", program]).env("PATH", path).env("LC_ALL", "C.UTF-8");
        command.env("KUBECONFIG", &self.person).env("HOME", self.programs.path());
        command
    }

    /// What `kubectl topolet` prints and says, and its exit status.
    fn plugin(&self, arguments: &[&str]) -> (String, String, Option<i32>) {
        let output = self.command("kubectl").arg("topolet").args(arguments).output().unwrap();
        told(output)
    }

    fn bind(&self, name: &str, limits: &str) {
        self.pod(name, "nodeName: worker-1", limits);
    }

    fn pod(&self, name: &str, spec: &str, limits: &str) {
        let manifest = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  {spec}\n  containers:\n  - name: app\n    \
             image: none\n    resources: {{limits: {{{limits}}}}}\n"
        );
        self.cluster.apply(&manifest).unwrap();
    }

    fn has_status(&self, kind: &str, name: &str, status: &str) {
        let patch = format!("{{\"status\":{status}}}");
        self.cluster
            .kubectl(&["patch", kind, name, "--subresource=status", "--type=merge", "-p", &patch])
            .unwrap();
    }

    /// A pod that an agent runs in, on the node with a kubelet at that port.
    fn agent_pod(&self, kubelet: u16) {
        let manifest = "apiVersion: v1\nkind: Pod\nmetadata: {name: topolet-x, labels: {app.kubernetes.io/name: topolet}}\n\
            spec:\n  nodeName: worker-1\n  containers:\n  - {name: agent, image: none, ports: [{name: topolet, \
            containerPort: 8080}]}\n";
        self.cluster.apply(manifest).unwrap();
        self.has_status("pod", "topolet-x", r#"{"phase":"Running"}"#);
        let status = format!(
            r#"{{"addresses":[{{"type":"InternalIP","address":"127.0.0.1"}}],
                "daemonEndpoints":{{"kubeletEndpoint":{{"Port":{kubelet}}}}}}}"#
        );
        self.has_status("node", "worker-1", &status);
    }
}

fn told(output: Output) -> (String, String, Option<i32>) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}

#[track_caller]
/// The document that a command prints as JSON, which is as the schema of its kind says.
fn printed(desk: &Desk, arguments: &[&str], kind: &str) -> serde_json::Value {
    let (text, said, _) = desk.plugin(&[arguments, &["-o", "json"]].concat());
    let document = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {said}"));
    Described::kind(kind).check(&document, &arguments.join(" "));
    document
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing:\n{text}");
    }
}

/// The daemon that writes the files, and the agent that watches them.
struct Node {
    owner: Daemon,
    watcher: Daemon,
    tcp: SocketAddr,
    _folders: [Folder; 2],
}

impl Node {
    fn start(cluster: &Cluster) -> Self {
        let (root, own) = (Folder::new(), Folder::new());
        let owner = Daemon::start(root.path(), &[]);
        let socket = own.path().join("observe.sock");
        let agent = cluster.kubeconfig_of(WATCHER, Duration::from_hours(1)).unwrap();
        let more = ["--socket", socket.to_str().unwrap(), "--config", "pinned", "--node-name", "worker-1"];
        let more = more.into_iter().chain(["--kubeconfig", agent.to_str().unwrap(), "--tcp", "127.0.0.1:0"]);
        let watcher = Daemon::observe(root.path(), &more.collect::<Vec<_>>()).at(&socket);
        let tcp = watcher.tcp_address().parse().unwrap();
        until("a listener", || {
            watcher
                .log()
                .iter()
                .any(|line| line.contains("the API server lists the node's pods"))
                .then_some(())
        });
        Self { owner, watcher, tcp, _folders: [root, own] }
    }

    /// The owner decides on a pod of the API server.
    fn decides(&self, desk: &Desk, name: &str) -> u16 {
        let manifest = desk.cluster.kubectl(&["get", "pod", name, "-o", "json"]).unwrap();
        self.owner.ask("POST", "/v1/pods", &manifest).status
    }
}

/// Examples in the help of a command, with and without kubectl.
fn examples(command: &str) -> Vec<String> {
    let help =
        Command::new(env!("CARGO_BIN_EXE_topolet")).args(["kubectl", command, "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let lines = help.lines().skip_while(|line| *line != "Examples:").map(str::trim);
    lines
        .filter(|line| line.starts_with("topolet ") || line.starts_with("kubectl "))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_agent_of_the_node_is_asked_through_the_api_server() {
    let Some(cluster) = cluster() else { return };
    let desk = Desk::new(cluster);
    let node = Node::start(&desk.cluster);
    let kubelet = desk.cluster.forwarding_kubelet(node.tcp).unwrap();
    desk.agent_pod(kubelet.port());

    // A pod that runs holds something, and one that is not decided on yet would.
    desk.bind("web-0", "cpu: 44, memory: 1Gi");
    let (text, said, status) = desk.plugin(&["explain", "web-0"]);
    has(&text, &["as the agent in pod default/topolet-x says", "✔ default/web-0", "admitted"]);
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(node.decides(&desk, "web-0"), 200);
    desk.has_status("pod", "web-0", RUNNING);
    until("it holds something", || {
        node.watcher.prints(&["get", "pods", "-o", "wide"]).contains("1-22,49-70").then_some(())
    });
    let (text, said, status) = desk.plugin(&["explain", "web-0", "-n", "default"]);
    has(&text, &["Name:       web-0", "Admitted", "1-22,49-70"]);
    assert_eq!(status, Some(0), "{said}");

    // A refusal is explained by what was there before the pod.
    desk.bind("big", "cpu: 48, memory: 1Gi");
    assert_eq!(node.decides(&desk, "big"), 422);
    desk.has_status("pod", "big", REFUSED);
    until("it is explained", || node.watcher.get("/v1/decisions").body.contains("default/big").then_some(()));
    let (text, _, status) = desk.plugin(&["explain", "big"]);
    has(&text, &["refused by the kubelet", "✘ default/big", "TopologyAffinityError", "would fit"]);
    assert_eq!(status, Some(2));
    let (text, _, status) = desk.plugin(&["explain", "big", "-o", "json"]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["kind"], "Decisions");
    assert_eq!(document["decisions"][0]["kubelet"]["reason"], "TopologyAffinityError");
    assert_eq!(document["decisions"].as_array().unwrap().len(), 1);
    assert_eq!(status, Some(2));

    let (text, _, status) = desk.plugin(&["node", "worker-1"]);
    has(
        &text,
        &[
            "as the agent in pod default/topolet-x says",
            "FREE",
            "NUMA 0",
            "default/web-0",
            "nothing else is wrong",
        ],
    );
    assert_eq!(status, Some(0));
    let (text, ..) = desk.plugin(&["node", "worker-1", "--color", "always"]);
    has(&text, &["\x1b[31m✘\x1b[0m 1 pod TopologyAffinityError"]);

    // People who forward a port themselves name the address, or the socket.
    let url = format!("http://{}", node.tcp);
    for agent in [url.as_str(), node.watcher.socket.to_str().unwrap()] {
        let (text, _, status) = desk.plugin(&["explain", "big", "--agent", agent]);
        has(&text, &["as the agent at ", agent, "refused by the kubelet"]);
        assert_eq!(status, Some(2));
    }
    let (_, said, status) = desk.plugin(&["node", "worker-1", "--agent", "http://127.0.0.1:1"]);
    has(&said, &["error: failed to reach topolet at http://127.0.0.1:1"]);
    assert_eq!(status, Some(1));

    for line in ["explain", "node"].into_iter().flat_map(examples) {
        let (program, rest) = line.split_once(' ').unwrap();
        let (_, said, status) = told(desk.command(program).args(rest.split(' ')).output().unwrap());
        assert_eq!(status, Some(0), "{line}: {said}");
    }

    // A pod of the same name is another pod.
    desk.cluster.kubectl(&["delete", "pod", "big", "--force"]).unwrap();
    desk.bind("big", "cpu: 1, memory: 1Gi");
    let (text, _, status) = desk.plugin(&["explain", "big"]);
    has(&text, &["✔ default/big", "admitted"]);
    assert_eq!(status, Some(0));

    // No agent listens behind the kubelet: known amounts are compared.
    node.watcher.kill();
    let (text, said, _) = desk.plugin(&["explain", "big"]);
    has(
        &text,
        &["! not seen: the agent in pod default/topolet-x does not answer", "error forwarding port 8080"],
    );
    has(&text, &["amounts compared, which is not the kubelet's answer"]);
    assert!(!said.contains("error:"), "{said}");
}

/// All nodes are a table, of which the one node is known by amounts.
#[track_caller]
fn nodes_are_listed(desk: &Desk) {
    let (text, said, status) = desk.plugin(&["nodes", "--sort", "cpu"]);
    has(
        &text,
        &[
            "NODE      FREE CPUS  LARGEST THAT FITS",
            "worker-1  2 6        ~ 4 CPUs, 1Gi memory",
            "NotReady",
            "~ of 1 node: by amounts that are published, which is not the kubelet's answer",
            "! not seen: states of nodes: a right is missing: nodestates.topolet.dev is forbidden",
        ],
    );
    assert_eq!(status, Some(2), "{said}");
    let document = printed(desk, &["nodes", "worker-1"], "NodesOverview");
    assert_eq!(document["nodes"][0]["basis"], "approximate");
    assert_eq!(document["asked"][0]["fitsNodes"], 0, "44 CPUs are free nowhere");
    let (_, said, status) = desk.plugin(&["nodes", "nowhere"]);
    has(&said, &["error: there is no node nowhere"]);
    assert_eq!(status, Some(1));
}

#[test]
fn without_an_agent_amounts_are_compared() {
    let Some(cluster) = cluster() else { return };
    let desk = Desk::new(cluster);
    desk.bind("runs", "cpu: 44, memory: 1Gi");
    desk.has_status("pod", "runs", RUNNING);
    desk.bind("web", "cpu: 4, memory: 1Gi");
    let bare = desk.plugin(&["explain", "web"]).0;
    has(
        &bare,
        &[
            "! not seen: no pod with label app.kubernetes.io/name=topolet and a port named topolet runs on worker-1",
            "! not seen: the Node object: it lists nothing that pods may request",
            "! not seen: the NodeResourceTopology: ",
            "! not seen: the kubelet's configuration: a right is missing: ",
            "so its policies are not known",
            "policies  not known, scope not known, CPUs not known, memory not known",
        ],
    );
    assert!(!bare.contains("NUMA 0") && !bare.contains("as a whole, "), "{bare}");

    desk.cluster.apply(TOPOLOGIES).unwrap();
    until("its objects", || desk.cluster.apply(TOPOLOGY).ok());
    let status = r#"{"allocatable":{"cpu":"92","memory":"64Gi","pods":"110"},
        "conditions":[{"type":"Ready","status":"False","reason":"KubeletNotReady","message":"it starts"}]}"#;
    desk.has_status("node", "worker-1", status);
    nodes_are_listed(&desk);
    let (text, said, status) = desk.plugin(&["explain", "web"]);
    has(
        &text,
        &[
            "default/web on worker-1 · amounts compared, which is not the kubelet's answer",
            "policies  single-numa-node, scope container, CPUs not known, memory not known",
            "cpu       4      ✘ 2 free of 46  ✔ 6 free of 46",
            "memory    1Gi    ?               ?",
            "· NUMA 1 alone has enough",
            "! no NUMA node publishes memory: not compared",
            "cpu       4      ✔ 44       92",
            "! not seen: whether the kubelet pins CPUs and memory; so both are compared as if it did",
        ],
    );
    assert_eq!(status, Some(0), "{said}");

    // What runs holds what is not left any more.
    let (text, _, status) = desk.plugin(&["explain", "runs"]);
    has(&text, &["kubelet   Running", "so nothing is compared, since the kubelet has admitted it"]);
    assert!(!text.contains('✘') && status == Some(0), "{text}");

    desk.bind("wide", "cpu: 8, memory: 1Gi");
    let (text, _, status) = desk.plugin(&["explain", "wide"]);
    has(&text, &["✘ no NUMA node alone has enough, all together have; policy single-numa-node refuses that"]);
    assert_eq!(status, Some(2));
    let (_, said, status) = desk.plugin(&["explain", "wide", "-o", "json"]);
    let document = printed(&desk, &["explain", "wide"], "PodOutlook");
    assert_eq!(document["units"][0]["showsRefusal"], true);
    assert_eq!(document["units"][0]["resources"][0]["nodes"][1]["free"], 6);
    assert_eq!(document["units"][0]["notCompared"], serde_json::json!(["memory"]));
    assert!(document["policies"].get("cpuPolicy").is_none(), "it is not known: {document}");
    assert!(said.contains("not the kubelet's answer") && status == Some(2), "{said}");

    desk.pod("picky", "nodeName: worker-1\n  nodeSelector: {disk: hdd}", "cpu: 60, memory: 1Gi");
    let (text, _, status) = desk.plugin(&["explain", "picky"]);
    has(&text, &["✘ all NUMA nodes together have too little: cpu", "✘ 56", "Predicate NodeAffinity failed"]);
    assert_eq!(status, Some(2));
    desk.has_status("pod", "picky", REFUSED);

    let (text, _, status) = desk.plugin(&["node", "worker-1"]);
    has(
        &text,
        &[
            "worker-1 · as the API server's objects tell of it, not its kubelet",
            "cpu   2 free of 46  6 free of 46",
            "default/runs  ?     44 cpu, 1Gi memory",
            "3 pods are bound to it",
            "✘ 1 pod TopologyAffinityError: default/picky",
            "✘ condition Ready is False: it starts",
        ],
    );
    assert_eq!(status, Some(2));
    printed(&desk, &["node", "worker-1"], "NodeOutlook");

    // An agent is there, and its node's kubelet is not.
    desk.agent_pod(1);
    let text = desk.plugin(&["explain", "web"]).0;
    has(
        &text,
        &[
            "! not seen: the agent in pod default/topolet-x does not answer: the API server forwards no port of pod default/topolet-x: error \
             dialing backend: dial tcp 127.0.0.1:1: connect: connection refused",
        ],
    );
    has(&text, &["NUMA 1 alone has enough"]);
    let other = User { name: "other", groups: &[] };
    let other = desk.cluster.kubeconfig_of(other, Duration::from_hours(1)).unwrap();
    let fewer =
        RIGHTS.replace("- {apiGroups: [''], resources: [pods/portforward], verbs: [create, get]}\n", "");
    desk.cluster.apply(&fewer.replace("name: looks", "name: fewer").replace("person", "other")).unwrap();
    let text = desk.plugin(&["explain", "web", "--kubeconfig", other.to_str().unwrap()]).0;
    has(&text, &["does not answer: a right is missing: ", "cannot get resource \"pods/portforward\""]);
}

/// kube-scheduler gives up a search for devices, and asks no extender: the plugin says so, and which order of requests ends in time.
fn a_search_that_times_out_is_named(desk: &Desk) {
    let file = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/files/training").join(name);
        std::fs::read_to_string(path).unwrap()
    };
    let claim = "
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: cpus-first}
spec:
  devices:
    requests:
    - {name: cpus, exactly: {deviceClassName: cpu, count: 8}}
    - {name: gpu, exactly: {deviceClassName: gpu}}
    constraints: [{matchAttribute: resource.kubernetes.io/numaNode}]
";
    desk.cluster.apply(&format!("{}\n---\n{claim}", file("slices.yaml"))).unwrap();
    let spec =
        "schedulerName: default-scheduler\n  resourceClaims: [{name: d, resourceClaimName: cpus-first}]";
    desk.pod("searches", spec, "cpu: 4, memory: 1Gi");
    let event = "apiVersion: v1\nkind: Event\nmetadata: {name: searches.late}\nreason: FailedScheduling\ntype: Warning\n\
        message: 'running \"DynamicResources\" filter plugin: node worker-1: timed out trying to allocate devices'\nlastTimestamp: '2026-01-02T00:00:00Z'\n\
        involvedObject: {kind: Pod, namespace: default, name: searches}\n";
    desk.cluster.apply(event).unwrap();
    let (text, said, status) = desk.plugin(&["explain", "searches"]);
    has(
        &text,
        &[
            "✘ kube-scheduler's search for devices exceeded its limit of 10 s on node worker-1, and no extender is asked about the pod: the \
             search takes 2007109 steps on node worker-1",
            "in the order gpu, cpus: kube-scheduler's search takes 13 steps",
        ],
    );
    assert_eq!(status, Some(2), "{said}");
    let document = printed(desk, &["explain", "searches"], "PendingPod");
    assert!(document["search"].as_str().is_some_and(|search| search.contains("gpu, cpus")), "{document}");
    desk.cluster.kubectl(&["delete", "pod", "searches"]).unwrap();
}

#[test]
fn a_pod_without_a_node_and_errors_say_what_to_do() {
    let Some(cluster) = cluster() else { return };
    let desk = Desk::new(cluster);
    desk.pod("waits", "schedulerName: default-scheduler", "cpu: 4, memory: 1Gi");
    let (text, _, status) = desk.plugin(&["explain", "waits"]);
    has(&text, &["default/waits has no node yet", "there is no event of the scheduler about it"]);
    assert_eq!(status, Some(2));
    for (name, at, message) in
        [("early", "2026-01-01", "0/2 nodes"), ("late", "2026-01-02", "0/1 nodes are available")]
    {
        let event = format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: waits.{name}}}\nreason: FailedScheduling\ntype: Warning\n\
             message: '{message}'\nlastTimestamp: '{at}T00:00:00Z'\ninvolvedObject: {{kind: Pod, namespace: default, name: waits}}\n"
        );
        desk.cluster.apply(&event).unwrap();
    }
    let (text, ..) = desk.plugin(&["explain", "waits"]);
    has(&text, &["the scheduler's last message: 0/1 nodes are available"]);
    let (json, ..) = desk.plugin(&["explain", "waits", "-o", "yaml"]);
    has(&json, &["kind: PendingPod", "scheduler: 0/1 nodes are available"]);
    printed(&desk, &["explain", "waits"], "PendingPod");
    a_search_that_times_out_is_named(&desk);

    let error = |arguments: &[&str]| {
        let (text, said, status) = desk.plugin(arguments);
        assert_eq!((status, text.as_str()), (Some(1), ""), "{arguments:?}: {said}");
        said
    };
    let said = error(&["explain", "none", "-n", "shop"]);
    has(&said, &["error: there is no pod none in namespace shop; -n names another namespace"]);
    has(&error(&["node", "none"]), &["error: there is no node none; `kubectl get nodes` lists all nodes"]);
    has(
        &error(&["node", "worker-1", "--kubeconfig", "/nowhere.conf"]),
        &["failed to use kubeconfig /nowhere.conf: "],
    );
    has(&error(&["node", "worker-1", "--context", "other"]), &["has no context other: it has "]);
    let nobody =
        desk.cluster.kubeconfig_of(User { name: "nobody", groups: &[] }, Duration::from_hours(1)).unwrap();
    let said = error(&["explain", "waits", "--kubeconfig", nobody.to_str().unwrap()]);
    has(&said, &["a right is missing", "User \"nobody\" cannot get resource \"pods\""]);
    let late = desk.cluster.kubeconfig_of(User { name: "late", groups: &[] }, Duration::ZERO).unwrap();
    // It is valid for the rest of this second.
    until("the certificate has expired", || {
        let said = error(&["node", "worker-1", "--kubeconfig", late.to_str().unwrap()]);
        (said.contains("401 Unauthorized") && said.contains("has expired")).then_some(())
    });
    let mut bare = desk.command("kubectl-topolet");
    let (_, said, status) = told(bare.args(["node", "worker-1"]).env_remove("KUBECONFIG").output().unwrap());
    has(&said, &["error: there is no kubeconfig: ", "--kubeconfig names one"]);
    assert_eq!(status, Some(1));

    // kubectl completes words by asking the plugin.
    let completed = |words: &[&str]| {
        let output = desk.command("kubectl").args(["__complete", "topolet"]).args(words).output().unwrap();
        told(output).0
    };
    assert_eq!(completed(&["ex"]), "explain\n:4\n");
    assert_eq!(completed(&["explain", ""]), "waits\n:4\n");
    assert_eq!(completed(&["explain", "-n", "shop", ""]), ":4\n");
    assert_eq!(completed(&["node", "work"]), "worker-1\n:4\n");
    let script = desk.programs.path().join("kubectl_complete-topolet");
    let printed = told(desk.command("topolet").args(["completions", "kubectl"]).output().unwrap()).0;
    std::fs::remove_file(&script).unwrap();
    std::fs::write(&script, printed).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, executable).unwrap();
    assert_eq!(completed(&["node", ""]), "worker-1\n:4\n");
}
