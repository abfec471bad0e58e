//! `topolet serve` as nodes of a cluster: a real API server and scheduler, simulated machines.

use std::time::Duration;

use crate::daemon::plugin::{Plugin, Script, device, register, request};
use crate::in_cluster::{cluster, in_phase, object, program, until};
use local_cluster::{Cluster, Containers, NODE_RIGHTS, NODES, Node, NodeOptions, Outages, Parts, User};
use serde_json::Value;

const MACHINE: &str = "xeon-2s-96cpu-sriov";

fn node(cluster: &Cluster, name: &str, containers: Containers) -> Node {
    Node::start(cluster, program(), NodeOptions { name, machine: MACHINE, containers, arguments: &[] })
        .unwrap()
}

/// A pod that the scheduler places, or that is bound already.
fn pod(name: &str, bound_to: Option<&str>, resources: &str) -> String {
    let node = bound_to.map(|node| format!("  nodeName: {node}\n")).unwrap_or_default();
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n{node}  containers:\n  - name: app\n    image: none\n    \
         resources: {{{resources}}}\n"
    )
}

/// The conditions of a status, as `Ready=False ContainersNotReady`.
fn conditions(status: &Value) -> Vec<String> {
    let each = status["conditions"].as_array().into_iter().flatten().map(|condition| {
        let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        format!("{}={} {}", text("type"), text("status"), text("reason")).trim_end().to_owned()
    });
    let mut all: Vec<String> = each.collect();
    all.sort();
    all
}

#[test]
fn three_nodes_run_what_the_scheduler_sends_them() {
    let Some(cluster) = cluster(Parts::Scheduler) else { return };
    cluster.apply(NODE_RIGHTS).unwrap();
    let names = ["worker-1", "worker-2", "worker-3"];
    let nodes = names.map(|name| node(&cluster, name, Containers::Simulated));
    let registered = object(&cluster, "node", "worker-1").unwrap();
    assert_eq!(registered["status"]["nodeInfo"]["kubeletVersion"], "v1.36.3");
    assert_eq!(registered["status"]["capacity"]["cpu"], "96");
    assert_eq!(registered["metadata"]["labels"]["kubernetes.io/hostname"], "worker-1");
    let ready = conditions(&registered["status"]);
    assert!(ready.contains(&"Ready=True KubeletReady".to_owned()), "{ready:?}");
    let lease: Value = serde_json::from_str(
        &cluster.kubectl(&["get", "lease", "-n", "kube-node-lease", "worker-1", "-o", "json"]).unwrap(),
    )
    .unwrap();
    assert_eq!(lease["metadata"]["ownerReferences"][0]["uid"], registered["metadata"]["uid"]);
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 40);

    // More than one node has room for.
    for number in 0..5 {
        cluster.apply(&pod(&format!("app-{number}"), None, "limits: {cpu: 40, memory: 1Gi}")).unwrap();
    }
    let mut used = std::collections::BTreeSet::new();
    for number in 0..5 {
        let name = format!("app-{number}");
        let status = in_phase(&cluster, &name, "Running");
        assert_eq!(
            conditions(&status),
            [
                "ContainersReady=True",
                "Initialized=True",
                "PodReadyToStartContainers=True",
                "PodScheduled=True",
                "Ready=True"
            ]
        );
        assert_eq!(
            (&status["qosClass"], &status["containerStatuses"][0]["ready"]),
            (&"Guaranteed".into(), &true.into())
        );
        used.insert(object(&cluster, "pod", &name).unwrap()["spec"]["nodeName"].to_string());
    }
    assert_eq!(used.len(), 3, "all nodes have pods");

    // The scheduler sees enough CPUs, and no NUMA node has them.
    cluster.kubectl(&["delete", "pod", "--all", "--wait=true", "--timeout=60s"]).unwrap();
    cluster.apply(&pod("wide", None, "limits: {cpu: 60, memory: 1Gi}")).unwrap();
    let status = in_phase(&cluster, "wide", "Failed");
    assert_eq!(status["reason"], "TopologyAffinityError");
    assert_eq!(status["message"], "Pod was rejected: Resources cannot be allocated with Topology locality");
    assert!(status["startTime"].is_string() && conditions(&status).is_empty(), "{status}");
    let described = until("events", || {
        let text = cluster.kubectl(&["describe", "pod", "wide"]).map_err(|error| error.to_string())?;
        let count = text.lines().filter(|line| line.contains("TopologyAffinityError")).count();
        if count >= 3 { Ok(text) } else { Err(text) }
    });
    for parts in [
        ["Warning", "kubelet", "Resources cannot be allocated with Topology locality"],
        ["Warning", "topolet", "would fit: "],
    ] {
        let is_it = |line: &&str| parts.iter().all(|part| line.contains(part));
        assert!(described.lines().any(|line| is_it(&line)), "{parts:?} in {described}");
    }

    // A controller that has not heard of the node for long writes this.
    let unknown =
        r#"{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown"}]}}"#;
    cluster
        .kubectl(&["patch", "node", "worker-1", "--subresource=status", "--type=strategic", "-p", unknown])
        .unwrap();
    let now = conditions(&object(&cluster, "node", "worker-1").unwrap()["status"]);
    assert!(now.contains(&"Ready=Unknown NodeStatusUnknown".to_owned()), "{now:?}");
    is_ready(&cluster);

    // A finalizer keeps the object until the test has read how the pod ended.
    let kept = pod("kept", Some("worker-2"), "limits: {cpu: 2, memory: 1Gi}")
        .replace("name: kept", "name: kept, finalizers: [example.com/keep]");
    cluster.apply(&kept).unwrap();
    in_phase(&cluster, "kept", "Running");
    cluster.kubectl(&["delete", "pod", "kept", "--wait=false"]).unwrap();
    let status = in_phase(&cluster, "kept", "Succeeded");
    assert_eq!(status["containerStatuses"][0]["state"]["terminated"]["exitCode"], 0, "{status}");
    let free = r#"{"metadata":{"finalizers":null}}"#;
    cluster.kubectl(&["patch", "pod", "kept", "--type=merge", "-p", free]).unwrap();
    drop(nodes);
}

/// The UIDs of pods that hold something.
fn held(node: &Node) -> Vec<String> {
    let state: Value = serde_json::from_str(&node.topolet(&["get", "state", "-o", "json"]).unwrap()).unwrap();
    let containers = state["containers"].as_array().into_iter().flatten();
    containers.map(|container| container["uid"].as_str().unwrap().to_owned()).collect()
}

/// Reports a container to the node, as a runtime does.
fn report(node: &Node, pod: &str, what: &str, body: &str) {
    let request = format!("POST /v1/pods/default/{pod}/containers/app/{what}");
    let (status, answer) = node.ask(&request, body).unwrap();
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn pods_live_and_end_as_a_runtime_reports() {
    let Some(cluster) = cluster(Parts::Storage) else { return };
    cluster.apply(NODE_RIGHTS).unwrap();
    let mut node = node(&cluster, "worker-1", Containers::Reported);
    let bound = |name: &str| pod(name, Some("worker-1"), "limits: {cpu: 4, memory: 1Gi}");
    let waiting = |name: &str| {
        until("a status", || {
            let status = object(&cluster, "pod", name)?["status"].clone();
            let reason = status["containerStatuses"][0]["state"]["waiting"]["reason"].clone();
            if reason == "ContainerCreating" { Ok(status) } else { Err(status.to_string()) }
        })
    };
    cluster.apply(&bound("served")).unwrap();
    let status = waiting("served");
    assert_eq!(status["phase"], "Pending");
    let unready = conditions(&status);
    assert!(unready.contains(&"Ready=False ContainersNotReady".to_owned()), "{unready:?}");
    assert_eq!(status["hostIP"], "127.0.0.1");
    report(&node, "served", "started", r#"{"id": "c1"}"#);
    let status = in_phase(&cluster, "served", "Running");
    assert_eq!(status["containerStatuses"][0]["containerID"], "topolet://c1");

    // A node that was killed goes on with the pod that it has.
    node.kill();
    node.restart().unwrap();
    assert_eq!(object(&cluster, "pod", "served").unwrap()["status"], status);

    // A deletion waits for the pod's container.
    cluster.kubectl(&["delete", "pod", "served", "--wait=false"]).unwrap();
    until("an event", || {
        let told = node.topolet(&["get", "events"]).map_err(|error| error.to_string())?;
        if told.contains("Stopping container app") { Ok(()) } else { Err(told) }
    });
    assert_eq!(held(&node).len(), 1);
    report(&node, "served", "exited", r#"{"id": "c1", "exitCode": 0}"#);
    until("its end", || match object(&cluster, "pod", "served") {
        Err(error) if error.contains("NotFound") => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert_eq!(held(&node), Vec::<String>::new());

    // The kept object of a deleted pod shows how the pod ended.
    cluster
        .apply(&bound("kept").replace("{name: kept}", "{name: kept, finalizers: [example.com/keep]}"))
        .unwrap();
    waiting("kept");
    cluster.kubectl(&["delete", "pod", "kept", "--wait=false"]).unwrap();
    let status = in_phase(&cluster, "kept", "Failed");
    assert_eq!(status["containerStatuses"][0]["state"]["terminated"]["reason"], "ContainerStatusUnknown");
    assert_eq!(held(&node), Vec::<String>::new());
    cluster
        .kubectl(&["patch", "pod", "kept", "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#])
        .unwrap();
    until("its end", || object(&cluster, "pod", "kept").map_or(Ok(()), |object| Err(object.to_string())));

    // A pod that does its work and is done holds nothing.
    let once = bound("once").replace("spec:\n", "spec:\n  restartPolicy: Never\n");
    cluster.apply(&once).unwrap();
    waiting("once");
    report(&node, "once", "started", r#"{"id": "c2"}"#);
    in_phase(&cluster, "once", "Running");
    report(&node, "once", "exited", r#"{"id": "c2", "exitCode": 3}"#);
    let status = in_phase(&cluster, "once", "Failed");
    assert_eq!(status["containerStatuses"][0]["state"]["terminated"]["exitCode"], 3);
    assert_eq!(held(&node), Vec::<String>::new());

    // By force: a deletion waits for nothing, also while the node is away.
    for name in ["forced", "unseen"] {
        cluster.apply(&bound(name)).unwrap();
        waiting(name);
    }
    assert_eq!(held(&node).len(), 2);
    cluster.kubectl(&["delete", "pod", "forced", "--force"]).unwrap();
    until("a release", || if held(&node).len() == 1 { Ok(()) } else { Err(format!("{:?}", held(&node))) });
    let refused = node.topolet(&["delete", "pod", "unseen"]).unwrap_err().to_string();
    assert!(refused.contains("bound to this node by the API server"), "{refused}");
    node.kill();
    cluster.kubectl(&["delete", "pod", "unseen", "--force"]).unwrap();
    node.restart().unwrap();
    until("a release", || if held(&node).is_empty() { Ok(()) } else { Err(format!("{:?}", held(&node))) });
}

#[test]
fn nothing_is_lost_or_doubled_while_api_server_and_nodes_are_killed() {
    let Some(mut cluster) = cluster(Parts::Scheduler) else { return };
    let outages = Outages { pods: 60, nodes: 3, api_server: 2, node: 2, machine: MACHINE };
    let figures = outages.run(&mut cluster, program()).unwrap();
    assert!(figures.running > 0 && figures.exclusive > 0 && !figures.refused.is_empty(), "{figures}");
}

#[test]
fn devices_of_plugins_are_the_nodes_while_their_plugin_lives() {
    const CARD: &str = "example.com/card";
    let Some(cluster) = cluster(Parts::Scheduler) else { return };
    cluster.apply(NODE_RIGHTS).unwrap();
    let node = node(&cluster, "worker-1", Containers::Simulated);
    let amounts = |expected: [Value; 2]| {
        until("devices", || {
            let status = object(&cluster, "node", "worker-1")?["status"].clone();
            let now = [status["capacity"][CARD].clone(), status["allocatable"][CARD].clone()];
            if now == expected { Ok(()) } else { Err(format!("{now:?}")) }
        });
    };
    let folder = node.root().join("device-plugins");
    let devices = vec![device("c0", &[0]), device("c1", &[1])];
    let plugin = Plugin::listen(&folder.join("card.sock"), Script::default(), devices);
    register(&folder.join("kubelet.sock"), request("card.sock", CARD)).unwrap();
    amounts(["2".into(), "2".into()]);
    cluster.apply(&pod("card", None, &format!("limits: {{cpu: 2, memory: 1Gi, {CARD}: 1}}"))).unwrap();
    in_phase(&cluster, "card", "Running");
    drop(plugin);
    amounts(["2".into(), "0".into()]);
}

#[test]
fn an_expired_certificate_is_said_and_a_new_one_goes_on() {
    let Some(cluster) = cluster(Parts::Storage) else { return };
    cluster.apply(NODE_RIGHTS).unwrap();
    let options =
        NodeOptions { name: "worker-1", machine: MACHINE, containers: Containers::Simulated, arguments: &[] };
    let mut node = Node::new(&cluster, program(), options).unwrap();
    let user = User { name: "node:worker-1", groups: &[NODES] };
    // The file that the node reads.
    cluster.kubeconfig_of(user, Duration::ZERO).unwrap();
    node.spawn().unwrap();
    let said = until("a note", || {
        let answer = node.is_ready().unwrap_err().to_string();
        if answer.contains("the node is not registered: https") { Ok(answer) } else { Err(answer) }
    });
    assert!(said.contains("does not accept the credentials (401 Unauthorized)"), "{said}");
    // It is read again by the daemon that runs.
    cluster.kubeconfig_of(user, Duration::from_hours(1)).unwrap();
    is_ready(&cluster);
}

/// Waits until the API server has the node as ready.
fn is_ready(cluster: &Cluster) {
    until("a node that is ready", || {
        let now = conditions(&object(cluster, "node", "worker-1")?["status"]);
        if now.contains(&"Ready=True KubeletReady".to_owned()) { Ok(()) } else { Err(format!("{now:?}")) }
    });
}

#[test]
fn a_missing_right_is_named() {
    let Some(cluster) = cluster(Parts::Storage) else { return };
    let without =
        NODE_RIGHTS.replace("- apiGroups: ['']\n  resources: [pods/status]\n  verbs: [patch]\n", "");
    assert_ne!(without, NODE_RIGHTS);
    cluster.apply(&without).unwrap();
    let mut node = node(&cluster, "worker-1", Containers::Simulated);
    for name in ["a", "b"] {
        cluster.apply(&pod(name, Some("worker-1"), "limits: {cpu: 2, memory: 1Gi}")).unwrap();
    }
    let said = until("a note", || {
        let answer = node.is_ready().map_or_else(|error| error.to_string(), |()| "ready".to_owned());
        let is_it = answer.contains("statuses of pods are not sent: a right is missing");
        if is_it { Ok(answer) } else { Err(answer) }
    });
    assert!(said.contains("cannot patch resource \\\"pods/status\\\""), "{said}");
    let lines = node.log().lines().filter(|line| line.contains("a right is missing")).count();
    assert_eq!(lines, 1, "{}", node.log());
    // Once the right is there everything is reported.
    cluster.apply(NODE_RIGHTS).unwrap();
    in_phase(&cluster, "a", "Running");
    node.kill();
}

#[test]
fn another_agent_of_that_name_keeps_a_node_from_starting() {
    let Some(cluster) = cluster(Parts::Storage) else { return };
    cluster.apply(NODE_RIGHTS).unwrap();
    let now = cluster
        .kubectl(&["get", "namespace", "default", "-o", "jsonpath={.metadata.creationTimestamp}"])
        .unwrap();
    let lease = format!(
        "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: worker-1, namespace: kube-node-lease}}\nspec:\n  \
         holderIdentity: worker-1\n  leaseDurationSeconds: 3600\n  renewTime: {}\n",
        now.replace('Z', ".000000Z")
    );
    cluster.apply(&lease).unwrap();
    let options =
        NodeOptions { name: "worker-1", machine: MACHINE, containers: Containers::Simulated, arguments: &[] };
    let mut second = Node::new(&cluster, program(), options).unwrap();
    second.spawn().unwrap();
    let why = until("its end", || second.why_ended().ok_or_else(|| second.log()));
    assert!(why.contains("node worker-1 is alive already: worker-1 has renewed its Lease"), "{why}");
    assert!(object(&cluster, "node", "worker-1").is_err_and(|error| error.contains("NotFound")));
}

#[test]
fn the_object_keeps_what_others_have_written() {
    let Some(cluster) = cluster(Parts::Storage) else { return };
    cluster.apply(NODE_RIGHTS).unwrap();
    let before = "apiVersion: v1\nkind: Node\nmetadata:\n  name: worker-1\n  labels: {team: red}\n  annotations: {note: mine}\n\
                  spec:\n  taints: [{key: drained, effect: NoSchedule}]\n";
    cluster.apply(before).unwrap();
    let node = node(&cluster, "worker-1", Containers::Simulated);
    let object = object(&cluster, "node", "worker-1").unwrap();
    let metadata = &object["metadata"];
    assert_eq!(
        (&metadata["labels"]["team"], &metadata["annotations"]["note"]),
        (&"red".into(), &"mine".into())
    );
    assert_eq!(metadata["labels"]["kubernetes.io/os"], "linux");
    assert_eq!(object["spec"]["taints"][0]["key"], "drained");
    assert_eq!(object["status"]["capacity"]["cpu"], "96");
    drop(node);
}
