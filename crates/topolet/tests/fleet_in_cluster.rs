//! `topolet fleet` as nodes of a cluster: a real API server and scheduler, many nodes in one process.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use local_cluster::{Cluster, Fleet, NODE_RIGHTS, PUBLISHER_RIGHTS, Parts};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_mins(1);
const KIND: &str = "crd/noderesourcetopologies.topology.node.k8s.io";
/// Two NUMA nodes of 24 cores, under a policy that refuses what does not fit one of them.
const ARGUMENTS: [&str; 7] = [
    "--machine",
    "xeon-2s-96cpu-sriov",
    "--config",
    "pinned",
    "--policy",
    "single-numa-node",
    "--publish-nrt",
];

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_topolet"))
}

fn cluster(parts: Parts) -> Option<Cluster> {
    let cluster = Cluster::for_test(program().parent().unwrap().parent().unwrap(), parts)?;
    let definition = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../deploy/crd/topology.node.k8s.io_noderesourcetopologies.yaml");
    cluster.apply(&fs::read_to_string(definition).unwrap()).unwrap();
    cluster.kubectl(&["wait", "--for=condition=Established", KIND, "--timeout=30s"]).unwrap();
    for rights in [NODE_RIGHTS, PUBLISHER_RIGHTS] {
        cluster.apply(rights).unwrap();
    }
    Some(cluster)
}

fn until<T>(what: &str, mut is_so: impl FnMut() -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        match is_so() {
            Ok(found) => return found,
            Err(now) => assert!(began.elapsed() < PATIENCE, "{what} does not come: {now}"),
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn object(cluster: &Cluster, kind: &str, name: &str) -> Result<Value, String> {
    let text = cluster.kubectl(&["get", kind, name, "-o", "json"]).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

fn in_phase(cluster: &Cluster, pod: &str, phase: &str) -> Value {
    until(phase, || {
        let status = object(cluster, "pod", pod)?["status"].clone();
        if status["phase"] == phase { Ok(status) } else { Err(status.to_string()) }
    })
}

fn pod(name: &str, bound_to: Option<&str>, cpus: u32) -> String {
    let node = bound_to.map(|node| format!("  nodeName: {node}\n")).unwrap_or_default();
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n{node}  containers:\n  - name: app\n    image: none\n    \
         resources: {{limits: {{cpu: {cpus}, memory: 1Gi}}}}\n"
    )
}

/// CPUs of a node that no pod holds, by zone, as schedulers read them.
fn available(cluster: &Cluster, node: &str) -> Result<Vec<String>, String> {
    let object = object(cluster, "noderesourcetopologies", node)?;
    let of_zone = |zone: &Value| {
        let resources = zone["resources"].as_array()?;
        let cpu = resources.iter().find(|resource| resource["name"] == "cpu")?;
        Some(cpu["available"].as_str()?.to_owned())
    };
    Ok(object["zones"].as_array().into_iter().flatten().filter_map(of_zone).collect())
}

fn until_available(cluster: &Cluster, node: &str, expected: &[&str]) {
    until(&expected.join(" and "), || {
        let now = available(cluster, node)?;
        if now == expected { Ok(()) } else { Err(now.join(" and ")) }
    });
}

#[test]
fn nodes_of_a_fleet_decide_publish_and_go_on_after_they_were_killed() {
    let Some(cluster) = cluster(Parts::Scheduler) else { return };
    let fleet = Fleet::start(&cluster, program(), 3, &ARGUMENTS).unwrap();
    until_available(&cluster, "node-3", &["46", "46"]);
    for number in 1..=3 {
        let name = format!("app-{number}");
        cluster.apply(&pod(&name, None, 40)).unwrap();
        in_phase(&cluster, &name, "Running");
    }
    let used: Vec<String> = (1..=3)
        .map(|number| {
            object(&cluster, "pod", &format!("app-{number}")).unwrap()["spec"]["nodeName"].to_string()
        })
        .collect();
    assert!(used.iter().all(|node| node.starts_with("\"node-")), "{used:?}");

    cluster.apply(&pod("first", Some("node-1"), 4)).unwrap();
    in_phase(&cluster, "first", "Running");
    let node = object(&cluster, "node", "node-1").unwrap();
    assert_eq!(node["status"]["capacity"]["cpu"], "96");
    cluster.apply(&pod("too-wide", Some("node-1"), 60)).unwrap();
    let refused = in_phase(&cluster, "too-wide", "Failed");
    assert_eq!(refused["reason"], "TopologyAffinityError");

    // What it held is free once its object is gone.
    cluster.kubectl(&["delete", "pod", "app-1", "app-2", "app-3", "first"]).unwrap();
    for node in ["node-1", "node-2", "node-3"] {
        until_available(&cluster, node, &["46", "46"]);
    }

    // Nothing is on disk: what runs is decided on anew, and what was deleted meanwhile is gone.
    for (name, cpus) in [("stays", 20), ("goes", 20)] {
        cluster.apply(&pod(name, Some("node-2"), cpus)).unwrap();
        in_phase(&cluster, name, "Running");
    }
    drop(fleet);
    cluster.kubectl(&["delete", "pod", "goes", "--force", "--grace-period=0"]).unwrap();
    let mut fleet = Fleet::start(&cluster, program(), 3, &ARGUMENTS).unwrap();
    until_available(&cluster, "node-2", &["26", "46"]);
    assert_eq!(object(&cluster, "pod", "stays").unwrap()["status"]["phase"], "Running");
    assert_eq!(fleet.why_ended(), None);
}

#[test]
fn pods_that_come_by_themselves_change_what_schedulers_read() {
    let Some(cluster) = cluster(Parts::Storage) else { return };
    let file: PathBuf = std::env::temp_dir().join(format!("fleet-{}.yaml", std::process::id()));
    fs::write(&file, pod("app", None, 8)).unwrap();
    let churn = ["-f", file.to_str().unwrap(), "--pods-a-second", "20"];
    let _fleet = Fleet::start(&cluster, program(), 5, &[&ARGUMENTS[..], &churn].concat()).unwrap();
    // Five of 8 CPUs on one NUMA node and six on the other: the next lets the oldest go.
    until("a full node", || {
        let now = available(&cluster, "node-5")?;
        let free: u32 = now.iter().filter_map(|free| free.parse::<u32>().ok()).sum();
        if now.len() == 2 && free < 16 { Ok(()) } else { Err(now.join(" and ")) }
    });
    let pods: Value =
        serde_json::from_str(&cluster.kubectl(&["get", "pods", "-o", "json"]).unwrap()).unwrap();
    assert_eq!(pods["items"].as_array().map(Vec::len), Some(0), "the API server hears of none");
    fs::remove_file(file).unwrap();
}
