//! A node file decides as the node itself does, and leaves out private data of the node.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kubelet_checkpoint::device::{DeviceEntry, DeviceState};
use pod_spec::{ContainerName, PodUid};
use serde_json::Value;
use topology_discovery::{Capture, SysfsTree};

const MACHINE: &str = "xeon-2s-96cpu-sriov";

/// A separate folder for a test, gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("topolet-node-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name).display().to_string()
}

fn topolet(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_topolet")).args(arguments).output().unwrap()
}

fn capture(arguments: &[&str]) -> String {
    let output = topolet(&[&["capture", "--node", "--machine", MACHINE], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What is decided, without what machine and configuration are called.
fn decided(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = topolet(&[arguments, &["-o", "json"]].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    let mut document: Value =
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    for name in ["machine", "configuration"] {
        if let Some(node) = document.get_mut("node").and_then(Value::as_object_mut) {
            node.remove(name);
        }
    }
    (output.status.code(), document)
}

const SINGLE: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n\
    clusterDNS: [10.96.0.10]\nstaticPodURLHeader: {Authorization: [secret-token]}\n\
    cpuManagerPolicy: static\nreservedSystemCPUs: \"0,24,48,72\"\nmemoryManagerPolicy: Static\n\
    topologyManagerPolicy: single-numa-node\nsystemReserved: {memory: 2Gi}\nevictionHard: {}\n\
    reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 1, limits: {memory: 1Gi}}]\n";

/// `devices.claims: hint` of a node on which a kubelet is to decide: it asks no claims.
#[test]
fn an_option_that_a_kubelet_does_not_have_is_a_finding() {
    let folder = Folder::new("hints");
    let (config, own) = (folder.file("kubelet.yaml"), folder.file("topolet.yaml"));
    std::fs::write(&config, SINGLE).unwrap();
    let options = "apiVersion: topolet.dev/v1alpha1\nkind: TopoletConfiguration\ndevices: {claims: CLAIMS}\n";
    let found = |claims: &str, program: &str| {
        let file = folder.file(&format!("{claims}-{program}.tar.zst"));
        std::fs::write(&own, options.replace("CLAIMS", claims)).unwrap();
        capture(&[&file, "--config", &config, "--topolet-config", &own]);
        let (_, check) = decided(&["config", "check", "--machine", &file, "--for", program]);
        let findings = check["findings"].as_array().unwrap().iter();
        findings.filter(|finding| finding["field"] == "devices.claims").cloned().collect::<Vec<_>>()
    };
    let of_kubelet = found("hint", "kubelet");
    assert_eq!(of_kubelet.len(), 1, "{of_kubelet:?}");
    let text = of_kubelet[0].to_string();
    assert!(text.contains("a kubelet asks no claims for hints"), "{text}");
    assert!(text.contains("--for topolet"), "{text}");
    assert_eq!(found("hint", "topolet"), Vec::<Value>::new());
    assert_eq!(found("ignore", "kubelet"), Vec::<Value>::new());
}

#[test]
fn a_node_file_decides_as_the_node() {
    let folder = Folder::new("same");
    let (file, config) = (folder.file("node.tar.zst"), folder.file("kubelet.yaml"));
    std::fs::write(&config, SINGLE).unwrap();
    let (state, pods) = (fixture("state/healthy"), fixture("state/pods"));
    let devices = fixture("devices/intel-2s-16vf.yaml");
    let node = ["--state", &state, "--pods", &pods, "--config", &config, "--devices", &devices];
    let said = capture(&[&[file.as_str()], &node[..]].concat());
    assert!(said.contains("3 names and UIDs") && said.contains("1 resource"), "{said}");
    let (dpdk, stories) = (fixture("pods/dpdk.yaml"), fixture("pods/stories.yaml"));
    for command in [
        &["admit", "-f", dpdk.as_str(), "-f", stories.as_str()][..],
        &["explain", "-f", dpdk.as_str(), "--policy", "best-effort"],
        &["state", "check"],
    ] {
        let node = if command[0] == "state" { &node[..6] } else { &node };
        let itself = decided(&[command, &["--machine", MACHINE], node].concat());
        let elsewhere = decided(&[command, &["--machine", &file]].concat());
        assert_eq!(itself, elsewhere, "{command:?}");
    }
    let shown = topolet(&["state", "show", "--state", &state, "--pods", &pods]);
    assert_eq!(topolet(&["state", "show", "--machine", &file]).stdout, shown.stdout);
    // A node file of a node file is the same, but for what is given.
    let copy = folder.file("copy.tar.zst");
    let copied = topolet(&["capture", "--node", &copy, "--machine", &file]);
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    assert_eq!(packed(&copy), packed(&file));
    // What is given holds instead of what is packed.
    let other = ["admit", "-f", &dpdk, "--config", "kubelet-defaults"];
    let empty = Folder::new("empty");
    std::fs::create_dir(empty.0.join("device-plugins")).unwrap();
    let emptied = DeviceState::default().encode();
    std::fs::write(empty.0.join("device-plugins/kubelet_internal_checkpoint"), emptied).unwrap();
    let (_, decision) = decided(&[&other[..], &["--machine", &file, "--state", &empty.file("")]].concat());
    assert_eq!(decision["node"]["cpuPolicy"], "none");
    assert_eq!(
        decided(&["topology", "--machine", &file]).1["nodes"],
        decided(&["topology", "--machine", MACHINE]).1["nodes"]
    );
}

/// All that is in an archive below a folder, by path.
fn packed(file: &str) -> BTreeMap<String, String> {
    let tree = SysfsTree::archive(&std::fs::read(file).unwrap()).unwrap();
    let mut found = BTreeMap::new();
    let mut folders = vec!["node".to_owned()];
    while let Some(folder) = folders.pop() {
        for name in tree.list(&folder).unwrap() {
            let path = format!("{folder}/{name}");
            match tree.read(&path) {
                Ok(Some(content)) => drop(found.insert(path, String::from_utf8_lossy(&content).into_owned())),
                _ => folders.push(path),
            }
        }
    }
    found
}

#[test]
fn what_is_nobodys_business_stays_on_the_node() {
    let folder = Folder::new("secrets");
    let (file, config) = (folder.file("node.tar.zst"), folder.file("kubelet.yaml"));
    std::fs::write(&config, SINGLE).unwrap();
    let gpus = ["GPU-8f6c1c1a-0a1b-4c2d-9e8f-001122334455", "GPU-0f6c1c1a-0a1b-4c2d-9e8f-001122334466"];
    let held = DeviceEntry {
        pod: PodUid::new("5e0f3f5c-7e5b-4a3e-9c57-2f4f1b8f6d07"),
        container: ContainerName::new("trainer"),
        resource: "nvidia.com/gpu".into(),
        devices: Some([(0, Some(vec![gpus[0].to_owned()]))].into()),
        reply: Some(b"\n\x1b\n\x08PASSWORD\x12\x0fsecret-password".to_vec()),
    };
    let listed = gpus.map(str::to_owned).to_vec();
    let registered = Some([("nvidia.com/gpu".into(), Some(listed))].into());
    let state = DeviceState { entries: Some(vec![held]), registered };
    std::fs::create_dir(folder.0.join("device-plugins")).unwrap();
    std::fs::write(folder.0.join("device-plugins/kubelet_internal_checkpoint"), state.encode()).unwrap();
    let devices = folder.file("devices.yaml");
    let list = gpus.map(|gpu| format!("{{id: {gpu}, nodes: [0]}}")).join(", ");
    std::fs::write(&devices, format!("devices:\n- {{resource: nvidia.com/gpu, list: [{list}]}}\n")).unwrap();
    let pods = folder.file("pods.yaml");
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: train, uid: 5e0f3f5c-7e5b-4a3e-9c57-2f4f1b8f6d07}\n\
        spec: {containers: [{name: trainer, image: i, env: [{name: PASSWORD, value: secret-password}]}]}\n";
    std::fs::write(&pods, pod).unwrap();
    let root = folder.file("");
    let said =
        capture(&[&file, "--state", &root, "--pods", &pods, "--config", &config, "--devices", &devices]);
    assert!(said.contains("serial number"), "{said}");
    let files = packed(&file);
    assert_eq!(
        files.keys().map(String::as_str).collect::<Vec<_>>(),
        [
            "node/devices.json",
            "node/kubelet.yaml",
            "node/node.json",
            "node/pods.json",
            "node/state/device-plugins/kubelet_internal_checkpoint"
        ]
    );
    for (path, content) in &files {
        for secret in ["secret", "PASSWORD", "GPU-", "10.96", "UEFTU1dPUk"] {
            assert!(!content.contains(secret), "{path} has {secret}: {content}");
        }
    }
    // The pod still holds the second of the two.
    let shown = topolet(&["state", "show", "--machine", &file]);
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(text.contains("default/train") && text.contains("nvidia.com/gpu gpu-1"), "{text}");
}

/// Two GPUs of worker-1 and one of worker-2, each named by its UUID; a claim holds the second of worker-1, another that of worker-2.
const CLUSTER: &str = r#"
apiVersion: v1
kind: List
items:
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: a, annotations: {note: secret-note}}
  spec:
    driver: gpu.example.com
    pool: {name: worker-1, generation: 1, resourceSliceCount: 1}
    nodeName: worker-1
    devices:
    - name: gpu-8f6c1c1a-0a1b-4c2d-9e8f-001122334455
      attributes: {uuid: {string: GPU-8f6c1c1a-0a1b-4c2d-9e8f-001122334455}, address: {string: 10.1.2.3}}
    - name: gpu-0f6c1c1a-0a1b-4c2d-9e8f-001122334466
      attributes: {uuid: {string: GPU-0f6c1c1a-0a1b-4c2d-9e8f-001122334466}, address: {string: 10.1.2.4}}
- apiVersion: resource.k8s.io/v1beta1
  kind: ResourceSlice
  metadata: {name: b}
  spec:
    driver: gpu.example.com
    pool: {name: worker-2, generation: 1, resourceSliceCount: 1}
    nodeName: worker-2
    devices: [{name: elsewhere, basic: {}}]
- apiVersion: resource.k8s.io/v1
  kind: DeviceClass
  metadata: {name: gpu}
  spec: {config: [{opaque: {driver: gpu.example.com, parameters: {token: secret-token}}}]}
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {name: held, namespace: default, uid: 0f0f3f5c-7e5b-4a3e-9c57-2f4f1b8f6d07}
  spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
  status:
    reservedFor: [{resource: pods, name: train, uid: 5e0f3f5c-7e5b-4a3e-9c57-2f4f1b8f6d07}]
    allocation:
      devices:
        results: [{request: r, driver: gpu.example.com, pool: worker-1, device: gpu-0f6c1c1a-0a1b-4c2d-9e8f-001122334466}]
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {name: away, namespace: default}
  spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
  status:
    allocation:
      devices: {results: [{request: r, driver: gpu.example.com, pool: worker-2, device: elsewhere}]}
      nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [worker-2]}]}]}
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaimTemplate
  metadata: {name: first, namespace: default}
  spec:
    spec:
      devices:
        requests:
        - name: r
          exactly:
            deviceClassName: gpu
            selectors:
            - cel: {expression: 'device.attributes["gpu.example.com"].uuid == "GPU-8f6c1c1a-0a1b-4c2d-9e8f-001122334455" && device.attributes["gpu.example.com"].address == "10.1.2.3"'}
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaimTemplate
  metadata: {name: any, namespace: default}
  spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
"#;

/// A pod with a claim of that object.
fn claiming(name: &str, object: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  resourceClaims: [{{name: c, {object}}}]\n  containers:\n  \
         - {{name: main, image: i, resources: {{claims: [{{name: c}}]}}}}\n---\n"
    )
}

#[test]
fn a_node_file_decides_on_claims_as_its_cluster_did() {
    let folder = Folder::new("claims");
    let (file, cluster, pods) =
        (folder.file("node.tar.zst"), folder.file("cluster.yaml"), folder.file("pods.yaml"));
    std::fs::write(&cluster, CLUSTER).unwrap();
    let all = [
        ("first", "resourceClaimTemplateName: first"),
        ("second", "resourceClaimTemplateName: any"),
        ("shared", "resourceClaimName: held"),
        ("away", "resourceClaimName: away"),
        ("none", "resourceClaimName: none"),
    ];
    std::fs::write(&pods, all.map(|(name, object)| claiming(name, object)).concat()).unwrap();
    let said = capture(&[&file, "--claims", &cluster, "--node-name", "worker-1"]);
    assert!(said.contains("cluster.yaml: 1 slices, 1 device classes, 2 claims, 2 templates"), "{said}");
    let text = &packed(&file)["node/claims.json"];
    for secret in ["8f6c1c1a", "0f6c1c1a", "10.1.2", "secret", "elsewhere"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    // The same UID as that of the pod that holds it.
    assert!(text.contains("5e0f3f5c-7e5b-4a3e-9c57-2f4f1b8f6d07"), "{text}");

    let node = ["admit", "-f", &pods, "--kubelet", "1.37", "--node-name", "worker-1"];
    let (code, mut itself) = decided(&[&node[..], &["--machine", MACHINE, "-f", &cluster]].concat());
    let (code_elsewhere, mut elsewhere) = decided(&[&node[..], &["--machine", &file]].concat());
    assert_eq!((code, code_elsewhere), (Some(2), Some(2)));
    let uuid = "gpu-00000000-0000-0000-0000-00000000000";
    let renamed = itself.to_string().replace("gpu-8f6c1c1a-0a1b-4c2d-9e8f-001122334455", &format!("{uuid}1"));
    let renamed = renamed.replace("gpu-0f6c1c1a-0a1b-4c2d-9e8f-001122334466", &format!("{uuid}0"));
    itself = serde_json::from_str(&renamed).unwrap();
    for document in [&mut itself, &mut elsewhere] {
        // The notes on assumed configuration and state have other words.
        document.as_object_mut().unwrap().remove("notes");
    }
    // Devices of other nodes are left out.
    let away = itself.pointer_mut("/decisions/3/claims/claims/0/devices").unwrap();
    assert_eq!(away.take()[0]["device"], "elsewhere");
    *away = Value::Array(Vec::new());
    // Nor does the file have other nodes, whose reasons stand beside this one's.
    let refused = itself.pointer_mut("/decisions/1/unschedulable").and_then(Value::as_object_mut).unwrap();
    assert_eq!(refused.remove("nodes").unwrap()["nodes"], 2);
    assert_eq!(elsewhere, itself);
    assert!(renamed.contains(&format!("{uuid}1")), "{renamed}");

    // Objects of files replace those of the node file, and a copy is the same.
    let freed = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: held}\nspec: {}\n";
    std::fs::write(&cluster, format!("{}{freed}", claiming("second", "resourceClaimTemplateName: any")))
        .unwrap();
    let freed = topolet(&["admit", "--machine", &file, "-f", &cluster, "--kubelet", "1.37"]);
    assert!(freed.status.success(), "{}", String::from_utf8_lossy(&freed.stdout));
    let copy = folder.file("copy.tar.zst");
    assert!(topolet(&["capture", "--node", &copy, "--machine", &file]).status.success());
    assert_eq!(packed(&copy), packed(&file));
}

#[test]
fn a_file_of_a_newer_release_says_so() {
    let folder = Folder::new("newer");
    let machine = SysfsTree::archive(machine_fixtures::archive("gh200-9node").unwrap()).unwrap();
    let capture = Capture::of(&machine).unwrap();
    let head = |version: &str, files: &str| {
        format!(
            "{{\"apiVersion\": \"topolet.dev/{version}\", \"kind\": \"Node\", \"writtenBy\": \"7.1.0\", \
             \"rulesOf\": \"v1.41.0\", \"files\": [{files}], \"more\": 1}}"
        )
    };
    for (name, head, words) in [
        ("version", head("v2", ""), "is a node file of topolet 7.1.0, in format topolet.dev/v2"),
        ("file", head("v1alpha1", "\"node/links.json\""), "written by topolet 7.1.0 and has node/links.json"),
        ("lost", head("v1alpha1", "\"node/pods.json\""), "names node/pods.json and does not have it"),
        ("torn", "{\"apiVersion\":".to_owned(), "failed to read node/node.json"),
    ] {
        let file = folder.file(&format!("{name}.tar.zst"));
        let archive = capture.clone().with_file("node/node.json", head.as_bytes()).archive().unwrap();
        std::fs::write(&file, archive).unwrap();
        let output = topolet(&["topology", "--machine", &file]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(said.contains(words) && said.contains(&file), "{name}: {said}");
    }
    let file = folder.file("own.tar.zst");
    std::fs::write(
        &file,
        capture.with_file("node/node.json", head("v1alpha1", "").as_bytes()).archive().unwrap(),
    )
    .unwrap();
    assert!(topolet(&["topology", "--machine", &file]).status.success());
}

#[test]
fn a_built_in_configuration_is_packed_by_its_name() {
    let folder = Folder::new("built-in");
    for name in ["pinned", "kubelet-defaults"] {
        let file = folder.file(&format!("{name}.tar.zst"));
        let told = capture(&[&file, "--config", name]);
        assert!(told.contains(&format!("{name}: the fields that decide, no others")), "{told}");
        let dpdk = fixture("pods/two-containers.yaml");
        let packed = decided(&["explain", "-f", &dpdk, "-m", &file, "--empty"]);
        let named = decided(&["explain", "-f", &dpdk, "-m", MACHINE, "--config", name]);
        assert_eq!(packed.0, named.0, "{name}");
        assert_eq!(packed.1["node"]["topologyManagerPolicy"], named.1["node"]["topologyManagerPolicy"]);
        assert_eq!(packed.1["containers"], named.1["containers"], "{name}");
    }
}
