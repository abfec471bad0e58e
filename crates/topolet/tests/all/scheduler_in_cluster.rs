//! `topolet scheduler` beside the real kube-scheduler: pods go where their node admits them, and nowhere else.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::in_cluster::{cluster, program, target, until};
use local_cluster::{
    Cluster, EXTENDER_RIGHTS, Extender, ExtenderClient, Fleet, Kind, NODE_RIGHTS, PUBLISHER_RIGHTS, Parts,
    Program, Programs, Shown, release_of_tests,
};
use serde_json::{Value, json};

/// Two NUMA nodes, each with 46 CPUs that containers can have for themselves.
const NODES: [&str; 6] =
    ["--machine", "xeon-2s-96cpu-sriov", "--config", "pinned", "--policy", "single-numa-node"];

/// A cluster with the kinds and rights that all of it needs.
fn prepared() -> Option<Cluster> {
    let cluster = cluster(Parts::Storage)?;
    cluster.define(&[Kind::NodeResourceTopology, Kind::NodeState]).unwrap();
    for rights in [NODE_RIGHTS, PUBLISHER_RIGHTS, EXTENDER_RIGHTS] {
        cluster.apply(rights).unwrap();
    }
    Some(cluster)
}

/// An extender that knows its nodes, and kube-scheduler with it.
fn schedule(cluster: &mut Cluster) -> Extender {
    schedule_with(cluster, "")
}

/// The same with more of kube-scheduler's configuration.
fn schedule_with(cluster: &mut Cluster, more: &str) -> Extender {
    let extender = Extender::start(cluster, program()).unwrap();
    let client = extender.client(Shown::Nothing).unwrap();
    until("its nodes", || match client.ask("GET /readyz", "").map_err(|error| error.to_string())? {
        (200, _) => Ok(()),
        (_, why) => Err(why),
    });
    let programs = Programs::built(target(), &release_of_tests()).unwrap();
    let configuration = format!("{}{more}", extender.configuration());
    cluster.start_scheduler(&programs.path(Program::Scheduler), &configuration).unwrap();
    extender
}

fn metrics(extender: &Extender) -> String {
    extender.client(Shown::Nothing).unwrap().ask("GET /metrics", "").unwrap().1
}

fn wait_for_states(cluster: &Cluster, count: usize) {
    until("all states", || {
        let names =
            cluster.kubectl(&["get", "nodestates", "-o", "name"]).map_err(|error| error.to_string())?;
        let there = names.lines().count();
        if there == count { Ok(()) } else { Err(there.to_string()) }
    });
}

fn pod(name: &str, cpus: u32) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n  - name: app\n    image: none\n    \
         resources: {{limits: {{cpu: {cpus}, memory: 1Gi}}}}\n---\n"
    )
}

fn phases(cluster: &Cluster) -> Vec<String> {
    let text = cluster.kubectl(&["get", "pods", "-o", "json"]).unwrap();
    let list: Value = serde_json::from_str(&text).unwrap();
    let phase = |pod: &Value| pod["status"]["phase"].as_str().unwrap_or_default().to_owned();
    list["items"].as_array().into_iter().flatten().map(phase).collect()
}

fn until_running(cluster: &Cluster, expected: usize) {
    until("all pods", || {
        let phases = phases(cluster);
        let count = |wanted: &str| phases.iter().filter(|phase| *phase == wanted).count();
        assert_eq!(count("Failed"), 0, "{phases:?}");
        let events = || cluster.kubectl(&["get", "events"]).unwrap_or_default();
        if count("Running") == expected { Ok(()) } else { Err(format!("{phases:?}\n{}", events())) }
    });
}

#[test]
fn pods_go_where_their_node_admits_them() {
    let Some(mut cluster) = prepared() else { return };
    let _fleet = Fleet::start(&cluster, program(), 3, &[&NODES[..], &["--publish-state"]].concat()).unwrap();
    wait_for_states(&cluster, 3);
    let extender = schedule(&mut cluster);
    // By sums a node has room for four of these, and its NUMA nodes for two.
    let pods: String = (1..=6).map(|number| pod(&format!("wide-{number}"), 24)).collect();
    cluster.apply(&pods).unwrap();
    until_running(&cluster, 6);
    // What is left on each NUMA node is 22 CPUs.
    cluster.apply(&pod("late", 24)).unwrap();
    let why = until("why it waits", || {
        let events = cluster
            .kubectl(&["get", "events", "--field-selector", "reason=FailedScheduling", "-o", "json"])
            .map_err(|error| error.to_string())?;
        let events: Value = serde_json::from_str(&events).map_err(|error| error.to_string())?;
        let message = events["items"][0]["message"].as_str().map(str::to_owned);
        message.ok_or_else(|| "no event".to_owned())
    });
    assert!(why.contains("3 no NUMA node has 24 exclusive CPUs free"), "{why}");
    cluster.kubectl(&["delete", "pod", "wide-3"]).unwrap();
    until_running(&cluster, 6);
    let metrics = metrics(&extender);
    assert!(!metrics.contains("topolet_scheduler_mispredictions_total{"), "{metrics}");
    assert!(metrics.contains("topolet_scheduler_nodes 3\n"), "{metrics}");
}

#[test]
fn a_pod_that_ends_others_fits_where_they_were() {
    let Some(mut cluster) = prepared() else { return };
    let _fleet = Fleet::start(&cluster, program(), 2, &[&NODES[..], &["--publish-state"]].concat()).unwrap();
    wait_for_states(&cluster, 2);
    let extender = schedule(&mut cluster);
    // An API server refuses pods of a class that it has not seen yet, so the class comes before all others.
    cluster
        .apply("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n")
        .unwrap();
    // Two on each NUMA node, one after the other: the youngest are on the second NUMA node.
    for number in 1..=8 {
        cluster.apply(&pod(&format!("low-{number}"), 23)).unwrap();
        until_running(&cluster, number);
    }
    cluster.apply(&pod("high", 40).replace("spec:\n", "spec:\n  priorityClassName: high\n")).unwrap();
    // Two have gone for it.
    until_running(&cluster, 7);
    let metrics = metrics(&extender);
    assert!(!metrics.contains("topolet_scheduler_mispredictions_total{"), "{metrics}");
    assert!(!metrics.contains("topolet_scheduler_preemptions_total 0"), "{metrics}");
    let phase = cluster.kubectl(&["get", "pod", "high", "-o", "jsonpath={.status.phase}"]).unwrap();
    assert_eq!(phase, "Running");
}

#[test]
fn what_is_no_question_is_answered_with_what_is_wrong() {
    let Some(mut cluster) = prepared() else { return };
    let _fleet = Fleet::start(&cluster, program(), 1, &[&NODES[..], &["--publish-state"]].concat()).unwrap();
    wait_for_states(&cluster, 1);
    let extender = schedule(&mut cluster);
    let client = extender.client(Shown::KubeScheduler).unwrap();
    let pod = r#"{"metadata":{"name":"a","uid":"a"},"spec":{"containers":[{"name":"c","image":"x","resources":{"limits":{"cpu":"60","memory":"1Gi"}}}]}}"#;
    for (body, expected) in [
        ("{", "the request is not what kube-scheduler sends: EOF"),
        (r#"{"NodeNames":[]}"#, "missing field `Pod`"),
        (r#"{"Pod":{"spec":{"containers":7}},"NodeNames":[]}"#, "the pod cannot be read: "),
    ] {
        let (status, text) = client.ask("POST /filter", body).unwrap();
        assert!(status == 400 && text.contains(expected), "{body}: {status} {text}");
    }
    let asked = format!(r#"{{"Pod":{pod},"NodeNames":["node-1","other"]}}"#);
    let (status, text) = client.ask("POST /filter", &asked).unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &answer["NodeNames"]), (200, &serde_json::json!(["other"])), "{text}");
    let never = answer["FailedAndUnresolvableNodes"]["node-1"].as_str().unwrap();
    assert!(never.contains("60"), "{text}");
    // By objects, as a scheduler asks that does not trust its extender to know the nodes.
    let asked = format!(r#"{{"Pod":{pod},"Nodes":{{"items":[{{"metadata":{{"name":"other"}}}}]}}}}"#);
    let (_, text) = client.ask("POST /filter", &asked).unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["Nodes"]["items"][0]["metadata"]["name"], "other", "{text}");
}

/// A GPU on a NUMA node of the nodes with a label, its class, and a template for one.
fn gpus_by_label(label: &str, numa: i64) -> Vec<Value> {
    let requirement = json!({"key": "gpus", "operator": "In", "values": [label]});
    let device = json!({"name": "gpu-0", "attributes": {"resource.kubernetes.io/numaNode": {"int": numa}}});
    let request = json!({"name": "gpu", "exactly": {"deviceClassName": "gpu"}});
    vec![
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": format!("gpus-{label}")},
            "spec": {"driver": "gpu.example.com", "pool": {"name": label, "generation": 1, "resourceSliceCount": 1},
                "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}, "devices": [device]}}),
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"},
            "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]}}),
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "gpu"},
            "spec": {"spec": {"devices": {"requests": [request]}}}}),
    ]
}

/// The CPUs of a pod are on NUMA 0, and of two nodes one has its GPU there. Which node has which is known by labels alone.
#[test]
fn devices_of_slices_that_select_nodes_by_labels_are_predicted() {
    let Some(mut cluster) = prepared() else { return };
    let _fleet = Fleet::start(&cluster, program(), 2, &[&NODES[..], &["--publish-state"]].concat()).unwrap();
    wait_for_states(&cluster, 2);
    for (node, label, numa) in [("node-1", "far", 1), ("node-2", "near", 0)] {
        cluster.kubectl(&["label", "node", node, &format!("gpus={label}")]).unwrap();
        for object in gpus_by_label(label, numa) {
            cluster.apply(&object.to_string()).unwrap();
        }
    }
    let extender = schedule(&mut cluster);
    let client = extender.client(Shown::KubeScheduler).unwrap();
    let resources = json!({"limits": {"cpu": "4", "memory": "1Gi"}, "claims": [{"name": "gpu"}]});
    let pod = json!({
        "metadata": {"name": "a", "namespace": "default", "uid": "a", "annotations": {"topolet.dev/align-claims": "required"}},
        "spec": {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
            "containers": [{"name": "app", "image": "none", "resources": resources}]},
    });
    let asked = json!({"Pod": pod, "NodeNames": ["node-1", "node-2"]}).to_string();
    let answer = until("a prediction", || {
        let (_, text) = client.ask("POST /filter", &asked).map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        if answer["NodeNames"] == json!(["node-2"]) { Ok(answer) } else { Err(text) }
    });
    let why = "claim gpu would get devices on NUMA 1, and its container CPUs and memory on NUMA 0";
    assert_eq!(answer["FailedNodes"]["node-1"], why);
}

/// kube-scheduler gives up its search for devices before it asks the extender: the pod has an event, with the order of requests that ends.
#[test]
fn a_search_of_kube_scheduler_that_times_out_is_reported() {
    const LIMIT: &str = "profiles:\n- schedulerName: default-scheduler\n  pluginConfig:\n  - name: DynamicResources\n    \
        args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: DynamicResourcesArgs, filterTimeout: 300ms}\n";
    let Some(mut cluster) = prepared() else { return };
    let _fleet = Fleet::start(&cluster, program(), 1, &[&NODES[..], &["--publish-state"]].concat()).unwrap();
    wait_for_states(&cluster, 1);
    let slices =
        include_str!("../../../../docs/guide/files/training/slices.yaml").replace("worker-1", "node-1");
    cluster.apply(&slices).unwrap();
    let constraint = json!({"matchAttribute": "resource.kubernetes.io/numaNode"});
    let requests = json!([{"name": "cpus", "exactly": {"deviceClassName": "cpu", "count": 8}},
        {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]);
    let claim = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "cpus-first"},
        "spec": {"devices": {"requests": requests, "constraints": [constraint]}}});
    cluster.apply(&claim.to_string()).unwrap();
    let extender = schedule_with(&mut cluster, LIMIT);
    let spec = "spec:\n  resourceClaims: [{name: d, resourceClaimName: cpus-first}]\n";
    cluster.apply(&pod("searches", 4).replace("spec:\n", spec)).unwrap();
    let message = until("an event", || {
        let events = cluster
            .kubectl(&["get", "events", "--field-selector", "reason=ClaimSearchTimedOut", "-o", "json"])
            .map_err(|error| error.to_string())?;
        let events: Value = serde_json::from_str(&events).map_err(|error| error.to_string())?;
        let message = events["items"][0]["message"].as_str().map(str::to_owned);
        message.ok_or_else(|| extender.log())
    });
    let begins = "kube-scheduler's search for devices of pod default/searches exceeded its limit of 10 s on node node-1, and no \
                  extender is asked about the pod: ";
    assert!(message.starts_with(begins), "{message}");
    assert!(message.contains("takes 2007109 steps on node node-1"), "{message}");
    assert!(message.contains("in the order gpu, cpus: kube-scheduler's search takes 13 steps"), "{message}");
    let client = extender.client(Shown::Nothing).unwrap();
    let ready = || client.ask("GET /readyz", "").map_err(|error| error.to_string());
    let (status, text) = ready().unwrap();
    assert!(status == 200 && text.contains(&format!("! {message}")), "{text}");
    cluster.kubectl(&["delete", "pod", "searches"]).unwrap();
    until("the line is gone", || match ready()? {
        (200, text) if !text.contains("searches") => Ok(()),
        (_, text) => Err(text),
    });
}

/// How often each answer has come, by its status, or 0 for none.
type Answers = BTreeMap<u16, usize>;

/// Clients that never end to ask.
struct Attack {
    is_over: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Answers>>,
}

impl Attack {
    /// Clients that send the first byte of a body and no other.
    const SLOW: usize = 10;
    /// How long a client waits after its connection has ended. With less, what is measured is who has the CPUs of this host.
    const PAUSE: Duration = Duration::from_millis(100);

    /// One client asks about pods that exist nowhere, the others send slowly.
    fn start(client: &ExtenderClient) -> Self {
        let is_over = Arc::<AtomicBool>::default();
        let invented = AtomicU32::default();
        let mut clients = vec![Self::repeat(&is_over, client, move |client| {
            let name = invented.fetch_add(1, Ordering::Relaxed);
            let pod = format!(
                r#"{{"metadata":{{"name":"{name}","uid":"invented-{name}"}},"spec":{{"containers":[{{"name":"c","image":"x","resources":{{"limits":{{"cpu":"40","memory":"1Gi"}}}}}}]}}}}"#
            );
            let nodes = r#"["node-1","node-2","node-3","node-4"]"#;
            let answer = client.ask("POST /filter", &format!(r#"{{"Pod":{pod},"NodeNames":{nodes}}}"#));
            answer.map_or(0, |(status, _)| status)
        })];
        clients.extend((0..Self::SLOW).map(|_| {
            Self::repeat(&is_over, client, |client| {
                let slow = || -> anyhow::Result<String> {
                    let mut stream = client.connect()?;
                    stream.write_all(
                        b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{",
                    )?;
                    let mut answer = String::new();
                    stream.read_to_string(&mut answer)?;
                    Ok(answer)
                };
                slow().ok().and_then(|answer| answer.split(' ').nth(1)?.parse().ok()).unwrap_or_default()
            })
        }));
        Self { is_over, clients }
    }

    fn repeat(
        is_over: &Arc<AtomicBool>,
        client: &ExtenderClient,
        ask: impl Fn(&ExtenderClient) -> u16 + Send + 'static,
    ) -> JoinHandle<Answers> {
        let (is_over, client) = (is_over.clone(), client.clone());
        thread::spawn(move || {
            let mut answers = Answers::new();
            while !is_over.load(Ordering::Relaxed) {
                *answers.entry(ask(&client)).or_default() += 1;
                thread::sleep(Self::PAUSE);
            }
            answers
        })
    }

    /// All answers.
    fn end(self) -> Answers {
        self.is_over.store(true, Ordering::Relaxed);
        let mut all = Answers::new();
        for (status, count) in self.clients.into_iter().flat_map(|client| client.join().unwrap()) {
            *all.entry(status).or_default() += count;
        }
        all
    }
}

/// Pods that are created at once.
const PODS: usize = 200;

#[test]
fn who_shows_no_certificate_or_another_keeps_no_pod_waiting() {
    let Some(mut cluster) = prepared() else { return };
    let _fleet = Fleet::start(&cluster, program(), 4, &[&NODES[..], &["--publish-state"]].concat()).unwrap();
    wait_for_states(&cluster, 4);
    let extender = schedule(&mut cluster);
    let clients = [(Shown::Nothing, 403), (Shown::Expired, 0), (Shown::OtherName, 403)];
    let attacks =
        clients.map(|(shown, expected)| (shown, expected, Attack::start(&extender.client(shown).unwrap())));
    let pods: String = (0..PODS).map(|number| pod(&format!("pod-{number}"), 1)).collect();
    cluster.apply(&pods).unwrap();
    until_running(&cluster, PODS);
    // Many end at once on each node.
    cluster.kubectl(&["delete", "pods", "--all", "--wait=false"]).unwrap();
    until("the end of all", || match phases(&cluster).len() {
        0 => Ok(()),
        left => Err(left.to_string()),
    });
    cluster.apply(&pod("next", 1)).unwrap();
    until_running(&cluster, 1);
    for (shown, expected, attack) in attacks {
        let answers = attack.end();
        let refused = answers.get(&expected).copied().unwrap_or_default();
        assert!(refused > 0 && !answers.contains_key(&200), "{shown:?}: {answers:?}");
        println!("{shown:?}: {answers:?}");
    }
    let log = cluster.scheduler_log();
    let unanswered: Vec<&str> = log.lines().filter(|line| line.contains("Skipping extender")).collect();
    assert_eq!(unanswered, Vec::<&str>::new());
    let metrics = metrics(&extender);
    assert!(metrics.contains("topolet_scheduler_bound_unasked 0\n"), "{metrics}");
    assert!(!metrics.contains("topolet_scheduler_mispredictions_total{"), "{metrics}");
    println!("{metrics}");
}
