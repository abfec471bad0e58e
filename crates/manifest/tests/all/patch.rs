//! Configurations changed in place: what is not changed stays as it is, byte for byte.

use serde_json::{Value, json};
use topology_manifest::{
    FieldChange, PatchError, Source, patch_kubelet_config, patch_object, read_kubelet_config,
};

const HEAD: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

fn patched(text: &str, changes: &[(&str, Value)]) -> Result<String, PatchError> {
    let change = |(field, value): &(&str, Value)| FieldChange {
        field: (*field).to_owned(),
        value: Some(value.clone()).filter(|value| *value != Value::Null),
    };
    let changes: Vec<FieldChange> = changes.iter().map(change).collect();
    patch_kubelet_config(&Source { name: "kubelet.yaml", text }, &changes)
}

#[track_caller]
fn check(fields: &str, changes: &[(&str, Value)], expected: &str) {
    let text = patched(&format!("{HEAD}{fields}"), changes).unwrap();
    assert_eq!(text, format!("{HEAD}{expected}"));
    read_kubelet_config(&Source { name: "kubelet.yaml", text: &text }).unwrap();
}

#[test]
fn comments_order_and_style_stay() {
    let policy = ("cpuManagerPolicy", json!("static"));
    check(
        "# pinning\ncpuManagerPolicy: none  # for now\n\n# the rest\nmaxPods: 110\n",
        std::slice::from_ref(&policy),
        "# pinning\ncpuManagerPolicy: static  # for now\n\n# the rest\nmaxPods: 110\n",
    );
    check(
        "maxPods: 110\n# end\n",
        std::slice::from_ref(&policy),
        "maxPods: 110\ncpuManagerPolicy: static\n# end\n",
    );
    check("maxPods: 110", &[policy], "maxPods: 110\ncpuManagerPolicy: static");
    check(
        "kubeReserved:\n  # for the kubelet\n  cpu: 100m\n  memory: \"1Gi\" # much\nmaxPods: 110\n",
        &[("kubeReserved", json!({"cpu": "100m", "memory": "2Gi", "pid": "1000"}))],
        "kubeReserved:\n  # for the kubelet\n  cpu: 100m\n  memory: 2Gi # much\n  pid: \"1000\"\nmaxPods: 110\n",
    );
    check(
        "kubeReserved: {cpu: 100m, memory: 1Gi}  # both\n",
        &[("kubeReserved", json!({"memory": "2Gi"}))],
        "kubeReserved: {memory: 2Gi}  # both\n",
    );
    check(
        "reservedMemory:   # per node\n- numaNode: 0\n  limits: {memory: 1Gi}\n# next\nmaxPods: 110\n",
        &[("reservedMemory", json!([{"numaNode": 1, "limits": {"memory": "2Gi"}}]))],
        "reservedMemory:   # per node\n- numaNode: 1\n  limits:\n    memory: 2Gi\n# next\nmaxPods: 110\n",
    );
    check(
        "reservedMemory: [{numaNode: 0,\n  limits: {memory: 1Gi}}]\nmaxPods: 110\n",
        &[("reservedMemory", json!([{"numaNode": 1, "limits": {"memory": "2Gi"}}]))],
        "reservedMemory: [{numaNode: 1, limits: {memory: 2Gi}}]\nmaxPods: 110\n",
    );
    check(
        "reservedSystemCPUs: '0'\nmaxPods: 110\n# kept\n",
        &[("reservedSystemCPUs", Value::Null), ("maxPods", Value::Null), ("podsPerCore", Value::Null)],
        "# kept\n",
    );
    check(
        "cpuManagerPolicy: \"none\"\r\nmaxPods: 110\r\n",
        &[("cpuManagerPolicy", json!("static")), ("reservedSystemCPUs", json!("0"))],
        "cpuManagerPolicy: static\r\nmaxPods: 110\r\nreservedSystemCPUs: \"0\"\r\n",
    );
    check(
        "evictionHard:\nmaxPods: 110\n",
        &[("evictionHard", json!({"memory.available": "5%"}))],
        "evictionHard:\n  memory.available: 5%\nmaxPods: 110\n",
    );
}

#[test]
fn json_stays_json() {
    let lines = "{\n  \"kind\": \"KubeletConfiguration\",\n  \"apiVersion\": \"kubelet.config.k8s.io/v1beta1\",\n\t\"kubeReserved\": {\n    \"cpu\": \"1\"\n  },\n  \"maxPods\": 110\n}\n";
    let changes = [
        ("maxPods", Value::Null),
        ("kubeReserved", json!({"cpu": "2"})),
        ("cpuManagerPolicyOptions", json!({"a": "b"})),
    ];
    let expected = "{\n  \"kind\": \"KubeletConfiguration\",\n  \"apiVersion\": \"kubelet.config.k8s.io/v1beta1\",\n\t\"kubeReserved\": {\n    \"cpu\": \"2\"\n  },\n\t\"cpuManagerPolicyOptions\": {\n \"a\": \"b\"\n}\n}\n";
    let found = patched(lines, &changes).unwrap();
    assert_eq!(found.replace(' ', ""), expected.replace(' ', ""));
    assert!(serde_json::from_str::<Value>(&found).is_ok());
    let line = "{\"kind\":\"KubeletConfiguration\",\"apiVersion\":\"kubelet.config.k8s.io/v1beta1\",\"maxPods\":110}";
    let found = patched(line, &[("cpuManagerPolicy", json!("static"))]).unwrap();
    assert_eq!(found, line.replace("110}", "110,\"cpuManagerPolicy\":\"static\"}"));
}

#[test]
fn openshift_stays_what_can_be_applied_there() {
    let text = "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: a}\nspec:\n  \
        kubeletConfig:\n    cpuManagerPolicy: none # below\n\n    maxPods: 5\n  machineConfigPoolSelector:\n    \
        matchLabels: {a: b}\n";
    let changes = [("cpuManagerPolicy", json!("static")), ("systemReserved", json!({"memory": "1Gi"}))];
    let expected = text
        .replace("none #", "static #")
        .replace("    maxPods: 5\n", "    maxPods: 5\n    systemReserved:\n      memory: 1Gi\n");
    assert_eq!(patched(text, &changes).unwrap(), expected);
}

#[test]
fn what_a_kubelet_answers_becomes_a_file_that_it_reads() {
    let text = "{\"kubeletconfig\":{\"address\":\"0.0.0.0\",\"cpuManagerPolicy\":\"none\"}}";
    let found = patched(text, &[("cpuManagerPolicy", json!("static"))]).unwrap();
    let expected = json!({"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "address": "0.0.0.0", "cpuManagerPolicy": "static"});
    assert_eq!(serde_json::from_str::<Value>(&found).unwrap(), expected);
}

#[test]
fn a_field_that_is_tied_to_another_is_not_changed_behind_anybodys_back() {
    for (fields, change) in [
        ("kubeReserved: &r {memory: 1Gi}\nsystemReserved: *r\n", ("kubeReserved", json!({"memory": "2Gi"}))),
        (
            "kubeReserved: &r\n  memory: 1Gi\nsystemReserved:\n  <<: *r\n  cpu: '1'\n",
            ("systemReserved", json!({"memory": "2Gi", "cpu": "1"})),
        ),
    ] {
        let text = format!("{HEAD}{fields}");
        match patched(&text, std::slice::from_ref(&change)) {
            Err(PatchError::Tied(_)) => {}
            Err(error) => panic!("{fields}: {error}"),
            Ok(text) => {
                let read = |text: &str| read_kubelet_config(&Source { name: "k", text }).unwrap().config;
                let (before, after) = (read(&format!("{HEAD}{fields}")), read(&text));
                let others = if change.0 == "kubeReserved" {
                    (before.system_reserved, after.system_reserved)
                } else {
                    (before.kube_reserved, after.kube_reserved)
                };
                assert_eq!(others.0, others.1, "{text}");
            }
        }
    }
}

#[test]
fn a_text_that_begins_with_a_byte_order_mark_keeps_it() {
    let yaml = format!("\u{feff}{HEAD}maxPods: 110\n");
    let changes = [("cpuManagerPolicy", json!("static"))];
    assert_eq!(patched(&yaml, &changes).unwrap(), format!("{yaml}cpuManagerPolicy: static\n"));
    let json = "\u{feff}{\"kind\":\"KubeletConfiguration\",\"apiVersion\":\"kubelet.config.k8s.io/v1beta1\"}";
    let expected = json.replace('}', ",\"cpuManagerPolicy\":\"static\"}");
    assert_eq!(patched(json, &changes).unwrap(), expected);
}

#[test]
fn what_has_no_keys_yet_gets_some() {
    let openshift = |fields: &str| {
        format!(
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nspec:\n  \
                kubeletConfig:{fields}\n  machineConfigPoolSelector: {{}}\n"
        )
    };
    let changes = [("cpuManagerPolicy", json!("static")), ("kubeReserved", json!({"memory": "1Gi"}))];
    let written = "  # all pools\n    cpuManagerPolicy: static\n    kubeReserved:\n      memory: 1Gi";
    let text = openshift(" {}  # all pools");
    assert_eq!(patched(&text, &changes).unwrap(), openshift(written));
    let written = written.replace('\n', "\r\n");
    assert_eq!(
        patched(&text.replace('\n', "\r\n"), &changes).unwrap(),
        openshift(&written).replace("\r\n", "\n").replace('\n', "\r\n")
    );
    let found = patched("{\"kubeletconfig\":{}}", &changes).unwrap();
    read_kubelet_config(&Source { name: "kubelet.yaml", text: &found }).unwrap();
    check(
        "reservedMemory: []  # none\nkubeReserved: {}\nmaxPods: 110\n",
        &[
            ("kubeReserved", json!({"cpu": "1"})),
            ("reservedMemory", json!([{"numaNode": 0, "limits": {"memory": "1Gi"}}])),
        ],
        "reservedMemory:  # none\n- numaNode: 0\n  limits:\n    memory: 1Gi\nkubeReserved:\n  cpu: \"1\"\nmaxPods: 110\n",
    );
}

#[test]
fn the_true_reason_is_told() {
    let fields = |text: &str| format!("{HEAD}{text}");
    for (text, changes, reason) in [
        (
            fields("reservedSystemCPUs: &x '0'\nproviderID: *x\n"),
            vec![("cpuManagerPolicy", json!("static")), ("reservedSystemCPUs", json!("1"))],
            PatchError::Tied("reservedSystemCPUs".to_owned()),
        ),
        (
            fields("kubeReserved: &r {memory: 1Gi}\nsystemReserved: *r\n"),
            vec![("cpuManagerPolicy", json!("static")), ("kubeReserved", json!({"memory": "2Gi"}))],
            PatchError::Tied("kubeReserved".to_owned()),
        ),
        (
            fields("? maxPods\n: 110\n"),
            vec![("cpuManagerPolicy", json!("static"))],
            PatchError::Keys("cpuManagerPolicy".to_owned()),
        ),
        (
            fields("kubeReserved: {memory: !!str 1Gi}\n"),
            vec![("kubeReserved", json!({"memory": "2Gi"}))],
            PatchError::Values("kubeReserved".to_owned()),
        ),
    ] {
        assert_eq!(patched(&text, &changes), Err(reason), "{text}");
    }
}

#[test]
fn values_of_an_object_are_set_at_any_depth() {
    let text = "kind: PerformanceProfile\napiVersion: performance.openshift.io/v2\nmetadata:\n  name: a # ours\nspec:\n  cpu:\n    \
                # all but the first cores\n    isolated: 2-7\n    reserved: \"0,1\"\n";
    let fields = json!({
        "metadata": {"annotations": {"kubeletconfig.experimental": "{\"maxPods\":3}"}},
        "spec": {"cpu": {"reserved": "0-1"}, "numa": {"topologyPolicy": "restricted"}},
    });
    let made = patch_object(&Source { name: "profile.yaml", text }, &fields);
    insta::assert_snapshot!(made.unwrap(), @r#"
    kind: PerformanceProfile
    apiVersion: performance.openshift.io/v2
    metadata:
      name: a # ours
      annotations:
        kubeletconfig.experimental: "{\"maxPods\":3}"
    spec:
      cpu:
        # all but the first cores
        isolated: 2-7
        reserved: "0-1"
      numa:
        topologyPolicy: restricted
    "#);
}

/// What GKE and Gardener call otherwise is written by their names, and in their mappings.
#[test]
fn a_form_keeps_its_names() {
    let shoot = "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nspec:\n  kubernetes:\n    kubelet:\n      \
                 evictionHard:\n        memoryAvailable: 100Mi\n";
    let evicted = json!({"memory.available": "200Mi", "imagefs.available": "5%"});
    let text = patched(shoot, &[("evictionHard", evicted)]).unwrap();
    assert!(text.contains("memoryAvailable: 200Mi\n        imageFSAvailable: 5%\n"), "{text}");
    let reserved = json!({"ephemeral-storage": "1Gi"});
    let text = patched(shoot, &[("kubeReserved", reserved)]).unwrap();
    assert!(text.contains("kubeReserved:\n        ephemeralStorage: 1Gi\n"), "{text}");

    let pool = "apiVersion: container.cnrm.cloud.google.com/v1beta1\nkind: ContainerNodePool\nspec:\n  nodeConfig:\n    \
                kubeletConfig:\n      topologyManager:\n        scope: pod # kept\n";
    let text = patched(pool, &[("topologyManagerPolicy", json!("restricted"))]).unwrap();
    assert!(text.contains("scope: pod # kept\n        policy: restricted\n"), "{text}");
    let text = patched(pool, &[("memoryManagerPolicy", json!("Static"))]).unwrap();
    assert!(text.contains("      memoryManager:\n        policy: Static\n"), "{text}");
}
