//! A cluster whose controllers run, with the nodes of a fleet: workloads are made, run, are evicted and end.

use crate::in_cluster;
use crate::in_cluster::{cluster, object, program, until};
use local_cluster::{Cluster, Fleet, NODE_RIGHTS, Parts};
use serde_json::{Value, json};

const NODES: u16 = 10;

/// A cluster with controllers and ten nodes.
fn prepared() -> Option<(Cluster, Fleet)> {
    let cluster = cluster(Parts::Controllers)?;
    cluster.apply(NODE_RIGHTS).unwrap();
    let machine = ["--machine", "xeon-2s-96cpu-sriov"];
    let mut fleet = Fleet::start(&cluster, program(), NODES, &machine).unwrap();
    fleet.until_ready(&cluster).unwrap();
    Some((cluster, fleet))
}

fn list(cluster: &Cluster, kind: &str) -> Result<Vec<Value>, String> {
    let text = cluster.kubectl(&["get", kind, "-o", "json"]).map_err(|error| error.to_string())?;
    let list: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

fn until_status(cluster: &Cluster, kind: &str, name: &str, field: &str, expected: &Value) {
    until(&format!("{field} {expected} of {kind} {name}"), || {
        let status = object(cluster, kind, name)?["status"].clone();
        if status[field] == *expected { Ok(()) } else { Err(status.to_string()) }
    });
}

/// A workload of pods that each ask for two CPUs.
fn workload(kind: &str, name: &str, spec: &Value, annotations: &Value, policy: &str) -> String {
    let labels = json!({"app": name});
    let mut object = json!({
        "apiVersion": if kind == "Job" { "batch/v1" } else { "apps/v1" },
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"template": {
            "metadata": {"labels": labels, "annotations": annotations},
            "spec": {"restartPolicy": policy, "containers": [
                {"name": "app", "image": "none", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}},
            ]},
        }},
    });
    if kind == "Deployment" {
        object["spec"]["selector"] = json!({"matchLabels": labels});
    }
    for (field, value) in spec.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    object.to_string()
}

fn evict(cluster: &Cluster, pod: &str) -> Result<String, String> {
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": "default"}});
    let file = std::env::temp_dir().join(format!("eviction-{}-{pod}.json", std::process::id()));
    std::fs::write(&file, eviction.to_string()).unwrap();
    let path = format!("/api/v1/namespaces/default/pods/{pod}/eviction");
    let said = cluster.kubectl(&["create", "--raw", &path, "-f", file.to_str().unwrap()]);
    std::fs::remove_file(file).unwrap();
    said.map_err(|error| format!("{error:#}"))
}

#[test]
fn a_deployment_runs_is_evicted_by_its_budget_and_scaled_down() {
    let Some((cluster, mut fleet)) = prepared() else { return };
    cluster.apply(&workload("Deployment", "web", &json!({"replicas": 50}), &json!({}), "Always")).unwrap();
    until_status(&cluster, "deployment", "web", "readyReplicas", &50.into());
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"minAvailable": 49, "selector": {"matchLabels": {"app": "web"}}},
    });
    cluster.apply(&budget.to_string()).unwrap();
    until_status(&cluster, "pdb", "web", "disruptionsAllowed", &1.into());

    // Where no pod can come in its place, one may go and no other.
    for number in 1..=NODES {
        cluster.kubectl(&["cordon", &format!("node-{number}")]).unwrap();
    }
    let pods = list(&cluster, "pods").unwrap();
    let names: Vec<&str> = pods.iter().filter_map(|pod| pod["metadata"]["name"].as_str()).collect();
    assert_eq!(names.len(), 50);
    evict(&cluster, names[0]).unwrap();
    let refused = evict(&cluster, names[1]).unwrap_err();
    assert!(refused.contains("would violate the pod's disruption budget"), "{refused}");
    until("the evicted pod's end", || match object(&cluster, "pod", names[0]) {
        Ok(pod) => Err(pod["status"].to_string()),
        Err(_) => Ok(()),
    });
    until_status(&cluster, "pdb", "web", "currentHealthy", &49.into());

    cluster.kubectl(&["delete", "pdb", "web"]).unwrap();
    cluster.kubectl(&["scale", "deployment", "web", "--replicas", "10"]).unwrap();
    until("ten pods", || {
        let pods = list(&cluster, "pods")?.len();
        if pods == 10 { Ok(()) } else { Err(format!("{pods} are there")) }
    });
    assert_eq!(fleet.why_ended(), None);
}

#[test]
fn jobs_end_as_their_pods_do() {
    let Some((cluster, _fleet)) = prepared() else { return };
    let plan =
        |code: &str| json!({"fleet.topolet.dev/run-seconds": "1", "fleet.topolet.dev/exit-code": code});
    let many = json!({"completions": 6, "parallelism": 3});
    cluster.apply(&workload("Job", "many", &many, &plan("0"), "Never")).unwrap();
    let once = json!({"backoffLimit": 0});
    cluster.apply(&workload("Job", "fails", &once, &plan("3"), "Never")).unwrap();
    until_status(&cluster, "job", "many", "succeeded", &6.into());
    until_status(&cluster, "job", "fails", "failed", &1.into());
    let ended = list(&cluster, "pods").unwrap();
    let codes = ended.iter().map(|pod| {
        let state = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
        (pod["status"]["phase"].as_str().unwrap().to_owned(), state["exitCode"].as_i64().unwrap())
    });
    let mut codes: Vec<_> = codes.collect();
    codes.sort();
    let mut expected = vec![("Succeeded".to_owned(), 0); 6];
    expected.insert(0, ("Failed".to_owned(), 3));
    assert_eq!(codes, expected);

    // A container that starts again is counted.
    cluster.apply(&workload("Job", "again", &json!({"backoffLimit": 9}), &plan("1"), "OnFailure")).unwrap();
    until("a second start", || {
        let pods = list(&cluster, "pods")?;
        let status = pods.iter().map(|pod| &pod["status"]["containerStatuses"][0]);
        let counts: Vec<String> = status.map(|status| status["restartCount"].to_string()).collect();
        if counts.contains(&"1".to_owned()) { Ok(()) } else { Err(counts.join(", ")) }
    });
}

#[test]
fn a_claim_of_a_template_is_made_and_allocated() {
    let Some((cluster, _fleet)) = prepared() else { return };
    let class = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu.example.com"},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]},
    });
    let devices: Vec<Value> = (0..4).map(|number| json!({"name": format!("gpu-{number}")})).collect();
    let slice = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "node-7"},
        "spec": {"driver": "gpu.example.com", "nodeName": "node-7", "devices": devices,
                 "pool": {"name": "node-7", "generation": 1, "resourceSliceCount": 1}},
    });
    let template = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "two"},
        "spec": {"spec": {"devices": {"requests": [
            {"name": "gpus", "exactly": {"deviceClassName": "gpu.example.com", "count": 2}},
        ]}}},
    });
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "trains"},
        "spec": {
            "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "two"}],
            "containers": [{"name": "app", "image": "none", "resources": {"claims": [{"name": "gpus"}]}}],
        },
    });
    for made in [class, slice, template, pod] {
        cluster.apply(&made.to_string()).unwrap();
    }
    let pod = in_cluster::in_phase(&cluster, "trains", "Running");
    let claim = pod["resourceClaimStatuses"][0]["resourceClaimName"].as_str().unwrap().to_owned();
    let claim = object(&cluster, "resourceclaim", &claim).unwrap();
    let given = claim["status"]["allocation"]["devices"]["results"].as_array().unwrap();
    let names: Vec<&str> = given.iter().filter_map(|device| device["device"].as_str()).collect();
    assert_eq!(names, ["gpu-0", "gpu-1"]);
    assert_eq!(claim["status"]["reservedFor"][0]["name"], "trains");
    assert_eq!(object(&cluster, "pod", "trains").unwrap()["spec"]["nodeName"], "node-7");
}
