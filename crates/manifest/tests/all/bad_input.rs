//! What a person sees of each kind of bad manifest.

use pod_spec::PodLevelResources;
use topology_manifest::{
    MAX_BYTES, Problem, Source, Style, UnknownFields, read_devices, read_manifests, read_pods,
};

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: dpdk
spec:
  containers:
  - name: app
    resources:
      limits:
        cpu: 8
        memory: 4Gi
";

/// The error of a good pod in which one text is another.
fn refused(was: &str, is: &str) -> String {
    assert!(POD.contains(was), "{was}");
    refused_text(&POD.replace(was, is))
}

fn refused_text(text: &str) -> String {
    let Err(error) = read_pods(&Source { name: "pods.yaml", text }) else { panic!("read: {text}") };
    error.render(Style::Ascii)
}

fn refused_devices(text: &str) -> String {
    let Err(error) = read_devices(&Source { name: "devices.yaml", text }) else { panic!("read: {text}") };
    error.render(Style::Ascii)
}

#[test]
fn broken_yaml() {
    insta::assert_snapshot!(refused("kind: Pod", "kind: Pod: Pod"), @"
    error: mapping values are not allowed in this context
     --> pods.yaml:2:10
      |
    1 | apiVersion: v1
    2 | kind: Pod: Pod
      |          ^
    ");
    insta::assert_snapshot!(refused("name: app", "name: 'app"), @"
    error: found unexpected end of stream: a quote is not closed
     --> pods.yaml:7:11
      |
    5 | spec:
    6 |   containers:
    7 |   - name: 'app
      |           ^
    ");
    insta::assert_snapshot!(refused("  - name: app", "  - name: [app"), @"
    error: did not find expected ',' or ']'
     --> pods.yaml:8:14
      |
    6 |   containers:
    7 |   - name: [app
    8 |     resources:
      |              ^
    ");
    insta::assert_snapshot!(refused("name: dpdk", "name: *nobody"), @"
    error: unknown anchor 'nobody' referenced
     --> pods.yaml:4:9
      |
    2 | kind: Pod
    3 | metadata:
    4 |   name: *nobody
      |         ^^^^^^^
    ");
    insta::assert_snapshot!(refused_text("{\"kind\": \"Pod\" \"apiVersion\": \"v1\"}"), @r#"
    error: invalid character '"' after object key:value pair
     --> pods.yaml:1:16
      |
    1 | {"kind": "Pod" "apiVersion": "v1"}
      |                ^
    "#);
    insta::assert_snapshot!(refused_text(&"[".repeat(100)), @"
    error: this bracket is not closed
     --> pods.yaml:1:100
      |
    1 | [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
      |                                                                                                    ^
    ");
    insta::assert_snapshot!(refused_text(""), @"
    error: pods.yaml is empty: expected a YAML or JSON document
    ");
    insta::assert_snapshot!(refused_text("# nothing\n---\n"), @"
    error: the file has no document
     --> pods.yaml:1:1
      |
    1 | # nothing
      | ^ expected a YAML or JSON document
    ");
}

/// What kubectl takes in silence.
fn passed(text: &str) -> String {
    let source = Source { name: "pods.yaml", text };
    let Ok(read) = read_manifests(&source, PodLevelResources::Count, UnknownFields::Report) else {
        panic!("it is refused: {text}")
    };
    assert_eq!(read.unnoticed.len(), 1, "{text}");
    read.unnoticed[0].render(Style::Ascii)
}

#[test]
fn duplicate_keys() {
    insta::assert_snapshot!(passed(&POD.replace("memory: 4Gi", "cpu: 9")), @r#"
    warning: key "cpu" is given twice
      --> pods.yaml:11:9
       |
     9 |       limits:
    10 |         cpu: 8
    11 |         cpu: 9
       |         ^^^ expected each key once
    "#);
    insta::assert_snapshot!(passed(&POD.replace("kind: Pod", "kind: Pod\nkind: Pod")), @r#"
    warning: key "kind" is given twice
     --> pods.yaml:3:1
      |
    1 | apiVersion: v1
    2 | kind: Pod
    3 | kind: Pod
      | ^^^^ expected each key once
    "#);
    insta::assert_snapshot!(passed("{\"kind\": \"Pod\", \"apiVersion\": \"v1\", \"kind\": \"Pod\"}"), @r#"
    warning: key "kind" is given twice
     --> pods.yaml:1:37
      |
    1 | {"kind": "Pod", "apiVersion": "v1", "kind": "Pod"}
      |                                     ^^^^^^ expected each key once
    "#);
}

#[test]
fn bad_quantities() {
    insta::assert_snapshot!(refused("cpu: 8", "cpu: -8"), @r#"
    error: spec.containers[0].resources.limits.cpu: quantity "-8" is negative
      --> pods.yaml:10:14
       |
     8 |     resources:
     9 |       limits:
    10 |         cpu: -8
       |              ^^ expected zero or more
    "#);
    insta::assert_snapshot!(refused("memory: 4Gi", "memory: \"-1Mi\""), @r#"
    error: spec.containers[0].resources.limits.memory: quantity "-1Mi" is negative
      --> pods.yaml:11:17
       |
     9 |       limits:
    10 |         cpu: 8
    11 |         memory: "-1Mi"
       |                 ^^^^^^ expected zero or more
    "#);
    insta::assert_snapshot!(refused("cpu: 8", "cpu: 1e40"), @r#"
    error: spec.containers[0].resources.limits.cpu: quantity "1e+40" is more than any machine has
      --> pods.yaml:10:14
       |
     8 |     resources:
     9 |       limits:
    10 |         cpu: 1e40
       |              ^^^^ expected less than 8Ei, or of CPUs less than 8Ei thousandths
    "#);
    insta::assert_snapshot!(refused("memory: 4Gi", "memory: 9Ei"), @r#"
    error: spec.containers[0].resources.limits.memory: quantity "9Ei" is more than any machine has
      --> pods.yaml:11:17
       |
     9 |       limits:
    10 |         cpu: 8
    11 |         memory: 9Ei
       |                 ^^^ expected less than 8Ei, or of CPUs less than 8Ei thousandths
    "#);
    insta::assert_snapshot!(refused("cpu: 8", "cpu: 1e9999999"), @r#"
    error: spec.containers[0].resources.limits.cpu: quantity "1e9999999" is more than any machine has
      --> pods.yaml:10:14
       |
     8 |     resources:
     9 |       limits:
    10 |         cpu: 1e9999999
       |              ^^^^^^^^^ expected less than 8Ei, or of CPUs less than 8Ei thousandths
    "#);
    insta::assert_snapshot!(refused("memory: 4Gi", "memory: 4GB"), @r#"
    error: spec.containers[0].resources.limits.memory: "4GB" is no quantity
      --> pods.yaml:11:17
       |
     9 |       limits:
    10 |         cpu: 8
    11 |         memory: 4GB
       |                 ^^^ expected an amount such as 2, 500m or 1.5Gi
    "#);
    insta::assert_snapshot!(refused("cpu: 8", "cpu: \"0x10\""), @r#"
    error: spec.containers[0].resources.limits.cpu: "0x10" is no quantity
      --> pods.yaml:10:14
       |
     8 |     resources:
     9 |       limits:
    10 |         cpu: "0x10"
       |              ^^^^^^ expected an amount such as 2, 500m or 1.5Gi
    "#);
    insta::assert_snapshot!(refused("cpu: 8", "cpu: true"), @"
    error: spec.containers[0].resources.limits.cpu: found true
      --> pods.yaml:10:14
       |
     8 |     resources:
     9 |       limits:
    10 |         cpu: true
       |              ^^^^ expected an amount such as 2, 500m or 1.5Gi
    ");
    insta::assert_snapshot!(refused("cpu: 8", "cpu: [8]"), @"
    error: spec.containers[0].resources.limits.cpu: found a list
      --> pods.yaml:10:14
       |
     8 |     resources:
     9 |       limits:
    10 |         cpu: [8]
       |              ^ expected an amount such as 2, 500m or 1.5Gi
    ");
    insta::assert_snapshot!(refused("cpu: 8", "cp u: 8"), @r#"
    error: spec.containers[0].resources.limits: there is no field "cp u"
      --> pods.yaml:10:9
       |
     8 |     resources:
     9 |       limits:
    10 |         cp u: 8
       |         ^^^^ expected a resource such as cpu, hugepages-1Gi or example.com/device
    "#);
}

#[test]
fn too_large() {
    let text = "# pad\n".repeat(350_000);
    assert!(text.len() > 2 * MAX_BYTES - 100_000);
    insta::assert_snapshot!(refused_text(&text), @"
    error: the text has 2100000 bytes
    --> pods.yaml
     = note: expected at most 1048576 bytes (1 MiB)
    ");
    let whole = format!("{POD}#{}", " ".repeat(MAX_BYTES - POD.len() - 1));
    assert!(read_pods(&Source { name: "pods.yaml", text: &whole }).is_ok(), "a mebibyte is read");
    assert!(read_pods(&Source { name: "pods.yaml", text: &format!("{whole} ") }).is_err());
}

#[test]
fn not_utf8() {
    let error = Source::from_bytes("pods.yaml", b"kind: Pod\nname: caf\xe9\n").expect_err("the text is bad");
    assert_eq!((error.line(), error.column()), (2, 10));
    assert_eq!(*error.problem(), Problem::NotUtf8);
    insta::assert_snapshot!(error.render(Style::Ascii), @"
    error: this byte is not UTF-8
     --> pods.yaml:2:10
      |
    1 | kind: Pod
    2 | name: caf 
      |          ^
    ");
}

#[test]
fn other_kinds() {
    insta::assert_snapshot!(refused("kind: Pod", "kind: Deployment"), @r#"
    error: kind: "Deployment" is not read here
     --> pods.yaml:2:7
      |
    1 | apiVersion: v1
    2 | kind: Deployment
      |       ^^^^^^^^^^ expected kind Pod, or List with pods as its items
    "#);
    insta::assert_snapshot!(refused("kind: Pod\n", ""), @"
    error: field kind is missing
     --> pods.yaml:1:1
      |
    1 | apiVersion: v1
      | ^ expected kind Pod, or List with pods as its items
    ");
    insta::assert_snapshot!(refused("apiVersion: v1", "apiVersion: v2"), @r#"
    error: apiVersion: "v2" is not read here
     --> pods.yaml:1:13
      |
    1 | apiVersion: v2
      |             ^^ expected apiVersion v1
    "#);
    insta::assert_snapshot!(refused_text("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Node\n"), @r#"
    error: items[0].kind: "Node" is not read here
     --> pods.yaml:5:9
      |
    3 | items:
    4 | - apiVersion: v1
    5 |   kind: Node
      |         ^^^^ expected kind Pod, or List with pods as its items
    "#);
}

#[test]
fn names() {
    insta::assert_snapshot!(refused("  name: dpdk", "  labels: {}"), @"
    error: metadata: field name is missing
     --> pods.yaml:4:3
      |
    2 | kind: Pod
    3 | metadata:
    4 |   labels: {}
      |   ^ expected the pod's name
    ");
    insta::assert_snapshot!(refused("name: dpdk", "name: 7"), @r#"
    error: metadata.name: found number "7"
     --> pods.yaml:4:9
      |
    2 | kind: Pod
    3 | metadata:
    4 |   name: 7
      |         ^ expected a name, in quotes where it looks like a number
    "#);
    insta::assert_snapshot!(refused("name: dpdk", "name: d p d k"), @r#"
    error: metadata.name: "d p d k" is no name
     --> pods.yaml:4:9
      |
    2 | kind: Pod
    3 | metadata:
    4 |   name: d p d k
      |         ^^^^^^^ expected 1 to 253 letters, digits and dashes, first and last no dash
    "#);
    insta::assert_snapshot!(refused("  - name: app", "  - name: app\n  - name: app"), @r#"
    error: spec.containers[1].name: the pod already has a container "app"
     --> pods.yaml:8:11
      |
    6 |   containers:
    7 |   - name: app
    8 |   - name: app
      |           ^^^ expected container names that differ, init containers included
    "#);
    insta::assert_snapshot!(refused("  containers:", "  initContainers: [{name: app}]\n  containers:"), @r#"
    error: spec.containers[0].name: the pod already has a container "app"
     --> pods.yaml:8:11
      |
    6 |   initContainers: [{name: app}]
    7 |   containers:
    8 |   - name: app
      |           ^^^ expected container names that differ, init containers included
    "#);
    insta::assert_snapshot!(refused_text(&[POD, POD].join("---\n")), @r#"
    error: metadata.name: the text already has a pod "default/dpdk"
      --> pods.yaml:16:9
       |
    14 | kind: Pod
    15 | metadata:
    16 |   name: dpdk
       |         ^^^^ expected each pod once
    "#);
}

#[test]
fn wrong_shapes() {
    insta::assert_snapshot!(refused("spec:", "spec: []\nspare:"), @"
    error: spec: found a list
     --> pods.yaml:5:7
      |
    3 | metadata:
    4 |   name: dpdk
    5 | spec: []
      |       ^ expected a mapping
    ");
    insta::assert_snapshot!(refused("  containers:", "  spare:"), @"
    error: spec: field containers is missing
     --> pods.yaml:6:3
      |
    4 |   name: dpdk
    5 | spec:
    6 |   spare:
      |   ^ expected a list of at least one container
    ");
    insta::assert_snapshot!(refused_text("kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec: {containers: {name: c}}\n"), @"
    error: spec.containers: found a mapping
     --> pods.yaml:4:20
      |
    2 | apiVersion: v1
    3 | metadata: {name: a}
    4 | spec: {containers: {name: c}}
      |                    ^ expected a list
    ");
    insta::assert_snapshot!(refused_text("just words\n"), @r#"
    error: found text "just words"
     --> pods.yaml:1:1
      |
    1 | just words
      | ^^^^^^^^^^ expected a mapping
    "#);
}

#[test]
fn devices() {
    insta::assert_snapshot!(refused_devices("devices:\n- resource: a/b\n  count: 3\n"), @r#"
    error: devices[0]: there is no field "count"
     --> devices.yaml:3:3
      |
    1 | devices:
    2 | - resource: a/b
    3 |   count: 3
      |   ^^^^^ expected resource, list, perNode or pci
    "#);
    insta::assert_snapshot!(refused_devices("devices:\n- resource: a/b\n"), @"
    error: devices[0]: field list, perNode or pci is missing
     --> devices.yaml:2:3
      |
    1 | devices:
    2 | - resource: a/b
      |   ^ expected exactly one of list, perNode and pci
    ");
    insta::assert_snapshot!(refused_devices("devices:\n- resource: a/b\n  pci: {vendor: \"8086\", class: \"2\"}\n"), @r#"
    error: devices[0].pci.class: found text "2"
     --> devices.yaml:3:32
      |
    1 | devices:
    2 | - resource: a/b
    3 |   pci: {vendor: "8086", class: "2"}
      |                                ^^^ expected two, four or six hexadecimal digits, with or without 0x
    "#);
    insta::assert_snapshot!(refused_devices("devices:\n- resource: a/b\n  pci: {vendor: 18086}\n"), @r#"
    error: devices[0].pci.vendor: found number "18086"
     --> devices.yaml:3:17
      |
    1 | devices:
    2 | - resource: a/b
    3 |   pci: {vendor: 18086}
      |                 ^^^^^ expected one to four hexadecimal digits, with or without 0x
    "#);
    insta::assert_snapshot!(refused_devices("devices:\n- resource: a/b\n  pci: {}\n"), @"
    error: devices[0].pci: field class, vendor or device is missing
     --> devices.yaml:3:8
      |
    1 | devices:
    2 | - resource: a/b
    3 |   pci: {}
      |        ^ expected at least one
    ");
    insta::assert_snapshot!(refused_devices("devices:\n- resource: a/b\n  perNode: {0: -1}\n"), @r#"
    error: devices[0].perNode.0: "-1" is out of range
     --> devices.yaml:3:16
      |
    1 | devices:
    2 | - resource: a/b
    3 |   perNode: {0: -1}
      |                ^^ expected a number of devices, 0 to 65536
    "#);
    insta::assert_snapshot!(refused_devices("devices:\n- resource: a/b\n  perNode: {zero: 1}\n"), @r#"
    error: devices[0].perNode: "zero" is out of range
     --> devices.yaml:3:13
      |
    1 | devices:
    2 | - resource: a/b
    3 |   perNode: {zero: 1}
      |             ^^^^ expected the id of a NUMA node, 0 to 1023
    "#);
    insta::assert_snapshot!(refused_devices("devices:\n- resource: a/b\n  list: [{id: x}, {id: x}]\n"), @r#"
    error: devices[0].list[1].id: the resource already has a device "x"
     --> devices.yaml:3:24
      |
    1 | devices:
    2 | - resource: a/b
    3 |   list: [{id: x}, {id: x}]
      |                        ^ expected each device once
    "#);
    insta::assert_snapshot!(refused_devices("devices:\n- resource: a/b\n  perNode: {0: 1}\n- resource: a/b\n  perNode: {1: 1}\n"), @r#"
    error: devices[1].resource: the inventory already has a resource "a/b"
     --> devices.yaml:4:13
      |
    2 | - resource: a/b
    3 |   perNode: {0: 1}
    4 | - resource: a/b
      |             ^^^ expected each resource once
    "#);
}

#[test]
fn place_in_a_long_line() {
    let text = format!(
        r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"note": "{}", "name": "a"}}, "spec": {{"containers": []}}}}"#,
        "é".repeat(5000)
    );
    let error = read_pods(&Source { name: "pods.yaml", text: &text }).expect_err("the text is bad");
    assert_eq!((error.line(), error.column()), (1, 5099));
    insta::assert_snapshot!(error.render(Style::Unicode), @r#"
    error: spec.containers: found an empty list
      ╭▸ pods.yaml:1:5099
      │
      ⸬  
    1 │ ", "name": "a"}, "spec": {"containers": []}}
      ╰╴                                        ━ expected a list of at least one container
    "#);
}

#[test]
fn an_error_in_one_line() {
    let text = POD.replace("cpu: 8", "cpu: -8");
    let error = read_pods(&Source { name: "pods.yaml", text: &text }).expect_err("the text is bad");
    insta::assert_snapshot!(error, @r#"pods.yaml:10:14: spec.containers[0].resources.limits.cpu: quantity "-8" is negative, expected zero or more"#);
    assert_eq!(error.file(), "pods.yaml");
    assert_eq!(error.field(), "spec.containers[0].resources.limits.cpu");
    assert_eq!(*error.problem(), Problem::NegativeQuantity("-8".to_owned()));
}
