//! Bundles in the layouts that their gatherers write, with planted faults: each is found.
//!
//! A must-gather is laid out as `gather` and `gather_ppc` of openshift/must-gather write it, a sosreport as the plugins `openshift`,
//! `kubernetes`, `processor` and `numa` of sos do.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use node_input::{DiagnosisOf, diagnose};
use node_output::{Diagnosis, NodeDiagnosis, RefusalDepth, diagnosis};
use tempfile::TempDir;
use terminal_text::{Glyphs, Page};

const MACHINE: &str = "xeon-2s-96cpu-sriov";
const LSCPU: &str = "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n  0    0      0    0 0:0:0:0          yes\n  1    0      0    1 1:1:1:0          yes\n  2    1      1    2 2:2:2:1          yes\n  3    1      1    3 3:3:3:1          yes\n";
const NUMACTL: &str = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 16000 MB\nnode 0 free: 900 MB\nnode 1 cpus: 2 3\nnode 1 size: 16000 MB\nnode 1 free: 900 MB\nnode distances:\nnode   0   1\n  0:  10  21\n  1:  21  10\n";
const CONFIG: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\ntopologyManagerPolicy: single-numa-node\n";

struct Written(TempDir);

impl Written {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn with(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn diagnosed(&self) -> Diagnosis {
        diagnose(support_bundle::read(&[self.path().to_path_buf()]).unwrap(), &DiagnosisOf::default())
            .unwrap()
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// What `gather-sysinfo snapshot` packs: the files of a machine, as a tar packed by gzip.
fn sysinfo() -> Vec<u8> {
    let mut tar = Vec::new();
    let mut decoder =
        ruzstd::decoding::StreamingDecoder::new(machine_fixtures::archive(MACHINE).unwrap()).unwrap();
    std::io::Read::read_to_end(&mut decoder, &mut tar).unwrap();
    gzip(&tar)
}

fn node(name: &str, version: &str, more: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata:\n  name: {name}\n  uid: uid-of-{name}\n  resourceVersion: '7'\n  annotations: {{{more}}}\n  labels: {{kubernetes.io/hostname: {name}}}\nspec: {{providerID: x}}\nstatus:\n  capacity: {{cpu: '96', memory: 196608Mi}}\n  nodeInfo: {{kubeletVersion: {version}}}\n"
    )
}

fn pod(name: &str, node: &str, cpus: u32, status: &str) -> String {
    format!(
        "- apiVersion: v1\n  kind: Pod\n  metadata: {{name: {name}, namespace: ran, uid: uid-of-{name}, resourceVersion: '9'}}\n  spec:\n    nodeName: {node}\n    containers:\n    - name: du\n      image: registry/du\n      resources: {{limits: {{cpu: {cpus}, memory: 1Gi}}, requests: {{cpu: {cpus}, memory: 1Gi}}}}\n  status: {{{status}}}\n"
    )
}

const REFUSED: &str = "phase: Failed, reason: TopologyAffinityError, message: 'Pod was rejected: Resources cannot be allocated with Topology locality'";

fn list(kind: &str, items: &[String]) -> String {
    format!(
        "---\napiVersion: v1\nitems:\n{}kind: {kind}\nmetadata:\n  resourceVersion: \"\"\n",
        items.concat()
    )
}

fn of<'d>(found: &'d Diagnosis, name: &str) -> &'d NodeDiagnosis {
    found.nodes.iter().find(|node| node.name.as_deref() == Some(name)).unwrap_or_else(|| panic!("{found:#?}"))
}

fn shown(found: &Diagnosis) -> String {
    diagnosis(found, RefusalDepth::Short, Page::endless(Glyphs::Ascii))
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

/// Two workers of an upgrade that stopped half-way: the first refuses a pod, and does not start again with an option that no release
/// has; the second is of an older release by its object, and its new kubelet does not start.
#[test]
fn a_must_gather_of_two_releases() {
    let top = "must-gather.local.5421/quay-io-openshift-release-dev-ocp-v4-0-art-dev-sha256-4f8c";
    let on = |name: &str, file: &str| format!("{top}/nodes/{name}/{file}");
    let source = format!(
        "data:text/plain;charset=utf-8,{}",
        percent(&format!("{CONFIG}topologyManagerPolicyOptions: {{prefer-closest: 'true'}}\n"))
    );
    let rendered = format!(
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: rendered-worker-1a2b\nspec:\n  config:\n    ignition: {{version: 3.4.0}}\n    storage:\n      files:\n      - path: /etc/kubernetes/kubelet.conf\n        contents: {{source: '{source}'}}\n"
    );
    let current = "machineconfiguration.openshift.io/currentConfig: rendered-worker-1a2b";
    let refused = "Nov 26 10:21:03.338123 worker-0 kubenswrapper[2213]: I1126 10:21:03.338123    2213 kubelet.go:2357] \"Pod admission denied\" podUID=\"uid-of-wide\" pod=\"ran/wide\" reason=\"TopologyAffinityError\" message=\"Resources cannot be allocated with Topology locality\"\n";
    let failed = "Nov 26 11:00:00.000001 worker-1 kubenswrapper[99]: I1126 11:00:00.000001      99 server.go:467] \"Kubelet version\" kubeletVersion=\"v1.36.3\"\nNov 26 11:00:01.000001 worker-1 kubenswrapper[99]: E1126 11:00:01.000001      99 run.go:72] \"command failed\" err=\"failed to run Kubelet: start cpu manager error: could not restore state from checkpoint: checkpoint is corrupted\"\n";
    let found = Written::new()
        .with(&format!("{top}/version"), "openshift/must-gather\n4.21.0\n")
        .with(&format!("{top}/timestamp"), "2026-11-26 11:12:00 +0000 UTC m=+0.1\n")
        .with(&format!("{top}/event-filter.html"), "<html>kind: Pod</html>")
        .with(&format!("{top}/nodes/debug"), "[openshift-must-gather-x/10.0.0.9/must-gather-y]\n{\n    \"apiVersion\": \"v1\",\n    \"kind\": \"Pod\"\n}\n")
        .with(&format!("{top}/nodes/skipped_nodes.txt"), "Failed to collect performance data from node worker-9\n")
        .with(&format!("{top}/cluster-scoped-resources/core/nodes/worker-0.yaml"), node("worker-0", "v1.36.3", current))
        .with(&format!("{top}/cluster-scoped-resources/core/nodes/worker-1.yaml"), node("worker-1", "v1.35.6", current))
        .with(
            &format!("{top}/cluster-scoped-resources/machineconfiguration.openshift.io/machineconfigs/rendered-worker-1a2b.yaml"),
            rendered,
        )
        .with(
            &format!("{top}/namespaces/ran/core/pods.yaml"),
            list("PodList", &[pod("wide", "worker-0", 60, REFUSED), pod("du", "worker-1", 4, "phase: Running, qosClass: Guaranteed")]),
        )
        .with(&format!("{top}/namespaces/ran/core/secrets.yaml"), "kind: Pod\n")
        .with(&format!("{top}/namespaces/ran/pods/wide/du/du/logs/current.log"), "x\n")
        .with(&format!("{top}/host_service_logs/masters/kubelet_service.log"), "-- No entries --\n")
        .with(&on("worker-0", "sysinfo.tgz"), sysinfo())
        .with(&on("worker-0", "sysinfo.log"), "snapshot\n")
        .with(&on("worker-0", "worker-0_logs_kubelet.gz"), gzip(refused.as_bytes()))
        .with(&on("worker-0", "proc_cmdline"), "BOOT_IMAGE=x\n")
        .with(&on("worker-0", "podresources.json"), "{\"podResources\":[]}")
        .with(&on("worker-1", "sysinfo.tgz"), sysinfo())
        .with(&on("worker-1", "worker-1_logs_kubelet.gz"), gzip(failed.as_bytes()))
        .diagnosed();
    assert_eq!(found.bundles.first().unwrap().form, "must-gather");
    let (first, second) = (of(&found, "worker-0"), of(&found, "worker-1"));
    assert_eq!((first.kubelet.rules_of.as_str(), second.kubelet.rules_of.as_str()), ("v1.36.3", "v1.35.6"));
    assert!(first.configuration.as_ref().unwrap().is_wrong(), "{first:#?}");
    let [wide] = first.refused.as_slice() else { panic!("{first:#?}") };
    assert_eq!((wide.pod.as_str(), wide.seen.len()), ("ran/wide", 2));
    assert_eq!(second.failed_starts.len(), 1);
    assert!(second.contradictions.iter().any(|text| text.contains("v1.35.6") && text.contains("v1.36.3")));
    let text = shown(&found);
    says(
        &text,
        &[
            "topologyManagerPolicyOptions",
            "prefer-closest",
            "checkpoint is corrupted",
            "ran/wide",
            "failed start",
        ],
    );
    assert!(found.remarks.is_empty(), "{:?}", found.remarks);
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The kubelet was moved to another policy without its state being removed, and its journal has been rotated away.
#[test]
fn a_sosreport_without_the_kubelets_log() {
    let root = "sosreport-worker-1-03991122-2026-11-26-qwertyu";
    let state = "{\"policyName\":\"none\",\"defaultCpuSet\":\"\",\"checksum\":1353318690}";
    let json = |text: &str| text.to_owned();
    let pods = json(
        "{\"apiVersion\":\"v1\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"wide\",\"namespace\":\"ran\",\"uid\":\"uid-of-wide\",\"resourceVersion\":\"9\"},\"spec\":{\"nodeName\":\"worker-1\",\"containers\":[{\"name\":\"du\",\"image\":\"i\",\"resources\":{\"limits\":{\"cpu\":\"3\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"3\",\"memory\":\"1Gi\"}}}]},\"status\":{\"phase\":\"Failed\",\"reason\":\"TopologyAffinityError\",\"message\":\"Pod was rejected: Resources cannot be allocated with Topology locality\"}}],\"kind\":\"List\"}",
    );
    let found = Written::new()
        .with(&format!("{root}/etc/hostname"), "worker-1\n")
        .with(&format!("{root}/etc/kubernetes/kubelet.conf"), CONFIG)
        .with(&format!("{root}/etc/kubernetes/kubeconfig"), "apiVersion: v1\nkind: Config\nusers: []\n")
        .with(&format!("{root}/proc/meminfo"), "MemTotal:       32768000 kB\n")
        .with(
            &format!("{root}/sos_commands/processor/lscpu"),
            "Architecture: x86_64\nCPU(s): 4\nNUMA node0 CPU(s): 0-1\nNUMA node1 CPU(s): 2-3\n",
        )
        .with(&format!("{root}/sos_commands/processor/lscpu_-ae"), LSCPU)
        .with(&format!("{root}/sos_commands/numa/numactl_--hardware"), NUMACTL)
        .with(
            &format!("{root}/sos_commands/openshift/journalctl_--no-pager_--unit_kubelet"),
            "-- No entries --\n",
        )
        .with(
            &format!(
                "{root}/sos_commands/kubernetes/cluster-info/ran/kubectl_get_-o_json_--namespace_ran_pods"
            ),
            pods,
        )
        .with(&format!("{root}/var/lib/kubelet/cpu_manager_state"), state)
        .diagnosed();
    let node = of(&found, "worker-1");
    assert!(node.state.as_ref().unwrap().is_wrong(), "{node:#?}");
    let log = node.missing.iter().find(|part| part.part == "log").unwrap_or_else(|| panic!("{node:#?}"));
    assert!(log.next.contains("has no lines") && log.next.contains("journalctl -u kubelet"), "{}", log.next);
    assert_eq!(node.refused.len(), 1);
    says(&shown(&found), &["differs from state checkpoint policy", "ran/wide", "4 CPUs, 2 NUMA nodes"]);
}

/// Files with the names that people give them, with what an earlier diagnosis printed beside them; the kubelet has not restarted since its
/// file was changed, its claims cannot be read, and two kubelets run.
#[test]
fn loose_files_with_other_names() {
    let configz = "{\"kubeletconfig\":{\"kind\":\"KubeletConfiguration\",\"apiVersion\":\"kubelet.config.k8s.io/v1beta1\",\"cpuManagerPolicy\":\"static\",\"reservedSystemCPUs\":\"0\",\"topologyManagerPolicy\":\"none\"}}";
    let processes = "USER PID COMMAND\nroot 1 /usr/bin/kubelet --config=/a.yaml\nroot 2 /usr/local/bin/kubelet --config=/b.yaml\n";
    let written = Written::new()
        .with("cpus.txt", LSCPU)
        .with("numa.txt", NUMACTL)
        .with("my-kubelet-config.yaml", CONFIG)
        .with("live.json", configz)
        .with(
            "state.json",
            "{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"entries\":{},\"checksum\":1}",
        )
        .with("dra_manager_state", "{\"Data\":\"{}\",\"Checksum\":1}")
        .with("all-pods.json", list("PodList", &[pod("wide", "w", 3, REFUSED)]))
        .with("ps.txt", processes);
    let before = shown(&written.diagnosed());
    let found = written
        .with(
            "out.txt",
            format!("{before}\n  apiVersion: kubelet.config.k8s.io/v1beta1\n  kind: KubeletConfiguration\n"),
        )
        .with(
            "shown.yaml",
            format!("# my-kubelet-config.yaml, of kubelet v1.36.3\n{CONFIG}cpuManagerReconcilePeriod: 5s\n"),
        )
        .diagnosed();
    let node = of(&found, "w");
    assert!(!node.contradictions.iter().any(|text| text.contains("several configurations")), "{node:#?}");
    let text = shown(&found);
    says(
        &text,
        &[
            "differs from what the kubelet runs with",
            "checkpoint is corrupted",
            "dra_manager_state",
            "2 kubelets run",
            "ran/wide",
        ],
    );
}
