//! The pods that articles and proposals explain the Topology Manager with, under every policy and scope.
//!
//! Where a decision changes, `INSTA_UPDATE=always cargo test -p topolet --test all examples` writes it anew.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use topology_discovery::machine_info_to_json;
use topology_model::MachineInfo;

const POLICIES: [&str; 4] = ["none", "best-effort", "restricted", "single-numa-node"];
const SCOPES: [&str; 2] = ["container", "pod"];

/// A machine, its devices, and pods in the order in which they come.
struct Example<'a> {
    machine: &'a str,
    devices: &'a str,
    /// Files of the fixtures; a file that comes again is a second pod like the first.
    pods: &'a [&'a str],
    arguments: &'a [&'a str],
}

/// The server of the articles: two NUMA nodes of four CPUs, a GPU and a NIC near each.
const SERVER: &str = "pack:2 [numa(memory=16GiB)] l3:1 core:4 pu:1";
const NEAR: &str = "devices: [{resource: nvidia.com/gpu, perNode: {0: 1, 1: 1}}, {resource: nvidia.com/nic, perNode: {0: 1, 1: 1}}]";
/// The same with its GPU near one node and its NIC near the other.
const CROSSED: &str =
    "devices: [{resource: nvidia.com/gpu, perNode: {0: 1}}, {resource: nvidia.com/nic, perNode: {1: 1}}]";
/// What the proposal's stories need.
const STORIES: &str = "devices: [{resource: nvidia.com/gpu, perNode: {1: 2}}, {resource: intel.com/sriov_vf, perNode: {0: 2, 1: 2}}]";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pods").join(name)
}

/// All decisions, a line for each container or refusal.
fn decisions(name: &str, example: &Example<'_>) -> String {
    let folder = std::env::temp_dir().join(format!("topolet-examples-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let machine = match example.machine.parse::<MachineInfo>() {
        Ok(info) if example.machine.contains(':') => {
            file("machine.json", &machine_info_to_json(&info).unwrap())
        }
        _ => example.machine.to_owned(),
    };
    let devices = file("devices.yaml", example.devices);
    let mut pods: Vec<String> = Vec::new();
    for (at, pod) in example.pods.iter().enumerate() {
        let before = example.pods[..at].iter().filter(|earlier| *earlier == pod).count();
        let text = std::fs::read_to_string(fixture(pod)).unwrap();
        let other = text.replacen("  name: ", &format!("  name: again-{before}-"), 1);
        pods.push(file(&format!("{at}-{pod}"), if before == 0 { &text } else { &other }));
    }
    let mut all = String::new();
    for policy in POLICIES {
        for scope in SCOPES {
            let mut command = Command::new(env!("CARGO_BIN_EXE_topolet"));
            command.args(["admit", "-o", "json", "--machine", &machine, "--devices", &devices]);
            command.args(["--policy", policy, "--scope", scope]).args(example.arguments);
            command.args(pods.iter().flat_map(|pod| ["-f", pod]));
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(matches!(output.status.code(), Some(0 | 2)), "{said}");
            let document: Value = serde_json::from_slice(&output.stdout).unwrap();
            all.push_str(&format!("{policy}, scope {scope}\n"));
            all.extend(document["decisions"].as_array().unwrap().iter().map(compact));
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
    all
}

fn compact(decision: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pod = text(&decision["pod"]);
    if let Some(refusal) = decision.get("refusal") {
        let fits = refusal["wouldFit"].as_array().cloned().unwrap_or_default();
        let fits = fits.iter().map(|fit| {
            format!(
                "         {} {} -> {}\n",
                text(&fit["change"]),
                text(&fit["detail"]),
                text(&fit["result"])
            )
        });
        let head = format!("  refused  {pod}: {}: {}\n", text(&refusal["reason"]), text(&refusal["message"]));
        let why = refusal.get("why").map_or_else(String::new, |why| format!("         {}\n", text(why)));
        return head + &why + &fits.collect::<String>();
    }
    let containers = decision["containers"].as_array().unwrap().iter().map(|container| {
        let mut parts = vec![match container.get("nodes") {
            Some(nodes) => format!("NUMA {}", text(nodes)),
            None => "any NUMA node".to_owned(),
        }];
        parts.push(match container.get("exclusiveCpus") {
            Some(cpus) => format!("CPUs {} on NUMA {}", text(cpus), text(&container["cpuNodes"])),
            None => "CPUs shared".to_owned(),
        });
        parts.extend(container["memory"].as_array().into_iter().flatten().map(|block| {
            format!("{} of {} on NUMA {}", block["bytes"], text(&block["resource"]), text(&block["nodes"]))
        }));
        parts.extend(container["devices"].as_array().into_iter().flatten().map(|devices| {
            let ids: Vec<String> = devices["ids"].as_array().unwrap().iter().map(text).collect();
            format!("{} {}", text(&devices["resource"]), ids.join(" "))
        }));
        format!("  admitted {pod}, {}: {}\n", text(&container["name"]), parts.join("; "))
    });
    let containers: String = containers.collect();
    let notes = decision["notes"].as_array().cloned().unwrap_or_default();
    containers + &notes.iter().map(|note| format!("         {}\n", text(&note["text"]))).collect::<String>()
}

#[test]
fn the_articles_pod_three_times() {
    let example = Example {
        machine: SERVER,
        devices: NEAR,
        pods: &["aligned.yaml", "aligned.yaml", "aligned.yaml"],
        arguments: &[],
    };
    insta::assert_snapshot!("article", decisions("article", &example));
}

#[test]
fn the_articles_pod_where_gpu_and_nic_are_apart() {
    let example = Example { machine: SERVER, devices: CROSSED, pods: &["aligned.yaml"], arguments: &[] };
    insta::assert_snapshot!("article-crossed", decisions("crossed", &example));
}

#[test]
fn the_articles_two_containers() {
    let example = Example { machine: SERVER, devices: NEAR, pods: &["two-containers.yaml"], arguments: &[] };
    insta::assert_snapshot!("article-two-containers", decisions("two", &example));
}

#[test]
fn both_stories_of_the_proposal() {
    let example = Example {
        machine: "xeon-2s-96cpu-sriov",
        devices: STORIES,
        pods: &["stories.yaml"],
        arguments: &["--hugepages", "0:1Gi=4,1:1Gi=4"],
    };
    insta::assert_snapshot!("stories", decisions("stories", &example));
}

#[test]
fn the_pod_of_openshifts_guide() {
    let example =
        Example { machine: "xeon-2s-96cpu-sriov", devices: NEAR, pods: &["openshift.json"], arguments: &[] };
    insta::assert_snapshot!("openshift", decisions("openshift", &example));
}
