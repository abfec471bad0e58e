//! A daemon whose CPUs and memory follow the devices of allocated claims.

use std::fs;
use std::path::Path;

use crate::daemon::{Daemon, Folder, Reply};
use serde_json::Value;

const SLICE: &str = "
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: w-gpu}
spec:
  driver: gpu.example.com
  pool: {name: w, generation: 1, resourceSliceCount: 1}
  nodeName: w
  devices:
  - {name: near, attributes: {resource.kubernetes.io/numaNode: {int: 0}}}
  - {name: far, attributes: {resource.kubernetes.io/numaNode: {int: 1}}}
  - {name: hidden}
";

/// A pod with a claim, and the claim with this device.
fn claiming(name: &str, device: &str, cpus: u32) -> String {
    format!(
        "{SLICE}---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {name}-gpu, namespace: default}}
spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: gpu}}}}]}}}}
status:
  allocation:
    devices: {{results: [{{request: gpu, driver: gpu.example.com, pool: w, device: {device}}}]}}
---
{}",
        pod(name, cpus)
    )
}

fn pod(name: &str, cpus: u32) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  resourceClaims: [{{name: gpu, resourceClaimName: {name}-gpu}}]
  containers:
  - name: main
    image: none
    resources: {{limits: {{cpu: {cpus}, memory: 1Gi}}, claims: [{{name: gpu}}]}}
"
    )
}

fn options(root: &Path, text: &str) -> String {
    let path = root.with_extension("options");
    let text = format!("apiVersion: topolet.dev/v1alpha1\nkind: TopoletConfiguration\ndevices: {{{text}}}\n");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn start(root: &Path, text: &str) -> Daemon {
    let options = options(root, text);
    Daemon::start(root, &["--topolet-config", &options, "--policy", "single-numa-node"])
}

/// The NUMA nodes of the container's CPUs.
fn cpu_nodes(reply: &Reply) -> Value {
    reply.json("Decisions")["decisions"][0]["containers"][0]["cpuNodes"].clone()
}

#[test]
fn cpus_follow_claims_across_a_restart_and_a_refusal_names_the_claim() {
    let root = Folder::new();
    let daemon = start(root.path(), "claims: hint");
    // Pods without claims have the lower node.
    let far = daemon.ask("POST", "/v1/pods", &claiming("a", "far", 4));
    assert_eq!(far.status, 202, "{}", far.body);
    assert_eq!(cpu_nodes(&far), serde_json::json!("1"), "{}", far.body);
    assert!(far.body.contains("\"resource\": \"claim gpu\""), "{}", far.body);
    let near = daemon.ask("POST", "/v1/pods", &claiming("b", "near", 4));
    assert_eq!(cpu_nodes(&near), serde_json::json!("0"), "{}", near.body);

    // Node 0 has room, and node 1 has not.
    let refused = daemon.ask("POST", "/v1/pods?dryRun=All", &claiming("c", "far", 45));
    assert_eq!(refused.status, 422, "{}", refused.body);
    let why = "NUMA 1 lacks 3 cpu, NUMA 0 lacks 3 cpu and 1 device of claim gpu";
    assert!(refused.body.contains(why), "{}", refused.body);
    let shown = daemon.ask("POST", "/v1/pods?dryRun=All&output=table", &claiming("e", "far", 2));
    assert!(shown.body.contains("hints of their devices: gpu for NUMA 1"), "{}", shown.body);

    let before = daemon.pods();
    daemon.kill();
    let daemon = start(root.path(), "claims: hint");
    assert_eq!(daemon.pods(), before);
    // What the claims of its pods are is kept with them: sent again without its claim the pod is the same.
    let again = daemon.ask("POST", "/v1/pods", &claiming("a", "far", 4));
    assert_eq!(again.json("Decisions")["unchanged"][0], "default/a", "{}", again.body);
    let third = daemon.ask("POST", "/v1/pods", &claiming("d", "far", 4));
    assert_eq!(cpu_nodes(&third), serde_json::json!("1"), "{}", third.body);
}

#[test]
fn a_device_of_an_unknown_node_gives_no_hint_and_that_is_said() {
    let root = Folder::new();
    let daemon = start(root.path(), "claims: hint");
    for (manifest, why) in [
        (
            claiming("a", "hidden", 4),
            "claim gpu gives no hint: hidden: driver gpu.example.com publishes no NUMA node",
        ),
        (claiming("b", "gone", 4), "claim gpu gives no hint: gone: no slice of the node lists it"),
        (pod("c", 4), "claim gpu gives no hint: ResourceClaim default/c-gpu is not known"),
        (
            claiming("d", "far", 4).replace("status:", "none:").replace("allocation:", "nothing:"),
            "claim gpu gives no hint: ResourceClaim default/d-gpu has no devices",
        ),
    ] {
        let query = if manifest.contains("none:") { "?fieldValidation=Warn" } else { "" };
        let reply = daemon.ask("POST", &format!("/v1/pods{query}"), &manifest);
        assert_eq!(reply.status, 202, "{}", reply.body);
        assert!(reply.body.contains(why), "{why}: {}", reply.body);
        assert_eq!(cpu_nodes(&reply), serde_json::json!("0"), "{}", reply.body);
    }
}

#[test]
fn without_the_option_claims_give_no_hints() {
    let root = Folder::new();
    let daemon = start(root.path(), "claims: ignore");
    let reply = daemon.ask("POST", "/v1/pods", &claiming("a", "far", 4));
    assert_eq!(cpu_nodes(&reply), serde_json::json!("0"), "{}", reply.body);
    assert!(!reply.body.contains("hint"), "{}", reply.body);
}
