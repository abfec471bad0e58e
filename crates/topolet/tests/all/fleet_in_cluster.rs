//! `topolet fleet` as nodes of a cluster: a real API server and scheduler, many nodes in one process.

use std::fs;
use std::path::PathBuf;

use crate::in_cluster::{cluster, in_phase, object, program, until};
use local_cluster::{
    Cluster, Containers, Fleet, Kind, NODE_RIGHTS, Node, NodeOptions, PUBLISHER_RIGHTS, Parts,
};
use serde_json::Value;

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

/// A cluster with the kinds and rights that a fleet needs.
fn prepared(parts: Parts) -> Option<Cluster> {
    let cluster = cluster(parts)?;
    cluster.define(&[Kind::NodeResourceTopology]).unwrap();
    for rights in [NODE_RIGHTS, PUBLISHER_RIGHTS] {
        cluster.apply(rights).unwrap();
    }
    Some(cluster)
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
    let Some(cluster) = prepared(Parts::Scheduler) else { return };
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
    let Some(cluster) = prepared(Parts::Storage) else { return };
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

#[test]
fn what_is_missing_is_said_once_and_nobody_elses_node_is_touched() {
    let Some(cluster) = cluster(Parts::Storage) else { return };
    cluster.apply(NODE_RIGHTS).unwrap();
    cluster.apply(PUBLISHER_RIGHTS).unwrap();
    let machine = ARGUMENTS[1];
    let options = NodeOptions { name: "node-2", machine, containers: Containers::Simulated, arguments: &[] };
    let _other = Node::start(&cluster, program(), options).unwrap();
    let lease = || {
        let lease = cluster.kubectl(&["get", "lease", "-n", "kube-node-lease", "node-2", "-o", "json"]);
        let lease: Value = serde_json::from_str(&lease.unwrap()).unwrap();
        lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
    };
    until("its Lease", || if lease().is_empty() { Err("none".to_owned()) } else { Ok(()) });
    let (holder, labels) =
        (lease(), || object(&cluster, "node", "node-2").unwrap()["metadata"]["labels"].clone());
    let before = labels();

    let fleet = Fleet::start(&cluster, program(), 3, &ARGUMENTS).unwrap();
    let lines = |text: &str| fleet.log().lines().filter(|line| line.contains(text)).count();
    until("both faults", || match (lines("has no NodeResourceTopology"), lines("is alive already")) {
        (0, _) | (_, 0) => Err(fleet.log()),
        _ => Ok(()),
    });
    object(&cluster, "node", "node-3").unwrap();
    // Each is tried again every second.
    std::thread::sleep(std::time::Duration::from_secs(4));
    assert_eq!((lines("has no NodeResourceTopology"), lines("is alive already")), (1, 1), "{}", fleet.log());
    assert!(fleet.log().contains("kubectl apply -f"), "{}", fleet.log());
    assert_eq!((lease(), labels()), (holder, before));

    cluster.define(&[Kind::NodeResourceTopology]).unwrap();
    until_available(&cluster, "node-3", &["46", "46"]);
}
