//! What is exported for schedulers keeps to the schema of its definition, on every machine.

use std::process::Command;

use k8s_quantity::Quantity;
use kubelet_checkpoint::cpu::{CpuFormat, CpuState};
use node_state::{Record, Source};
use pod_spec::PodUid;
use serde_json::Value;

use crate::exported::{DEFINITION, Folder, amount, attribute, export, root};

/// The schema of version `v1alpha2`.
fn schema() -> Value {
    let definition: Value = serde_saphyr::from_str(DEFINITION).unwrap();
    let versions = definition["spec"]["versions"].as_array().unwrap();
    let version = versions.iter().find(|version| version["name"] == "v1alpha2").unwrap();
    version["schema"]["openAPIV3Schema"].clone()
}

/// Everything in which `value` is not what the schema says, by path.
fn faults(schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let mut fault = |what: String| found.push(format!("{path}: {what}"));
    if schema["x-kubernetes-int-or-string"] == true {
        // The pattern is that of quantities.
        match value {
            Value::String(text) if text.parse::<Quantity>().is_ok() => {}
            Value::Number(number) if number.is_i64() => {}
            other => fault(format!("{other} is no quantity")),
        }
        return;
    }
    match (schema["type"].as_str().unwrap(), value) {
        ("string", Value::String(_)) => {}
        ("integer", Value::Number(number)) if number.is_i64() => {}
        ("array", Value::Array(items)) => {
            for (at, item) in items.iter().enumerate() {
                faults(&schema["items"], item, &format!("{path}[{at}]"), found);
            }
        }
        ("object", Value::Object(fields)) => {
            for name in schema["required"].as_array().into_iter().flatten() {
                if !fields.contains_key(name.as_str().unwrap()) {
                    fault(format!("{name} is missing"));
                }
            }
            // Of metadata the schema says nothing: an API server knows it.
            let Some(known) = schema["properties"].as_object() else { return };
            for (name, field) in fields {
                match known.get(name) {
                    Some(schema) => faults(schema, field, &format!("{path}.{name}"), found),
                    None => found.push(format!("{path}: there is no field {name}")),
                }
            }
        }
        (wanted, other) => fault(format!("{other} is no {wanted}")),
    }
}

fn check(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    faults(&schema(), value, "", &mut found);
    found
}

#[test]
fn the_check_finds_what_is_wrong() {
    let (good, _) = export(&["-m", "xeon-cxl-4node"]);
    assert_eq!(check(&good), [""; 0]);
    for (pointer, bad) in [
        ("/zones", Value::Null),
        ("/zones/0/costs/0/value", Value::from("10")),
        ("/zones/0/resources/0/available", Value::from("many")),
        ("/attributes/0/value", Value::from(1)),
        ("/zones/0/name", Value::Null),
    ] {
        let mut broken = good.clone();
        *broken.pointer_mut(pointer).unwrap() = bad;
        assert_eq!(check(&broken).len(), 1, "{pointer}");
    }
    let mut broken = good;
    broken["zones"][0]["colour"] = Value::from("green");
    assert_eq!(check(&broken), [".zones[0]: there is no field colour"]);
}

#[test]
fn every_machine_keeps_to_the_schema() {
    for machine in machine_fixtures::names() {
        for config in ["pinned", "kubelet-defaults"] {
            let (object, said) = export(&["-m", machine, "--config", config]);
            assert_eq!(check(&object), [""; 0], "{machine} {said}");
            assert_eq!(object["metadata"]["name"], machine);
            assert!(object["zones"].as_array().is_some_and(|zones| !zones.is_empty()));
        }
    }
}

#[test]
fn what_pods_hold_is_not_available() {
    let own = ["-m", "xeon-2s-96cpu-sriov", "--policy", "single-numa-node"];
    let (empty, _) = export(&own);
    let pods: Vec<&str> =
        own.into_iter().chain(["-f", "crates/topolet/demo/pods.yaml", "-o", "json"]).collect();
    let (full, said) = export(&pods);
    assert_eq!(check(&full), [""; 0]);
    assert!(said.contains("ran/dpdk-3 is refused and left out: TopologyAffinityError"), "{said}");
    let vfs = "intel.com/sriov_vf";
    for (what, before, after) in [("capacity", 8, 8), ("allocatable", 8, 8), ("available", 8, 2)] {
        assert_eq!(amount(&empty, "node-0", vfs, what), before, "{what}");
        assert_eq!(amount(&full, "node-0", vfs, what), after, "{what}");
    }
    for zone in ["node-0", "node-1"] {
        for resource in ["cpu", "memory"] {
            let of = |what| amount(&full, zone, resource, what);
            assert!(
                of("available") < of("allocatable") && of("allocatable") < of("capacity"),
                "{zone} {resource}"
            );
        }
    }
    assert_eq!(full["topologyPolicies"][0], "SingleNUMANodeContainerLevel");
    assert_eq!(attribute(&full, "topologyManagerPolicy"), Some("single-numa-node"));
    assert_eq!(attribute(&full, "topologyManagerScope"), Some("container"));
    assert_eq!(attribute(&full, "nodeTopologyPodsFingerprintMethod"), Some("all"));
    // podfingerprint v0.2.2 on no pods, and on dpdk-1, dpdk-2 and web-1 of namespace ran.
    assert_eq!(attribute(&empty, "nodeTopologyPodsFingerprint"), Some("pfp0v001ef46db3751d8e999"));
    assert_eq!(attribute(&full, "nodeTopologyPodsFingerprint"), Some("pfp0v001fa95a41e8bd91deb"));
}

#[test]
fn pods_without_names_have_no_fingerprint() {
    let (object, said) = export(&["-m", "xeon-2s-96cpu-sriov", "--state", "fixtures/state/healthy"]);
    assert_eq!(attribute(&object, "nodeTopologyPodsFingerprint"), None);
    assert!(said.contains("known by UID alone"), "{said}");
}

/// What goes wrong.
fn failure(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["export", "nrt", "-m", "xeon-2s-96cpu-sriov"])
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_list_without_pods_is_no_fingerprint_of_an_empty_node() {
    let folder = Folder::new("lists");
    let own = folder.0.join("own.yaml");
    std::fs::write(&own, "apiVersion: topolet.dev/v1alpha1\nkind: Pods\npods: []\n").unwrap();
    for path in [&folder.0.join("."), &own] {
        let error = failure(&["--state", "fixtures/state/healthy", "--pods", path.to_str().unwrap()]);
        assert!(error.contains("has no pods: expected"), "{error}");
    }
}

#[test]
fn the_fingerprint_is_of_all_pods_where_all_are_known() {
    let state = ["-m", "xeon-2s-96cpu-sriov", "--state", "fixtures/state/healthy", "--pods"];
    let (names, _) = export(&[&state[..], &["fixtures/state/pods"]].concat());
    let (all, _) = export(&[&state[..], &["fixtures/state/running.yaml"]].concat());
    let method = |object| attribute(object, "nodeTopologyPodsFingerprintMethod").map(str::to_owned);
    assert_eq!(method(&names).as_deref(), Some("with-exclusive-resources"));
    assert_eq!(method(&all).as_deref(), Some("all"));
    let fingerprint = |object| attribute(object, "nodeTopologyPodsFingerprint").map(str::to_owned);
    assert_ne!(fingerprint(&names), fingerprint(&all), "the fourth pod holds nothing of its own");
}

#[test]
fn what_pods_hold_that_are_gone_is_available() {
    let state = ["-m", "xeon-2s-96cpu-sriov", "--state", "fixtures/state/healthy", "--pods"];
    // upf-0 is not in this list.
    let (object, _) = export(&[&state[..], &["fixtures/state/pods.yaml"]].concat());
    let (before, _) = export(&[&state[..], &["fixtures/state/pods"]].concat());
    let cpus = |object| amount(object, "node-0", "cpu", "available");
    assert_eq!((cpus(&before), cpus(&object)), (34, 38));
}

/// The names and UIDs that pods of a folder served here have are accepted wherever pods are listed.
#[test]
fn uids_that_were_made_up_here_are_accepted_everywhere() {
    const UID: &str = "ran_nouid";
    let folder = Folder::new("uids");
    let manifest = "apiVersion: v1\nkind: Pod\nmetadata: {namespace: ran, name: nouid, uid: ran_nouid}\nspec:\n  containers:\n  \
                    - {name: c, image: i, resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 2, memory: 1Gi}}}\n";
    let write = |path: &str, text: &str| {
        let path = folder.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    };
    let cpus: cpuset::CpuSet = "1,49".parse().unwrap();
    let all: cpuset::CpuSet = "0-95".parse().unwrap();
    let state = CpuState {
        policy: "static".into(),
        shared: &all - &cpus,
        containers: [(PodUid::new(UID), [("c".into(), cpus)].into())].into(),
        ..CpuState::default()
    };
    write("root/cpu_manager_state", &state.encode(CpuFormat::V2));
    write("pods.yaml", manifest);
    std::fs::create_dir_all(folder.0.join("logs/ran_nouid_ran_nouid")).unwrap();
    let source = topology_manifest::Source { name: "pod", text: manifest };
    let pod = topology_manifest::read_pods(&source).unwrap().remove(0);
    let record = Record::new(pod.into(), Source::Request, 1).text();
    write("root/topolet/pods/ran_nouid.json", &record);

    let root = folder.0.join("root").display().to_string();
    let export = |pods: Option<&str>| {
        let pods = pods.map(|path| folder.0.join(path).display().to_string());
        let pods = pods.iter().flat_map(|path| ["--pods", path]);
        let arguments = ["-m", "xeon-2s-96cpu-sriov", "--state", &root];
        let (object, said) = export(&arguments.into_iter().chain(pods).collect::<Vec<_>>());
        assert!(
            said.contains("the built-in configuration `pinned` is assumed") && said.lines().count() == 1,
            "{said}"
        );
        let fingerprint = attribute(&object, "nodeTopologyPodsFingerprint").map(str::to_owned);
        (fingerprint.unwrap(), amount(&object, "node-0", "cpu", "available"))
    };
    let own = export(None);
    assert_eq!(own.1, 44, "its two CPUs are held");
    for path in ["pods.yaml", "logs", "root/topolet/pods"] {
        assert_eq!(export(Some(path)), own, "{path}");
    }
}

#[test]
fn what_no_manager_books_by_node_is_said() {
    let (_, none) = export(&["-m", "xeon-cxl-4node", "--config", "kubelet-defaults"]);
    assert!(
        none.contains("books no cpu by NUMA node") && none.contains("books no memory and huge pages"),
        "{none}"
    );
    let (_, pinned) = export(&["-m", "xeon-cxl-4node", "--config", "pinned"]);
    assert_eq!(pinned, "");
}
