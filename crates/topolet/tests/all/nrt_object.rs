//! What the object says beyond amounts, how large it gets, and that its documentation is complete.

use crate::exported;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::exported::{Folder, attribute, export, root, zone};
use serde_json::Value;

const MACHINE: &str = "xeon-2s-96cpu-sriov";
const METADATA: &str = "topology.node.k8s.io/numaplacement-metadata";
const VECTOR: &str = "topology.node.k8s.io/numaplacement-vector";
const GROUP: &str = "topolet.dev/memoryGroup";
const CORES: &str = "topolet.dev/freeCores";

/// Guaranteed pods of one container, `app`.
fn pods(wishes: &[(&str, &str)]) -> String {
    wishes.iter().fold(String::new(), |mut text, (name, limits)| {
        let _ = write!(
            text,
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: ran}}\nspec:\n  containers:\n  \
             - {{name: app, image: x, resources: {{limits: {{{limits}}}}}}}\n"
        );
        text
    })
}

fn with_pods(name: &str, arguments: &[&str], wishes: &[(&str, &str)]) -> (Value, String) {
    let folder = Folder::new(name);
    let path = folder.0.join("pods.yaml");
    std::fs::write(&path, pods(wishes)).unwrap();
    export(&[arguments, &["-f", path.to_str().unwrap(), "-o", "json"]].concat())
}

#[test]
fn containers_are_placed() {
    let policy = ["-m", MACHINE, "--policy", "single-numa-node"];
    let wishes = [("a", "cpu: 40, memory: 1Gi"), ("b", "cpu: 40, memory: 1Gi"), ("c", "cpu: 2, memory: 1Gi")];
    let (object, said) = with_pods("placed", &policy, &wishes);
    assert_eq!(said, "");
    // a and c are on node 0, b on node 1; sorted by their hashes b is the third.
    assert_eq!(attribute(&object, METADATA), Some("npv0v001::ve=leb89::cc=3::nn=2::bn=0"));
    assert_eq!(attribute(zone(&object, "node-0"), VECTOR), None);
    assert_eq!(attribute(zone(&object, "node-1"), VECTOR), Some("$"));

    let (empty, _) = export(&policy);
    assert_eq!(attribute(&empty, METADATA), Some("npv0v001::ve=leb89::cc=0::nn=2::bn=0"));

    // A container without exclusive resources has no place.
    let (shared, _) = with_pods("shared", &policy, &[("a", "cpu: 500m"), ("b", "cpu: 2, memory: 1Gi")]);
    assert_eq!(attribute(&shared, METADATA), Some("npv0v001::ve=leb89::cc=1::nn=2::bn=0"));
}

#[test]
fn a_container_on_two_nodes_has_no_placement_and_binds_their_memory() {
    let (object, said) =
        with_pods("two", &["-m", MACHINE, "--policy", "restricted"], &[("big", "cpu: 60, memory: 100Gi")]);
    assert_eq!(said, "");
    assert_eq!(attribute(&object, METADATA), None);
    for name in ["node-0", "node-1"] {
        assert_eq!(attribute(zone(&object, name), GROUP), Some("0,1"), "{name}");
        assert_eq!(attribute(zone(&object, name), VECTOR), None, "{name}");
    }
}

#[test]
fn free_cores_are_whole() {
    let cores = |object: &Value, name| attribute(zone(object, name), CORES).map(str::to_owned);
    let (empty, _) = export(&["-m", MACHINE]);
    assert_eq!(cores(&empty, "node-0").as_deref(), Some("23"), "24, less the reserved one");
    // Three CPUs take two cores, of which one has a CPU that is free.
    let (object, said) = with_pods("cores", &["-m", MACHINE], &[("a", "cpu: 3, memory: 1Gi")]);
    assert_eq!(said, "");
    assert_eq!(cores(&object, "node-0").as_deref(), Some("21"));
    assert_eq!(exported::amount(&object, "node-0", "cpu", "available"), 43);
    let (none, _) = export(&["-m", MACHINE, "--config", "kubelet-defaults"]);
    assert_eq!(cores(&none, "node-0"), None);
    let (cxl, _) = export(&["-m", "xeon-cxl-4node"]);
    assert_eq!(cores(&cxl, "node-2"), None, "it has no CPUs");
}

#[test]
fn a_hundred_pods_on_eight_nodes_fit_into_16_kib() {
    let names: Vec<String> =
        (0..100).map(|at| format!("a-pod-with-a-name-as-long-as-usual-{at:03}")).collect();
    let wishes: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "cpu: 2, memory: 1Gi")).collect();
    let (object, said) =
        with_pods("size", &["-m", "spr-8480-snc4-8node", "--policy", "single-numa-node"], &wishes);
    assert_eq!(said, "");
    assert_eq!(object["zones"].as_array().unwrap().len(), 8);
    assert!(attribute(&object, METADATA).unwrap().contains("::cc=100::nn=8::"), "{object}");
    let size = object.to_string().len();
    assert!(size <= 16 << 10, "{size} bytes");
}

/// Pods of which some choose a policy or scope.
const CHOOSING: [&str; 10] = [
    "-m",
    MACHINE,
    "--policy",
    "restricted",
    "--topolet-config",
    "fixtures/configs/own-pod-policy.yaml",
    "-f",
    "fixtures/pods/pod-policy.yaml",
    "-o",
    "json",
];

#[test]
fn pods_that_choose_a_policy_are_listed() {
    let (object, _) = export(&CHOOSING);
    assert_eq!(attribute(&object, "topologyManagerPolicy"), Some("restricted"));
    let allowed = Some("policy=best-effort,policy=single-numa-node,scope,cpu");
    assert_eq!(attribute(&object, "topolet.dev/podPolicy"), allowed);
    let chosen = Some("default/looser=best-effort/container,default/together=single-numa-node/pod");
    assert_eq!(attribute(&object, "topolet.dev/chosenPolicies"), chosen);
    let plain = export(&[&CHOOSING[..4], &CHOOSING[6..]].concat()).0;
    assert_eq!(attribute(&plain, "topolet.dev/podPolicy"), None);
    assert_eq!(attribute(&plain, "topolet.dev/chosenPolicies"), None);
}

/// Every field by path, and attributes and annotations by name.
fn fields(object: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect("", object, &mut found);
    found
}

fn collect(path: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) if path.ends_with("annotations") => {
            found.extend(fields.keys().map(|name| format!("{path}/{name}")));
        }
        Value::Object(fields) if path.ends_with("attributes") => {
            found.insert(format!("{path}/{}", fields["name"].as_str().unwrap()));
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(&path, value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(path, item, found)),
        _ => {
            found.insert(path.to_owned());
        }
    }
}

#[test]
fn the_document_names_what_is_written_and_nothing_else() {
    let document = std::fs::read_to_string(root().join("docs/nrt.md")).unwrap();
    let table = document.lines().skip_while(|line| !line.starts_with("| field |")).skip(2);
    let rows = table.take_while(|line| line.starts_with("| `"));
    let described: BTreeSet<String> = rows.map(|row| row.split('`').nth(1).unwrap().to_owned()).collect();

    let folder = Folder::new("document");
    let config = folder.0.join("config.yaml");
    std::fs::write(
        &config,
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n\
         cpuManagerPolicyOptions: {full-pcpus-only: 'true'}\nreservedSystemCPUs: '0,48'\n\
         topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {max-allowable-numa-nodes: '16'}\n",
    )
    .unwrap();
    let (options, _) = export(&["-m", MACHINE, "--config", config.to_str().unwrap()]);
    assert_eq!(attribute(&options, "topologyManagerMaxNUMANodes"), Some("16"));
    let single = ["-m", MACHINE, "--policy", "single-numa-node"];
    let (placed, _) = with_pods(
        "document-placed",
        &single,
        &[("a", "cpu: 40, memory: 1Gi"), ("b", "cpu: 40, memory: 1Gi")],
    );
    let (group, _) = with_pods(
        "document-group",
        &["-m", MACHINE, "--policy", "restricted"],
        &[("big", "cpu: 60, memory: 100Gi")],
    );
    let (choosing, _) = export(&CHOOSING);
    let written: BTreeSet<String> =
        [&options, &placed, &group, &choosing].into_iter().flat_map(fields).collect();
    assert_eq!(described, written);
}
