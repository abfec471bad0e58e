//! Bundles of each form with planted secrets: none is in what is written of them, and it is diagnosed as the original is.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};

use node_input::{Anonymised, DiagnosisOf, anonymised, diagnose, differences};
use node_output::Diagnosis;
use tempfile::TempDir;

const MACHINE: &str = "xeon-2s-96cpu-sriov";
const HOST: &str = "acme-fra1-r07-u12.corp.acme.example";
const SUM: &str = "3712191957";
const CPU_STATE: &str = "{\"policyName\":\"static\",\"defaultCpuSet\":\"0,7-24,33-48,55-72,81-95\",\"entries\":{\"5e0f3f5c-7e5b-4a3e-9c57-2f4f1b8f6d07\":{\"testpmd\":\"1-4,49-52\"},\"a2c1d0e4-13aa-4c0f-8d4e-7b1d5a9c3e10\":{\"upf\":\"5-6,53-54\"},\"c7d9b8aa-90f2-4a55-b0b6-1d2e3f405162\":{\"trainer\":\"25-32,73-80\"}},\"checksum\":3712191957}";
/// `AllocResp` has an environment with a token, in Base64.
const DEVICES: &str = "{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"5e0f3f5c-7e5b-4a3e-9c57-2f4f1b8f6d07\",\"ContainerName\":\"testpmd\",\"ResourceName\":\"acme.example/uplink\",\"DeviceIDs\":{\"0\":[\"ACME-GPU-8f6c1c1a-0a1b-4c2d-9e8f-001122334455\"]},\"AllocResp\":\"CiMKBVRPS0VOEhphY21lLWFsbG9jLXRva2VuLTAwMTEyMjMz\"}],\"RegisteredDevices\":{\"acme.example/uplink\":[\"ACME-GPU-8f6c1c1a-0a1b-4c2d-9e8f-001122334455\"]}},\"Checksum\":1}";

/// What tells whose bundle it is, or opens something. Each is planted somewhere in every form.
const SECRETS: [&str; 46] = [
    // Environment, arguments, commands, images, annotations, labels of pods.
    "sk-live-51Hx0acme",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "AKIAIOSFODNN7EXAMPLE",
    "hunter2-db-password",
    "xoxb-263594206564",
    "--license=ACME-9921",
    "registry.corp.acme.example",
    "sha256:4f8c9a1be2d3",
    "eyJhbGciOiJSUzI1NiJ9",
    "acme-billing-annotation",
    "acme-team-blue",
    "acme-cost-centre-4711",
    // Names.
    "acme-core-net",
    "acme-upf-wide-0",
    "acme-tenant-7",
    "acme-wide",
    "acme-fra1-r07-u12",
    "corp.acme.example",
    "u-acme-wide-9f3c",
    "acme.example/uplink",
    "acme-only-taint",
    // Nodes: addresses, ids of clouds and machines.
    "10.47.11.12",
    "fd00:acme::12",
    "52:54:00:ac:3e:01",
    "aws:///eu-central-1a/i-0acme1234567890",
    "ec2acme7",
    "4c4c4544-0053-4a10-8051-acme00000001",
    "10.244.7.0/24",
    // Files beside: kubeconfigs, pull secrets, user data, certificates.
    "LS0tLS1CRUdJTiBBQ01F",
    "kubeconfig-token-acme",
    "eyJhdXRocyI6eyJhY21l",
    "ignition-user-data-acme",
    "-----BEGIN RSA PRIVATE KEY-----",
    "bootstrap-token-07401b",
    // Configurations and command lines.
    "X-Acme-Static-Pod-Token",
    "/etc/acme/pki/client.pem",
    "10.96.0.10",
    "cluster.acme.local",
    "acmeprovider",
    // State, logs, events, machines.
    "acme-alloc-token",
    "ACME-GPU-8f6c1c1a",
    "plugin-acme-secret-77",
    "ops@acme.example",
    "192.0.2.77",
    "BIOS-ACME-SN-00123",
    "acme-event-uid-55",
];

fn pod(name: &str, uid: &str, container: &str, cpus: u32, status: &str) -> String {
    format!(
        "- apiVersion: v1
  kind: Pod
  metadata:
    namespace: acme-core-net
    name: {name}
    uid: {uid}
    resourceVersion: '1'
    labels: {{team: acme-team-blue, cost: acme-cost-centre-4711}}
    annotations: {{note: acme-billing-annotation, auth: eyJhbGciOiJSUzI1NiJ9}}
  spec:
    nodeName: {HOST}
    imagePullSecrets: [{{name: eyJhdXRocyI6eyJhY21l}}]
    serviceAccountName: acme-tenant-7
    nodeSelector: {{acme.example/tenant: acme-tenant-7, kubernetes.io/os: linux}}
    tolerations: [{{key: acme-only-taint, operator: Exists, effect: NoSchedule}}]
    containers:
    - name: {container}
      image: registry.corp.acme.example/upf@sha256:4f8c9a1be2d3
      args: [--license=ACME-9921, ghp_16C7e42F292c6912E7710c838347Ae178B4a]
      command: [run, AKIAIOSFODNN7EXAMPLE]
      env: [{{name: API, value: sk-live-51Hx0acme}}, {{name: DB, value: hunter2-db-password}}, {{name: S, value: xoxb-263594206564}}]
      resources: {{limits: {{cpu: {cpus}, memory: 4Gi}}, requests: {{cpu: {cpus}, memory: 4Gi}}}}
  status:
    podIP: 10.47.11.12
    hostIP: 192.0.2.77
    {status}
"
    )
}

const REFUSED: &str = "phase: Failed
    reason: UnexpectedAdmissionError
    message: 'Pod was rejected: Allocate failed due to rpc error: plugin-acme-secret-77 at 192.0.2.77 mail ops@acme.example, which is unexpected'";

fn pods() -> String {
    let running = "phase: Running\n    qosClass: Guaranteed";
    let items = [
        pod("acme-dpdk-7", "5e0f3f5c-7e5b-4a3e-9c57-2f4f1b8f6d07", "testpmd", 8, running),
        pod("acme-upf-0", "a2c1d0e4-13aa-4c0f-8d4e-7b1d5a9c3e10", "upf", 4, running),
        pod("acme-train-0", "c7d9b8aa-90f2-4a55-b0b6-1d2e3f405162", "trainer", 16, running),
        pod(
            "acme-upf-wide-0",
            "u-acme-wide-9f3c",
            "acme-wide",
            40,
            &REFUSED.replace("UnexpectedAdmissionError", "TopologyAffinityError"),
        ),
        pod("acme-plugin-0", "u-acme-plugin-1", "acme-wide", 200, REFUSED),
    ];
    format!("apiVersion: v1\nkind: List\nitems:\n{}", items.concat())
}

fn node() -> String {
    format!(
        "apiVersion: v1
kind: Node
metadata:
  name: {HOST}
  uid: 4c4c4544-0053-4a10-8051-acme00000001
  annotations: {{k8s.ovn.org/node-mac: '52:54:00:ac:3e:01', csi: ec2acme7}}
  labels: {{acme.example/tenant: acme-tenant-7, kubernetes.io/hostname: {HOST}, kubernetes.io/os: linux}}
spec:
  podCIDR: 10.244.7.0/24
  providerID: aws:///eu-central-1a/i-0acme1234567890
  taints: [{{key: acme-only-taint, value: acme-tenant-7, effect: NoSchedule}}]
status:
  addresses: [{{type: InternalIP, address: 10.47.11.12}}, {{type: InternalIP, address: 'fd00:acme::12'}}]
  capacity: {{cpu: '96'}}
  allocatable: {{cpu: '94'}}
  nodeInfo: {{kubeletVersion: v1.36.3, systemUUID: 4c4c4544-0053-4a10-8051-acme00000001}}
"
    )
}

const CONFIG: &str = "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: '0,48'
topologyManagerPolicy: single-numa-node
staticPodURLHeader: {X-Acme-Static-Pod-Token: [bootstrap-token-07401b]}
authentication: {x509: {clientCAFile: /etc/acme/pki/client.pem}}
clusterDNS: [10.96.0.10]
clusterDomain: cluster.acme.local
providerID: aws:///eu-central-1a/i-0acme1234567890
acmeprovider: acmeprovider
";

const UNIT: &str = "[Service]
Environment=TOKEN=kubeconfig-token-acme
ExecStart=/usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf --kubeconfig=/etc/acme/pki/client.pem --node-ip=10.47.11.12 --cloud-provider=acmeprovider --topology-manager-scope=pod
";

fn log() -> String {
    format!(
        "Nov 26 10:20:00 {HOST} kubelet[22]: I1126 10:20:00.1 22 server.go:1] \"Kubelet version\" kubeletVersion=\"v1.36.3\"
Nov 26 10:20:59 {HOST} kubelet[22]: E1126 10:20:59.1 22 run.go:1] \"command failed\" err=\"failed to run Kubelet: start cpu manager error: token bootstrap-token-07401b of ops@acme.example\"
Nov 26 10:21:00 {HOST} kubelet[22]: I1126 10:21:00.1 22 x.go:1] \"env\" token=\"sk-live-51Hx0acme\" mac=\"52:54:00:ac:3e:01\" ip=\"fd00:acme::12\"
Nov 26 10:21:03 {HOST} kubelet[22]: I1126 10:21:03.1 22 kubelet.go:1] \"Pod admission denied\" podUID=\"u-acme-wide-9f3c\" pod=\"acme-core-net/acme-upf-wide-0\" reason=\"TopologyAffinityError\" message=\"Resources cannot be allocated with Topology locality\"
"
    )
}

fn events() -> String {
    format!(
        "apiVersion: v1
kind: EventList
items:
- apiVersion: v1
  kind: Event
  metadata: {{name: acme-event, namespace: acme-core-net, uid: acme-event-uid-55}}
  involvedObject: {{kind: Pod, namespace: acme-core-net, name: acme-plugin-0, uid: u-acme-plugin-1}}
  reason: UnexpectedAdmissionError
  message: 'Allocate failed due to plugin-acme-secret-77, which is unexpected'
  source: {{component: kubelet, host: {HOST}}}
  lastTimestamp: '2026-11-26T10:21:03Z'
"
    )
}

const SECRET_FILES: [(&str, &str); 3] = [
    (
        "etc/kubernetes/admin.conf",
        "apiVersion: v1\nkind: Config\nusers: [{user: {token: kubeconfig-token-acme, client-key-data: LS0tLS1CRUdJTiBBQ01F}}]\n",
    ),
    (
        "etc/kubernetes/user-data.yaml",
        "#cloud-config\nwrite_files: [{content: ignition-user-data-acme}]\n-----BEGIN RSA PRIVATE KEY-----\n",
    ),
    (
        "var/lib/kubelet/config.json",
        "{\"auths\":{\"registry.corp.acme.example\":{\"auth\":\"eyJhdXRocyI6eyJhY21l\"}}}",
    ),
];

const SECRET_OBJECT: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: bootstrap-token-07401b, namespace: acme-core-net}\ndata: {k: LS0tLS1CRUdJTiBBQ01F}\n";

/// A bundle as a folder.
struct Written(TempDir);

impl Written {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn with(self, path: &str, text: &str) -> Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn with_machine(self, folder: &str) -> Self {
        let decoder =
            ruzstd::decoding::StreamingDecoder::new(machine_fixtures::archive(MACHINE).unwrap()).unwrap();
        fs::create_dir_all(self.0.path().join(folder)).unwrap();
        tar::Archive::new(decoder).unpack(self.0.path().join(folder)).unwrap();
        // What a live machine has beside, and a capture has not.
        let with = |path: &str| format!("{folder}/{path}");
        self.with(&with("sys/class/dmi/id/product_serial"), "BIOS-ACME-SN-00123\n")
            .with(&with("sys/class/net/ens1f0/address"), "52:54:00:ac:3e:01\n")
            .with(
                &with("sys/devices/pci0000:17/0000:17:00.0/0000:18:00.0/net/acme-uplink0/address"),
                "52:54:00:ac:3e:01\n",
            )
            .with(&with("proc/cmdline"), "BOOT_IMAGE=x token=sk-live-51Hx0acme\n")
    }

    fn with_node_files(mut self, root: &str) -> Self {
        for (path, text) in SECRET_FILES {
            self = self.with(&format!("{root}/{path}"), text);
        }
        self.with(&format!("{root}/etc/kubernetes/kubelet.conf"), CONFIG)
            .with(&format!("{root}/etc/systemd/system/kubelet.service"), UNIT)
            .with(&format!("{root}/etc/hostname"), HOST)
            .with(&format!("{root}/var/lib/kubelet/cpu_manager_state"), CPU_STATE)
            .with(&format!("{root}/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"), DEVICES)
    }
}

fn must_gather() -> Written {
    let root = format!("mg/quay/nodes/{HOST}");
    Written::new()
        .with(&format!("mg/quay/cluster-scoped-resources/core/nodes/{HOST}.yaml"), &node())
        .with("mg/quay/namespaces/acme-core-net/core/pods.yaml", &pods())
        .with("mg/quay/namespaces/acme-core-net/core/events.yaml", &events())
        .with("mg/quay/namespaces/acme-core-net/core/secrets.yaml", SECRET_OBJECT)
        .with(&format!("{root}/{HOST}_logs_kubelet"), &log())
        .with_machine(&format!("{root}/sysinfo"))
        .with_node_files(&root)
}

fn sosreport() -> Written {
    let root = "sosreport-acme-fra1-r07-u12-0123-2026-11-26-abc";
    Written::new()
        .with_machine(root)
        .with_node_files(root)
        .with(&format!("{root}/var/log/messages"), &log())
        .with(&format!("{root}/sos_commands/kubernetes/pods.yaml"), &pods())
        .with(&format!("{root}/sos_commands/kubernetes/nodes.yaml"), &node())
        .with(&format!("{root}/sos_commands/kubernetes/events.yaml"), &events())
}

fn cluster_info_dump() -> Written {
    Written::new()
        .with("dump/nodes.json", &node())
        .with("dump/acme-core-net/pods.json", &pods())
        .with("dump/acme-core-net/events.json", &events())
        .with("dump/acme-core-net/acme-upf-wide-0/logs.txt", "token sk-live-51Hx0acme\n")
        .with("dump/kubelet.log", &log())
}

fn node_file() -> Written {
    let head = "{\"apiVersion\":\"topolet.dev/v1alpha1\",\"kind\":\"Node\",\"writtenBy\":\"0.1.0\",\"rulesOf\":\"v1.36.3\",\"decidedBy\":\"kubelet\",\"files\":[\"node/kubelet.yaml\",\"node/state/cpu_manager_state\",\"node/pods.json\"]}";
    let names = "[{\"uid\":\"5e0f3f5c-7e5b-4a3e-9c57-2f4f1b8f6d07\",\"name\":\"acme-core-net/acme-dpdk-7\"}]";
    Written::new()
        .with_machine("capture")
        .with("capture/node/node.json", head)
        .with("capture/node/kubelet.yaml", CONFIG)
        .with("capture/node/state/cpu_manager_state", CPU_STATE)
        .with("capture/node/pods.json", names)
        .with("pods.yaml", &pods())
        .with("node.yaml", &node())
        .with("events.yaml", &events())
        .with("kubelet.log", &log())
}

fn loose() -> Written {
    Written::new()
        .with_machine("machine")
        .with("kubelet.yaml", CONFIG)
        .with(
            "kubeadm-flags.env",
            "KUBELET_KUBEADM_ARGS=\"--node-ip=10.47.11.12 --topology-manager-scope=pod\"\n",
        )
        .with("admin.conf", SECRET_FILES[0].1)
        .with("secret.yaml", SECRET_OBJECT)
        .with("cpu_manager_state", CPU_STATE)
        .with("kubelet_internal_checkpoint", DEVICES)
        .with("pods.yaml", &pods())
        .with("node.yaml", &node())
        .with("events.yaml", &events())
        .with("kubelet.log", &log())
}

fn diagnosed(path: &Path) -> Diagnosis {
    diagnose(support_bundle::read(&[path.to_path_buf()]).unwrap(), &DiagnosisOf::default()).unwrap()
}

/// All texts of what is written, those of archives in it too.
fn texts(files: &[(String, Vec<u8>)]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (path, content) in files {
        all.insert(path.clone(), String::from_utf8_lossy(content).into_owned());
        if path.ends_with(".tar.gz") {
            let decoder = flate2::read::GzDecoder::new(Cursor::new(content));
            for entry in tar::Archive::new(decoder).entries().unwrap() {
                let mut entry = entry.unwrap();
                let inner = format!("{path}/{}", entry.path().unwrap().display());
                let mut text = Vec::new();
                entry.read_to_end(&mut text).unwrap();
                all.insert(inner, String::from_utf8_lossy(&text).into_owned());
            }
        }
    }
    all
}

#[track_caller]
fn check(written: &Written) -> Anonymised {
    let made = anonymised(support_bundle::read(&[written.0.path().to_path_buf()]).unwrap()).unwrap();
    for (path, text) in texts(&made.files) {
        for secret in SECRETS {
            let has = |text: &str| text.to_lowercase().contains(&secret.to_lowercase());
            assert!(!has(&text) && !has(&path), "{secret} is in {path}:\n{text}");
        }
        assert!(!text.to_lowercase().contains("acme"), "{path}:\n{text}");
    }
    let folder = TempDir::new().unwrap();
    let archive: PathBuf = folder.path().join("issue.tar.gz");
    fs::write(&archive, made.archive().unwrap()).unwrap();
    let (before, after) = (diagnosed(written.0.path()), diagnosed(&archive));
    let differ = differences(&before, &after, &made.names);
    assert_eq!(differ, Vec::<String>::new(), "{:#?}\n{:#?}", before.nodes, after.nodes);
    assert!(after.remarks.is_empty(), "{:?}", after.remarks);
    // It tells of the same pods for the same reasons.
    let refusals = |of: &Diagnosis| of.nodes.iter().map(|node| node.refused.len()).sum::<usize>();
    assert_eq!(refusals(&after), 2, "{after:#?}");
    assert_eq!(refusals(&before), 2);
    made
}

#[test]
fn every_secret_is_planted() {
    let all = [must_gather(), sosreport(), cluster_info_dump(), node_file(), loose()];
    let [must_gather, ..] = &all;
    let mut text = String::new();
    let mut folders = vec![must_gather.0.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => {
                    text.push_str(&String::from_utf8_lossy(&fs::read(entry.path()).unwrap()));
                }
                _ => {}
            }
        }
    }
    // That of a device plugin's answer is in Base64.
    for secret in SECRETS.iter().filter(|secret| **secret != "acme-alloc-token") {
        assert!(text.contains(secret), "{secret}");
    }
    assert!(CPU_STATE.contains(SUM));
}

#[test]
fn nothing_of_a_must_gather_tells_whose_it_is() {
    let made = check(&must_gather());
    let all: String = texts(&made.files).into_values().collect();
    for kept in
        ["single-numa-node", "\"40\"", "4Gi", "NoSchedule", "TopologyAffinityError", "v1.36.3", "7-24,33-48"]
    {
        assert!(all.contains(kept), "{kept}");
    }
}

#[test]
fn nothing_of_a_sosreport_tells_whose_it_is() {
    check(&sosreport());
}

#[test]
fn nothing_of_a_dump_tells_whose_it_is() {
    check(&cluster_info_dump());
}

#[test]
fn nothing_of_a_node_file_tells_whose_it_is() {
    check(&node_file());
}

#[test]
fn nothing_of_loose_files_tells_whose_they_are() {
    check(&loose());
}

/// What is made of a state file is as whole, or as damaged, as the original.
#[test]
fn damaged_files_stay_damaged() {
    for state in [
        CPU_STATE.replace(SUM, "7"),
        CPU_STATE.replace("\"static\"", "\"acme-policy\""),
        CPU_STATE[..200].to_owned(),
        CPU_STATE.replace("\"checksum\":3712191957", "\"acmeMember\":1,\"checksum\":3712191957"),
    ] {
        check(&loose().with("cpu_manager_state", &state));
    }
}

/// A slice of the node, a class, a claim that one of its pods holds, and a template that the refused pod has; secrets are in every text that
/// decides nothing, and in names, expressions and values that decide.
fn claims() -> String {
    format!(
        "apiVersion: v1
kind: List
items:
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {{name: acme-fra1-r07-u12-gpu, uid: acme-event-uid-55, labels: {{team: acme-team-blue}}}}
  spec:
    driver: gpu.corp.acme.example
    nodeName: {HOST}
    pool: {{name: acme-fra1-r07-u12, generation: 1, resourceSliceCount: 1}}
    devices:
    - name: acme-gpu-0
      attributes: {{model: {{string: ACME-H100}}, serial: {{string: BIOS-ACME-SN-00123}}, index: {{int: 0}}, resource.kubernetes.io/pcieRoot: {{string: pci0000:17}}}}
      capacity: {{acme-memory: {{value: 80Gi}}}}
    - name: acme-gpu-1
      attributes: {{model: {{string: ACME-A100}}, index: {{int: 1}}, resource.kubernetes.io/pcieRoot: {{string: pci0000:17}}}}
      taints: [{{key: acme-only-taint, value: acme-tenant-7, effect: NoSchedule}}]
    - name: acme-gpu-2
      attributes: {{index: {{int: 2}}}}
- apiVersion: resource.k8s.io/v1
  kind: DeviceClass
  metadata: {{name: acme-class, annotations: {{note: acme-billing-annotation}}}}
  spec:
    selectors: [{{cel: {{expression: 'device.driver == \"gpu.corp.acme.example\" && device.attributes[\"gpu.corp.acme.example\"].model.startsWith(\"ACME\")'}}}}]
    config: [{{opaque: {{driver: gpu.corp.acme.example, parameters: {{token: sk-live-51Hx0acme}}}}}}]
    extendedResourceName: acme.example/uplink
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {{name: acme-claim, namespace: acme-core-net, uid: u-acme-claim-1}}
  spec: &spec
    devices:
      requests:
      - name: acme-request
        exactly:
          deviceClassName: acme-class
          selectors: [{{cel: {{expression: 'device.attributes[\"gpu.corp.acme.example\"].index < 1 // hunter2-db-password'}}}}]
          tolerations: [{{key: acme-only-taint, operator: Exists}}]
      constraints: [{{requests: [acme-request], matchAttribute: gpu.corp.acme.example/model}}]
      config: [{{opaque: {{driver: gpu.corp.acme.example, parameters: {{key: ghp_16C7e42F292c6912E7710c838347Ae178B4a}}}}}}]
  status:
    reservedFor: [{{resource: pods, name: acme-dpdk-7, uid: 5e0f3f5c-7e5b-4a3e-9c57-2f4f1b8f6d07}}]
    allocation:
      devices: {{results: [{{request: acme-request, driver: gpu.corp.acme.example, pool: acme-fra1-r07-u12, device: acme-gpu-0}}]}}
      nodeSelector: {{nodeSelectorTerms: [{{matchFields: [{{key: metadata.name, operator: In, values: [{HOST}]}}]}}]}}
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaimTemplate
  metadata: {{name: acme-template, namespace: acme-core-net}}
  spec: {{metadata: {{annotations: {{auth: eyJhbGciOiJSUzI1NiJ9}}}}, spec: *spec}}
"
    )
}

/// Which devices each class and each request of a claim selects by its expressions, and what is allocated.
fn selected(text: &str) -> Vec<String> {
    use dra_cel::{DeviceVariable, Environment, Program};
    let source = topology_manifest::Source::from_list("claims", text.as_bytes()).unwrap();
    let read = topology_manifest::read_resource_objects(&source).unwrap();
    assert!(read.refused.is_empty(), "{:?}", read.refused);
    let requests = read.claims.iter().flat_map(|claim| &claim.spec.requests);
    let of_requests = requests.flat_map(|request| &request.exactly).map(|exactly| &exactly.selectors);
    let mut rows = Vec::new();
    for selectors in read.classes.iter().map(|class| &class.selectors).chain(of_requests) {
        for expression in selectors.iter().filter_map(|selector| selector.expression.as_deref()) {
            let program = Program::compile(expression, &Environment::stored()).unwrap();
            let devices = read.slices.iter().flat_map(|slice| {
                slice.devices().iter().map(|device| DeviceVariable::of(&slice.driver, device))
            });
            let matches = devices.map(|device| match program.matches(&device) {
                Ok(true) => '+',
                Ok(false) => '-',
                Err(_) => '!',
            });
            rows.push(matches.collect());
        }
    }
    for claim in &read.claims {
        let results = claim.status.allocation.iter().flat_map(|allocation| &allocation.results);
        let places = results.map(|result| {
            let slice = read.slices.iter().find(|slice| slice.pool.name == result.device.pool).unwrap();
            slice.devices().iter().position(|device| device.name == result.device.device).unwrap()
        });
        rows.push(format!("{:?} of {}", places.collect::<Vec<_>>(), claim.status.reserved_for.len()));
    }
    rows
}

#[test]
fn claims_are_written_anew_and_select_alike() {
    let with_claim = |text: String| {
        let claims = "containers:\n    - name: acme-wide";
        let own = "resourceClaims: [{name: acme-own, resourceClaimTemplateName: acme-template}]\n    containers:\n    - name: acme-wide";
        assert!(text.contains(claims));
        text.replacen(claims, own, 1)
    };
    let slices = "mg/quay/cluster-scoped-resources/resource.k8s.io/resourceslices/all.yaml";
    let namespaced = "mg/quay/namespaces/acme-core-net/core/pods.yaml";
    let bundles = [
        must_gather().with(slices, &claims()).with(namespaced, &with_claim(pods())),
        loose().with("claims.yaml", &claims()).with("pods.yaml", &with_claim(pods())),
        node_file().with("claims.yaml", &claims()),
    ];
    for bundle in bundles {
        let made = check(&bundle);
        let (_, list) = made.files.iter().find(|(path, _)| path.contains("resource.k8s.io")).unwrap();
        let list = String::from_utf8_lossy(list);
        assert_eq!(selected(&claims()), ["++!", "+--", "[0] of 1"]);
        assert_eq!(selected(&list), selected(&claims()), "{list}");
        assert!(list.contains("NoSchedule") && list.contains("80Gi"), "{list}");
    }
}
