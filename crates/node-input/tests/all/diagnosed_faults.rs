//! Faults that hide others: what is wrong behind them is found too.

use std::fs;

use node_input::{DiagnosisOf, diagnose};
use node_output::{Diagnosis, NodeDiagnosis};
use tempfile::TempDir;

const LSCPU: &str = "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE
0 0 0 0 0:0:0:0 yes
1 0 0 1 1:1:1:0 yes
2 1 1 2 2:2:2:1 yes
3 1 1 3 3:3:3:1 yes
available: 2 nodes (0-1)
node 0 cpus: 0 1
node 0 size: 8000 MB
node 1 cpus: 2 3
node 1 size: 8000 MB
node distances:
node 0 1
0: 10 21
1: 21 10
";

/// The same machine as a kubelet logs it.
const LOGGED: &str = "Nov 26 10:20:00 w-1 kubelet[22]: I1126 10:20:00.000001 22 manager.go:217] Machine: {Timestamp:2026-11-26 10:20:00 +0000 UTC m=+0.1 CPUVendorID:GenuineIntel NumCores:4 NumPhysicalCores:4 NumSockets:2 CpuFrequency:2400000 MemoryCapacity:16777216000 SwapCapacity:0 MemoryByType:map[] NVMInfo:{MemoryModeCapacity:0 AppDirectModeCapacity:0 AvgPowerBudget:0} HugePages:[{PageSize:2048 NumPages:0}] MachineID:00 SystemUUID:00 BootID:00 Filesystems:[] DiskMap:map[] NetworkDevices:[] Topology:[{Id:0 Memory:8388608000 HugePages:[{PageSize:2048 NumPages:0}] Cores:[{Id:0 Threads:[0] Caches:[] UncoreCaches:[] SocketID:0} {Id:1 Threads:[1] Caches:[] UncoreCaches:[] SocketID:0}] Caches:[] Distances:[10 21]} {Id:1 Memory:8388608000 HugePages:[{PageSize:2048 NumPages:0}] Cores:[{Id:2 Threads:[2] Caches:[] UncoreCaches:[] SocketID:1} {Id:3 Threads:[3] Caches:[] UncoreCaches:[] SocketID:1}] Caches:[] Distances:[21 10]}] CloudProvider:Unknown InstanceType:Unknown InstanceID:None}
";

/// Policy none wrote it.
const STATE: &str = "{\"policyName\":\"none\",\"defaultCpuSet\":\"\",\"checksum\":1353318690}";

const REFUSED: &str = "apiVersion: v1
kind: Pod
metadata: {name: du-0, namespace: ran, uid: u-1}
spec:
  nodeName: w-1
  containers:
  - name: a
    image: i
    resources: {limits: {cpu: 3, memory: 1Gi}, requests: {cpu: 3, memory: 1Gi}}
status: {phase: Failed, reason: TopologyAffinityError, message: 'Pod was rejected: Resources cannot be allocated with Topology locality'}
";

const LOG: &str = "Nov 26 10:20:00 w-1 kubelet[22]: I1126 10:20:00.1 22 server.go:212] \"Kubelet version\" kubeletVersion=\"v1.36.3\"\n";

fn config(reserved: &str) -> String {
    format!(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: \"{reserved}\"\ntopologyManagerPolicy: single-numa-node\n"
    )
}

fn diagnosed(files: &[(&str, &str)]) -> Diagnosis {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    diagnose(support_bundle::read(&[folder.path().to_path_buf()]).unwrap(), &DiagnosisOf::default()).unwrap()
}

fn only(diagnosis: &Diagnosis) -> &NodeDiagnosis {
    let [node] = diagnosis.nodes.as_slice() else { panic!("{diagnosis:#?}") };
    node
}

fn has_note(node: &NodeDiagnosis, part: &str) {
    assert!(node.notes.iter().any(|note| note.contains(part)), "{part}: {:#?}", node.notes);
}

#[test]
fn state_and_pods_are_judged_behind_a_configuration_with_which_the_kubelet_does_not_start() {
    let (faulty, mended) = (config("0,64"), "judged with reservedSystemCPUs as expected below");
    let files = [
        ("lscpu.txt", LSCPU),
        ("kubelet.yaml", faulty.as_str()),
        ("pods.yaml", REFUSED),
        ("kubelet.log", LOG),
    ];
    let diagnosis = diagnosed(&[files.as_slice(), &[("cpu_manager_state", STATE)]].concat());
    let state = only(&diagnosis).state.as_ref().unwrap();
    let of_policy = |finding: &node_state::FindingLine| finding.what.contains("policy");
    assert!(state.findings.iter().any(of_policy), "{state:#?}");
    has_note(only(&diagnosis), mended);
    let diagnosis = diagnosed(&files);
    let node = only(&diagnosis);
    assert_eq!(node.configuration.as_ref().unwrap().findings[0].field(), "reservedSystemCPUs");
    assert!(node.refused[0].decision.is_some(), "{:#?}", node.refused);
    has_note(node, mended);
    // What the kubelet ran with is more than what would be right.
    let ran = "{\"kubeletconfig\":{\"cpuManagerPolicy\":\"static\",\"reservedSystemCPUs\":\"0\",\"topologyManagerPolicy\":\"restricted\"}}";
    let diagnosis = diagnosed(&[files.as_slice(), &[("configz.json", ran)]].concat());
    let node = only(&diagnosis);
    has_note(node, "judged with the configuration that it ran with (configz.json)");
    assert_eq!(node.node.as_ref().unwrap().topology_policy, "restricted");
}

#[test]
fn a_flag_that_the_kubelet_does_not_know_is_found_beside_its_configuration() {
    let flags = "KUBELET_KUBEADM_ARGS=\"--container-runtime=remote --topology-manager-scope=pod\"\n";
    let diagnosis = diagnosed(&[
        ("lscpu.txt", LSCPU),
        ("kubelet.yaml", &config("0")),
        ("kubeadm-flags.env", flags),
        ("pods.yaml", REFUSED),
        ("kubelet.log", LOG),
    ]);
    let node = only(&diagnosis);
    let [finding] = node.configuration.as_ref().unwrap().findings.as_slice() else { panic!("{node:#?}") };
    assert!(finding.text().contains("unknown flag: --container-runtime"), "{finding:?}");
    assert!(node.refused[0].decision.is_some(), "{:#?}", node.refused);
    has_note(node, "without the one that it refuses");
}

#[test]
fn a_machine_is_what_the_kubelet_has_logged_where_nothing_else_tells_it() {
    let log = format!("{LOG}{LOGGED}");
    let files = [("kubelet.yaml", config("0")), ("pods.yaml", REFUSED.to_owned()), ("kubelet.log", log)];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let diagnosis = diagnosed(&files);
    let node = only(&diagnosis);
    let machine = node.found.iter().find(|part| part.part == "machine").unwrap();
    assert_eq!(
        (machine.what.as_str(), machine.files.as_slice()),
        ("4 CPUs, 2 NUMA nodes", &["kubelet.log:2".to_owned()][..])
    );
    has_note(node, "as its kubelet counted it at its start");
    assert!(node.refused[0].decision.is_some(), "{:#?}", node.refused);
    // A journal cuts long lines off; what the CPU manager has logged is a part of the machine.
    let cut = format!(
        "{LOG}{}\nNov 26 10:20:01 w-1 kubelet[22]: I1126 10:20:01.1 22 cpu_manager.go:166] \"Detected CPU topology\" topology={{\"NumCPUs\":4,\"CPUDetails\":{{\"0\":{{\"NUMANodeID\":0,\"SocketID\":0,\"CoreID\":0}},\"1\":{{\"NUMANodeID\":0,\"SocketID\":0,\"CoreID\":1}},\"2\":{{\"NUMANodeID\":1,\"SocketID\":1,\"CoreID\":2}},\"3\":{{\"NUMANodeID\":1,\"SocketID\":1,\"CoreID\":3}}}}}}\n",
        LOGGED.get(..900).unwrap()
    );
    let diagnosis =
        diagnosed(&[("kubelet.yaml", &config("0")), ("pods.yaml", REFUSED), ("kubelet.log", &cut)]);
    let node = only(&diagnosis);
    has_note(node, "memory of NUMA nodes");
    assert_eq!(node.found.iter().find(|part| part.part == "machine").unwrap().files, ["kubelet.log:3"]);
}

#[test]
fn a_journal_without_a_line_of_a_kubelet_is_no_log_of_one() {
    let diagnosis = diagnosed(&[
        ("sosreport-w-1-2026-11-26-abc/proc/meminfo", "MemTotal: 16384000 kB\n"),
        (
            "sosreport-w-1-2026-11-26-abc/sos_commands/logs/journalctl_--boot",
            "Nov 26 03:00:00 w-1 sshd[1]: Accepted publickey\n",
        ),
        ("sosreport-w-1-2026-11-26-abc/etc/hostname", "w-1\n"),
    ]);
    let node = only(&diagnosis);
    let missing = node.missing.iter().find(|part| part.part == "log").unwrap();
    assert!(missing.next.contains("has no line that is known as a kubelet's"), "{}", missing.next);
}

#[test]
fn a_kubelets_answer_of_another_node_is_named() {
    let listed = "{\"pod_resources\":[{\"name\":\"du-0\",\"namespace\":\"ran\",\"containers\":[{\"name\":\"a\",\"cpu_ids\":[1]}]}]}";
    let node = |name: &str| format!("apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n");
    let diagnosis = diagnosed(&[
        ("mg/cluster-scoped-resources/core/nodes/w-1.yaml", &node("w-1")),
        ("mg/cluster-scoped-resources/core/nodes/w-2.yaml", &node("w-2")),
        ("mg/namespaces/ran/core/pods.yaml", REFUSED),
        ("mg/nodes/w-2/podresources.json", listed),
        (
            "mg/nodes/w-2/describe.txt",
            "Name: w-2\nAllocatable:\n  cpu: 4\nSystem Info:\n  Kubelet Version: v1.36.3\n",
        ),
    ]);
    let node = diagnosis.nodes.iter().find(|node| node.name.as_deref() == Some("w-2")).unwrap();
    let expected = "nodes/w-2/podresources.json is of another node: it lists ran/du-0, which is bound to w-1";
    assert!(node.contradictions.iter().any(|text| text == expected), "{:?}", node.contradictions);
    let [bundle] = diagnosis.bundles.as_slice() else { panic!("{diagnosis:#?}") };
    assert!(bundle.path.ends_with("/mg"), "{}", bundle.path);
    assert!(
        diagnosis.remarks.iter().any(|text| text.contains("`kubectl describe`")),
        "{:?}",
        diagnosis.remarks
    );
}
