//! Manifests as people write them, and what is read from them.

use pod_spec::{Amounts, Pod, PodLevelResources, QosClass, ResourceList, Role};
use topology_manifest::{Source, Style, UnknownFields, read_manifests, read_pods};

fn pods(text: &str) -> Vec<Pod> {
    read_pods(&Source { name: "pods.yaml", text })
        .unwrap_or_else(|error| panic!("{}", error.render(Style::Ascii)))
}

fn fixture(name: &str) -> Vec<Pod> {
    let path = format!("{}/../../fixtures/pods/{name}", env!("CARGO_MANIFEST_DIR"));
    pods(&std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}")))
}

fn amounts(list: &ResourceList) -> String {
    list.iter().map(|(name, amount)| format!("{name}={amount}")).collect::<Vec<_>>().join(" ")
}

fn summary(pods: &[Pod]) -> String {
    let mut lines = Vec::new();
    for pod in pods {
        let class = pod.qos_class(PodLevelResources::Count).name();
        lines.push(format!("{}/{} {class}", pod.namespace, pod.name));
        for container in &pod.containers {
            let (requests, limits) = (amounts(&container.requests), amounts(&container.limits));
            let asked = match (requests == limits, limits.as_str()) {
                (true, "") => "nothing".to_owned(),
                (true, _) => requests,
                (false, "") => format!("{requests} unlimited"),
                (false, _) => format!("{requests} of {limits}"),
            };
            lines.push(format!("  {} {:?} {asked}", container.name, container.role));
        }
    }
    lines.join("\n")
}

/// A pod of one container with these lines of YAML (or any) as its `resources`.
fn with_resources(resources: &str) -> Vec<Pod> {
    pods(&format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  containers:\n  - name: c\n    resources: {resources}\n"
    ))
}

#[test]
fn ordinary_pods() {
    let names = [
        "dpdk.yaml",
        "gpu.yaml",
        "aligned.yaml",
        "two-containers.yaml",
        "mesh-sidecar.yaml",
        "init-containers.yaml",
        "stories.yaml",
        "qos-classes.yaml",
        "openshift.json",
    ];
    let all: Vec<Pod> = names.into_iter().flat_map(fixture).collect();
    insta::assert_snapshot!(summary(&all), @"
    ran/dpdk Guaranteed
      testpmd App cpu=8 hugepages-1Gi=8Gi intel.com/sriov_vf=2 memory=4Gi
    ml/train-0 Guaranteed
      trainer App cpu=8 memory=24Gi nvidia.com/gpu=1 nvidia.com/nic=1
    ml/train-wide Guaranteed
      trainer App cpu=16 memory=48Gi nvidia.com/gpu=2 nvidia.com/nic=2
    default/numa-aligned Guaranteed
      numa-aligned-container App cpu=2 memory=200Mi nvidia.com/gpu=1 nvidia.com/nic=1
    default/numa-aligned-pair Guaranteed
      numa-aligned-container0 App cpu=2 memory=200Mi nvidia.com/gpu=1 nvidia.com/nic=1
      numa-aligned-container1 App cpu=2 memory=200Mi nvidia.com/gpu=1 nvidia.com/nic=1
    ran/web-1 Burstable
      istio-init Init cpu=10m memory=40Mi unlimited
      istio-proxy Sidecar cpu=100m memory=128Mi unlimited
      app App cpu=4 memory=2Gi
    default/staged Guaranteed
      fetch Init cpu=2 memory=1G
      unpack Init cpu=2 memory=3G
      serve App cpu=2 memory=1G
      index App cpu=1 memory=1G
    stories/fast-vnf Guaranteed
      vnf App cpu=4 hugepages-1Gi=2Gi intel.com/sriov_vf=1 memory=1Gi
    stories/fast-training Guaranteed
      training App cpu=6 memory=16Gi nvidia.com/gpu=1
    guide/best-effort BestEffort
      nginx App nothing
    guide/burstable Burstable
      nginx App memory=100Mi of memory=200Mi
    guide/guaranteed Guaranteed
      nginx App cpu=2 intel.com/sriov_vf=1 memory=200Mi
    guide/devices-only BestEffort
      nginx App nvidia.com/gpu=1 nvidia.com/nic=1
    cnf/cpumanager-pod Guaranteed
      cpumanager App cpu=1 memory=1G
    ");
}

#[test]
fn every_committed_pod_is_read() {
    let folder = format!("{}/../../fixtures/pods", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(&folder).expect("the folder is there");
    let mut count = 0;
    for file in files {
        let path = file.expect("an entry").path();
        if path.is_dir() {
            // Those that are there to be refused.
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let source = Source { name: &path.display().to_string(), text: &text };
        let read = read_manifests(&source, PodLevelResources::Count, UnknownFields::Refuse)
            .unwrap_or_else(|error| panic!("{}", error.render(Style::Ascii)));
        assert!(!read.pods.is_empty(), "{path:?}");
        assert!(read.refused.is_empty(), "{path:?}: {}", read.refused[0]);
        count += 1;
    }
    assert!(count >= 9, "only {count}");
}

#[test]
fn quantities_are_taken_as_kubectl_takes_them() {
    let rows = [
        ("1", "1"),
        ("'1'", "1"),
        ("\"1\"", "1"),
        ("0644", "420"),
        ("08", "8"),
        ("0x10", "16"),
        ("1_000", "1000"),
        ("1e-3", "0.001"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("1.5", "1500m"),
        ("0.1", "100m"),
        ("1.5Gi", "1610612736"),
        ("500m", "0.5"),
        ("1u", "1m"),
        ("+2", "2"),
        ("100000000000000000", "1e17"),
        ("!!str 5", "5"),
        ("!!int 5", "5"),
        ("&anchor 6", "6"),
        (">-\n          7", "7"),
        ("~", "0"),
        ("", "0"),
    ];
    for (written, expected) in rows {
        let pods = with_resources(&format!("\n      limits:\n        memory: {written}\n"));
        let limit = &pods[0].containers[0].limits["memory"];
        assert_eq!(*limit, expected.parse().expect("a quantity"), "{written:?} was read as {limit}");
    }
}

#[test]
fn an_api_servers_defaults_are_filled_in() {
    let pods = with_resources("{limits: {cpu: 2, memory: 1Gi, example.com/card: 1}, requests: {cpu: 1}}");
    let container = &pods[0].containers[0];
    assert_eq!(amounts(&container.requests), "cpu=1 example.com/card=1 memory=1Gi");
    assert_eq!(pods[0].qos_class(PodLevelResources::Count), QosClass::Burstable);
}

#[test]
fn what_a_running_cluster_writes() {
    let text = r#"{
	"apiVersion": "v1",
	"kind": "List",
	"metadata": {"resourceVersion": ""},
	"items": [{
		"apiVersion": "v1",
		"kind": "Pod",
		"metadata": {
			"name": "pair-7d4b9c-x2x8p",
			"namespace": "ran",
			"uid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
			"creationTimestamp": "2026-01-02T03:04:05Z",
			"annotations": {"note": "a \u003c b, \"c\", \/ and \ud83d\ude00"},
			"managedFields": [{"fieldsV1": {"f:spec": {"f:containers": {"k:{\"name\":\"app\"}": {".": {}}}}}}]
		},
		"spec": {
			"overhead": {"cpu": "250m"},
			"resources": {"limits": {"cpu": "4"}},
			"initContainers": [
				{"name": "setup"},
				{"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}}
			],
			"containers": [{"name": "app", "resources": {"requests": {"cpu": "2"}}}],
			"ephemeralContainers": [{"name": "debugger"}],
			"nodeName": "node-1"
		},
		"status": {"phase": "Running", "qosClass": "Guaranteed"}
	}]
}"#;
    let read = pods(text);
    let pod = &read[0];
    assert_eq!((pod.uid.as_str(), pod.namespace.as_str()), ("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "ran"));
    assert_eq!(pod.status_qos, Some(QosClass::Guaranteed));
    let roles: Vec<_> =
        pod.containers.iter().map(|container| (container.name.as_str(), container.role)).collect();
    assert_eq!(roles, [("setup", Role::Init), ("proxy", Role::Sidecar), ("app", Role::App)]);
    assert_eq!(amounts(&pod.overhead), "cpu=250m");
    // The containers ask for 2.1 CPUs, and that is what the pod-level request becomes.
    let resources = pod.resources.as_ref().expect("pod-level resources");
    assert_eq!(
        (amounts(&resources.limits), amounts(&resources.requests)),
        ("cpu=4".into(), "cpu=2100m".into())
    );

    let answer_of_an_api_server = text
        .replace("\"kind\": \"List\"", "\"kind\": \"PodList\"")
        .replace("\t\t\"apiVersion\": \"v1\",\n\t\t\"kind\": \"Pod\",\n", "");
    assert_eq!(summary(&pods(&answer_of_an_api_server)), summary(&read));
}

#[test]
fn effective_requests_of_the_proposals_example() {
    let pods = fixture("init-containers.yaml");
    let effective = pods[0].containers_amounts(Amounts::Requests);
    assert_eq!(amounts(&effective), "cpu=3 memory=3G");
}

#[test]
fn many_documents_in_every_form() {
    let pod = |name: &str| {
        format!(
            r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{name}"}}, "spec": {{"containers": [{{"name": "c"}}]}}}}"#
        )
    };
    let (a, b) = (pod("a"), pod("b"));
    let list = format!(
        "kind: List\napiVersion: v1\nitems:\n- {a}\n- kind: List\n  apiVersion: v1\n  items: [{b}]\n"
    );
    for text in [
        format!("{a}\n---\n{b}\n"),
        format!("---\n# first\n---\n{a}\n---\n---\n{b}\n...\n"),
        format!("\u{feff}{a}\n---\n{b}"),
        format!("---\r\n{a}\r\n---\r\n{b}\r\n"),
        format!("{a}{b}"),
        format!("{a}\n\n{b}\n"),
        list,
    ] {
        let names: Vec<_> = pods(&text).into_iter().map(|pod| pod.name).collect();
        assert_eq!(names, ["a", "b"], "{text}");
    }
}

#[test]
fn a_pod_without_uid_gets_the_same_one_each_time() {
    let text =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\nspec: {containers: [{name: c}]}\n";
    assert_eq!(pods(text)[0].uid.as_str(), "b_a");
    assert_eq!(pods(&text.replace(", namespace: b", ""))[0].uid.as_str(), "default_a");
}

#[test]
fn an_empty_list_has_no_pods() {
    assert!(pods("{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": []}").is_empty());
}
