//! Claims decided by the objects of an API server: one that is a thread here, and the unmodified one.

#![cfg(feature = "serve")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::api_double::Double;
use crate::daemon::Folder;
use local_cluster::{Cluster, Parts, User};
use serde_json::{Value, json};

/// The slices, classes, pod and template of the guide.
fn training(file: &str) -> String {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "../../docs/guide/files/training", file].iter().collect();
    std::fs::read_to_string(path).unwrap()
}

/// The pod alone, and its template.
fn pod_and_template() -> (String, String) {
    let trainer = training("trainer.yaml");
    let (pod, template) = trainer.split_once("---\n").unwrap();
    (pod.to_owned(), template.to_owned())
}

/// What `topolet` prints and says, and its exit status.
fn topolet(arguments: &[&str]) -> (String, String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_topolet"));
    let output = command.args(arguments).env("LC_ALL", "C.UTF-8").env_remove("KUBECONFIG").output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}

const NODE: [&str; 6] = ["-m", "xeon-2s-96cpu-sriov", "--kubelet", "1.37", "--node-name", "worker-1"];

/// `topolet COMMAND -f POD --kubeconfig FILE` on a node.
fn decided(command: &str, pod: &str, kubeconfig: &Path) -> (String, String, Option<i32>) {
    let folder = Folder::new();
    let file = folder.path().join("pod.yaml");
    std::fs::write(&file, pod).unwrap();
    let own = ["-f", file.to_str().unwrap(), "--kubeconfig", kubeconfig.to_str().unwrap()];
    topolet(&[&[command], &NODE[..], &own[..]].concat())
}

/// A GPU on each of two NUMA nodes with a CPU device beside the second, as `v1beta1` has them; a class; and a claim of another
/// pod that holds the second GPU.
fn old_cluster(holds: bool) -> Double {
    let device = |name: &str, numa: i64| json!({"name": name, "basic": {"attributes": {"resource.kubernetes.io/numaNode": {"int": numa}}}});
    let slice = |driver: &str, devices: Vec<Value>| {
        json!({"metadata": {"name": driver}, "spec": {"driver": driver, "nodeName": "worker-1", "devices": devices,
            "pool": {"name": "worker-1", "generation": 1, "resourceSliceCount": 1}}})
    };
    let class = |name: &str, driver: &str| {
        let expression = format!("device.driver == \"{driver}\"");
        json!({"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": expression}}]}})
    };
    let cpus = (0..8).map(|number| device(&format!("cpu-{number}"), 1)).collect();
    let slices = vec![
        slice("gpu.example.com", vec![device("gpu-0", 0), device("gpu-1", 1)]),
        slice("cpu.example.com", cpus),
    ];
    let result =
        json!({"request": "gpu", "driver": "gpu.example.com", "pool": "worker-1", "device": "gpu-1"});
    let claim = json!({"metadata": {"name": "held", "namespace": "other", "uid": "1"},
        "spec": {"devices": {"requests": [{"name": "gpu", "deviceClassName": "gpu"}]}},
        "status": {"allocation": {"devices": {"results": [result]}}}});
    let template = json!({"metadata": {"name": "gpu-near-cpus", "namespace": "ml"}, "spec": {"spec": {"devices": {
        "requests": [{"name": "gpu", "deviceClassName": "gpu"}, {"name": "cpus", "deviceClassName": "cpu", "count": 8}],
        "constraints": [{"matchAttribute": "resource.kubernetes.io/numaNode"}]}}}});
    let classes = vec![class("gpu", "gpu.example.com"), class("cpu", "cpu.example.com")];
    Double::of(
        "v1beta1",
        &[
            ("resourceslices", "ResourceSlice", slices),
            ("deviceclasses", "DeviceClass", classes),
            ("resourceclaims", "ResourceClaim", if holds { vec![claim] } else { Vec::new() }),
            ("resourceclaimtemplates", "ResourceClaimTemplate", vec![template]),
        ],
    )
}

#[test]
fn claims_are_decided_by_what_an_api_server_lists() {
    let folder = Folder::new();
    let (pod, _) = pod_and_template();
    let free = old_cluster(false).start(&folder);
    let (text, said, code) = decided("admit", &pod, &free);
    assert!(text.contains("gpu   → gpu.example.com/worker-1/gpu-1"), "{text}{said}");
    assert_eq!(code, Some(0), "{text}{said}");

    // Another pod's claim holds the only GPU beside CPU devices.
    let held = old_cluster(true).start(&folder);
    let (text, said, code) = decided("admit", &pod, &held);
    assert!(text.contains("cannot allocate all claims"), "{text}{said}");
    assert_eq!(code, Some(2));

    // What a file has replaces what the cluster has.
    let own = "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: held, namespace: other}\n";
    let (text, said, code) = decided("explain", &format!("{pod}{own}"), &held);
    assert!(text.contains("gpu   → gpu.example.com/worker-1/gpu-1"), "{text}{said}");
    assert_eq!(code, Some(0));
}

#[test]
fn the_examples_of_the_help_work() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("pod.yaml"), pod_and_template().0).unwrap();
    std::fs::rename(old_cluster(false).start(&folder), folder.path().join("node.conf")).unwrap();
    for command in [&["admit"][..], &["claim", "check"]] {
        let (help, _, _) = topolet(&[command, &["--help"]].concat());
        let example = help.lines().find(|line| line.contains("--kubeconfig node.conf")).unwrap().trim();
        let machine = if command == ["admit"] { &["-m", "xeon-2s-96cpu-sriov"][..] } else { &[] };
        let mut run = Command::new(env!("CARGO_BIN_EXE_topolet"));
        run.args(example.split(' ').skip(1)).args(machine).current_dir(folder.path());
        let output = run.output().unwrap();
        assert!(output.status.success(), "{example}: {output:?}");
    }
}

#[test]
fn without_a_right_nothing_is_decided_and_the_rule_is_named() {
    let folder = Folder::new();
    let (pod, _) = pod_and_template();
    let server = old_cluster(false).forbidding("/v1beta1/resourceclaims").start(&folder);
    let kubeconfig = server.to_str().unwrap();
    for (text, said, code) in
        [decided("admit", &pod, &server), topolet(&["claim", "check", "--kubeconfig", kubeconfig])]
    {
        assert_eq!((text.as_str(), code), ("", Some(1)), "{said}");
        for part in [
            "the right to list resourceclaims of resource.k8s.io is missing",
            "User \"person\" cannot list /v1beta1/resourceclaims",
            "{apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get, list]}",
        ] {
            assert!(said.replace("\n  ", " ").contains(part), "{part}: {said}");
        }
    }
    let server = Double::default().start(&folder);
    let (text, said, code) = decided("admit", &pod, &server);
    assert_eq!((text.as_str(), code), ("", Some(1)));
    assert!(said.contains("serves no resourceslices of resource.k8s.io"), "{said}");
}

#[test]
fn an_object_that_cannot_be_decoded_decides_nothing() {
    let folder = Folder::new();
    let (pod, _) = pod_and_template();
    let slice = json!({"metadata": {"name": "odd"}, "spec": {"driver": 3}});
    let kinds = ["DeviceClass", "ResourceClaim", "ResourceClaimTemplate"];
    let kinds =
        kinds.map(|kind| (kind.to_ascii_lowercase() + if kind.ends_with('s') { "es" } else { "s" }, kind));
    let others = kinds.iter().map(|(resource, kind)| (resource.as_str(), *kind, Vec::new()));
    let kinds: Vec<_> = others.chain([("resourceslices", "ResourceSlice", vec![slice])]).collect();
    let server = Double::of("v1", &kinds).start(&folder);
    let (text, said, code) = decided("admit", &pod, &server);
    assert_eq!((text.as_str(), code), ("", Some(1)));
    assert!(said.contains("spec.driver") && said.contains("resourceslices of http://127.0.0.1"), "{said}");
}

#[test]
fn a_person_with_the_rights_of_deploy_decides_by_the_unmodified_api_server() {
    let target = Path::new(env!("CARGO_BIN_EXE_topolet")).parent().unwrap().parent().unwrap();
    let Some(cluster) = Cluster::for_test(target, Parts::Storage) else { return };
    let rights: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../deploy/claims/rights.yaml"].iter().collect();
    let (pod, template) = pod_and_template();
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml}\n---\n";
    cluster.apply(&format!("{namespace}{template}---\n{}", training("slices.yaml"))).unwrap();
    let person = User { name: "person", groups: &[] };
    let kubeconfig = cluster.kubeconfig_of(person, Duration::from_hours(1)).unwrap();

    let (text, said, code) = decided("admit", &pod, &kubeconfig);
    let said = said.replace("\n  ", " ");
    let all = "resourceslices, deviceclasses, resourceclaims, resourceclaimtemplates";
    assert!(said.contains(&format!("the right to list {all} of resource.k8s.io is missing")), "{text}{said}");
    assert_eq!(code, Some(1));

    cluster.kubectl(&["apply", "-f", rights.to_str().unwrap()]).unwrap();
    let bind = ["create", "clusterrolebinding", "person", "--clusterrole=topolet-claims", "--user=person"];
    cluster.kubectl(&bind).unwrap();
    let (text, said, code) = decided("admit", &pod, &kubeconfig);
    assert!(text.contains("gpu   → gpu.example.com/worker-1/gpu-0"), "{text}{said}");
    assert_eq!((said.as_str(), code), ("", Some(0)));
    let (text, said, code) = topolet(&["claim", "check", "--kubeconfig", kubeconfig.to_str().unwrap()]);
    assert!(text.contains("5 objects"), "{text}{said}");
    assert_eq!(code, Some(0));
}
