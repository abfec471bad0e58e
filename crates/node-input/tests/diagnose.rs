//! Support bundles with planted faults: each is found, and what a bundle lacks is listed with what gives it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};

use node_input::{DiagnosisOf, diagnose};
use node_output::{Diagnosis, NodeDiagnosis, RefusalDepth, diagnosis};
use tempfile::TempDir;
use terminal_text::{Glyphs, Page};

const MACHINE: &str = "xeon-2s-96cpu-sriov";
const CPU_STATE: &str = "{\"policyName\":\"static\",\"defaultCpuSet\":\"0,7-24,33-48,55-72,81-95\",\"entries\":{\"5e0f3f5c-7e5b-4a3e-9c57-2f4f1b8f6d07\":{\"testpmd\":\"1-4,49-52\"},\"a2c1d0e4-13aa-4c0f-8d4e-7b1d5a9c3e10\":{\"upf\":\"5-6,53-54\"},\"c7d9b8aa-90f2-4a55-b0b6-1d2e3f405162\":{\"trainer\":\"25-32,73-80\"}},\"checksum\":3712191957}";
const CONFIG: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: \"0,48\"\ntopologyManagerPolicy: single-numa-node\n";

/// A bundle as a folder.
struct Written(TempDir);

impl Written {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn with(self, path: &str, text: &str) -> Self {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// The files of a machine below a folder.
    fn with_machine(self, folder: &str) -> Self {
        let decoder =
            ruzstd::decoding::StreamingDecoder::new(machine_fixtures::archive(MACHINE).unwrap()).unwrap();
        fs::create_dir_all(self.path().join(folder)).unwrap();
        tar::Archive::new(decoder).unpack(self.path().join(folder)).unwrap();
        self
    }

    fn diagnosed(&self, of: &DiagnosisOf) -> Diagnosis {
        diagnose(support_bundle::read(&[self.path().to_path_buf()]).unwrap(), of).unwrap()
    }
}

fn pod(name: &str, uid: &str, cpus: u32, status: &str) -> String {
    let amounts = format!("{{cpu: {cpus}, memory: 4Gi}}");
    format!(
        "- apiVersion: v1\n  kind: Pod\n  metadata: {{namespace: ran, name: {name}, uid: {uid}, resourceVersion: \"1\"}}\n  \
         spec: {{nodeName: worker-1, containers: [{{name: c, image: i, resources: {{limits: {amounts}, requests: {amounts}}}}}]}}\n  \
         status: {{{status}}}\n"
    )
}

/// The pods that hold what the state says, and one that was refused.
fn pods() -> String {
    let running = "phase: Running, qosClass: Guaranteed";
    let refused = "phase: Failed, reason: TopologyAffinityError, message: 'Pod was rejected: Resources cannot be allocated with Topology locality'";
    let container = |text: String, name: &str| text.replace("name: c,", &format!("name: {name},"));
    [
        "apiVersion: v1\nkind: List\nitems:\n".to_owned(),
        container(pod("dpdk-7", "5e0f3f5c-7e5b-4a3e-9c57-2f4f1b8f6d07", 8, running), "testpmd"),
        container(pod("upf-0", "a2c1d0e4-13aa-4c0f-8d4e-7b1d5a9c3e10", 4, running), "upf"),
        container(pod("train-0", "c7d9b8aa-90f2-4a55-b0b6-1d2e3f405162", 16, running), "trainer"),
        pod("wide", "u-wide", 40, refused),
    ]
    .concat()
}

fn node(version: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: worker-1}}\nstatus: {{nodeInfo: {{kubeletVersion: {version}}}, \
         capacity: {{cpu: \"96\"}}, allocatable: {{cpu: \"94\"}}}}\n"
    )
}

const LOG: &str = "Nov 26 10:20:00 worker-1 kubelet[22]: I1126 10:20:00.1 22 server.go:1] \"Kubelet version\" kubeletVersion=\"v1.36.3\"\n\
    Nov 26 10:21:03 worker-1 kubelet[22]: I1126 10:21:03.1 22 kubelet.go:1] \"Pod admission denied\" podUID=\"u-wide\" pod=\"ran/wide\" reason=\"TopologyAffinityError\" message=\"Resources cannot be allocated with Topology locality\"\n\
    Nov 26 10:22:03 worker-1 kubelet[22]: I1126 10:22:03.1 22 kubelet.go:1] \"Pod admission denied\" podUID=\"u-gone\" pod=\"ran/gone\" reason=\"TopologyAffinityError\" message=\"Resources cannot be allocated with Topology locality\"\n";

/// Everything of a node, in loose files.
fn loose() -> Written {
    Written::new()
        .with_machine("machine")
        .with("kubelet.yaml", CONFIG)
        .with("cpu_manager_state", CPU_STATE)
        .with("pods.yaml", &pods())
        .with("node.yaml", &node("v1.36.3"))
        .with("kubelet.log", LOG)
}

fn only(diagnosis: &Diagnosis) -> &NodeDiagnosis {
    let [node] = diagnosis.nodes.as_slice() else { panic!("{diagnosis:?}") };
    node
}

fn shown(diagnosis: &Diagnosis) -> String {
    node_output::diagnosis(diagnosis, RefusalDepth::Short, Page::endless(Glyphs::Ascii))
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn loose_files_of_a_node_answer_why_its_pods_were_refused() {
    let found = loose().diagnosed(&DiagnosisOf::default());
    let node = only(&found);
    assert_eq!(node.name.as_deref(), Some("worker-1"));
    assert!(!node.configuration.as_ref().unwrap().is_wrong());
    assert!(!node.state.as_ref().unwrap().is_wrong(), "{:?}", node.state);
    assert_eq!(node.contradictions, Vec::<String>::new());
    let [gone, wide] = node.refused.as_slice() else { panic!("{:?}", node.refused) };
    assert!(gone.not_decided.as_ref().unwrap().contains("its manifest is not in the bundle"));
    let report = wide.decision.as_ref().unwrap();
    assert!(!report.is_decided_otherwise() && report.refusal().is_some());
    says(
        &shown(&found),
        &[
            "ran/wide",
            "single-numa-node wants all of it on one NUMA node",
            "would fit",
            "status (pods.yaml)",
            "log (kubelet.log:2, Nov 26 10:21:03)",
        ],
    );
}

#[test]
fn one_pod_is_asked_for_by_its_name() {
    let of = DiagnosisOf { pod: Some("ran/wide".to_owned()), ..DiagnosisOf::default() };
    assert_eq!(only(&loose().diagnosed(&of)).refused.len(), 1);
    let of = DiagnosisOf { pod: Some("none".to_owned()), ..DiagnosisOf::default() };
    let bundle = support_bundle::read(&[loose().path().to_path_buf()]);
    let error = diagnose(bundle.unwrap(), &of).unwrap_err().to_string();
    assert_eq!(error, "--pod: the bundle tells of no refusal of a pod none");
}

#[test]
fn planted_faults_of_configuration_and_state_are_found() {
    let wrong_sum = "memoryManagerPolicy: Static\nreservedMemory:\n- {numaNode: 0, limits: {memory: 1Gi}}\n";
    let bundle = loose().with("kubelet.yaml", &format!("{CONFIG}{wrong_sum}"));
    let found = bundle.diagnosed(&DiagnosisOf::default());
    assert!(only(&found).configuration.as_ref().unwrap().is_wrong());
    says(&shown(&found), &["reservedMemory", "is not equal to the value"]);

    let bundle = loose().with(
        "cpu_manager_state",
        "{\"policyName\":\"none\",\"defaultCpuSet\":\"\",\"checksum\":1353318690}",
    );
    let found = bundle.diagnosed(&DiagnosisOf::default());
    assert!(only(&found).state.as_ref().unwrap().is_wrong());
    says(&shown(&found), &["next start", "differs from state checkpoint policy"]);
}

#[test]
fn contradictions_are_listed_and_the_rest_is_answered() {
    let kept = node("v1.36.3").replace("\"94\"", "\"80\"");
    let found = loose().with("node.yaml", &kept).diagnosed(&DiagnosisOf::default());
    says(&shown(&found), &["the node keeps 16000m of CPU from pods", "2000m", "ran/wide"]);

    let other = CPU_STATE.replace("81-95", "81-95,200-300").replace("3712191957", "957625731");
    let found = loose().with("cpu_manager_state", &other).diagnosed(&DiagnosisOf::default());
    says(&shown(&found), &["the state files are evidently those of another machine", "200"]);

    let found = loose().with("node.yaml", &node("v1.35.6")).diagnosed(&DiagnosisOf::default());
    says(&shown(&found), &["the Node object is of kubelet v1.35.6, and the last that started is v1.36.3"]);
    assert_eq!(only(&found).kubelet.rules_of, "v1.35.6");

    let found = loose().with("node.yaml", &node("v1.33.1")).diagnosed(&DiagnosisOf::default());
    says(
        &shown(&found),
        &[
            "the kubelet: the rules of kubelet 1.33 are not known, the nearest known release is 1.34: its rules apply",
        ],
    );
}

#[test]
fn what_a_bundle_lacks_is_listed_with_what_gives_it() {
    let found = Written::new().with("pods.yaml", &pods()).diagnosed(&DiagnosisOf::default());
    let node = only(&found);
    let missing: Vec<&str> = node.missing.iter().map(|part| part.part.as_str()).collect();
    assert_eq!(missing, ["machine", "configuration", "state", "devices", "node object", "log"]);
    assert!(node.refused.first().unwrap().not_decided.as_ref().unwrap().contains("its machine is not known"));
    says(&shown(&found), &["kubectl get --raw /api/v1/nodes/worker-1/proxy/configz", "topolet capture"]);

    let found = Written::new().with("readme.md", "nothing\n").diagnosed(&DiagnosisOf::default());
    assert!(
        found.nodes.is_empty() && found.remarks.first().unwrap().contains("nothing in it tells of a node")
    );
}

#[test]
fn a_sosreport_has_flags_drop_ins_and_a_machine_as_text() {
    let root = "sosreport-worker-1-2026-11-26-abc";
    let lscpu = "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n  0    0      0    0 0:0:0:0          yes\n  1    0      0    1 1:1:1:0          yes\n  2    1      1    2 2:2:2:1          yes\n  3    1      1    3 3:3:3:1          yes\n";
    let numactl = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 16000 MB\nnode 1 cpus: 2 3\nnode 1 size: 16000 MB\nnode distances:\nnode   0   1\n  0:  10  21\n  1:  21  10\n";
    let found = Written::new()
        .with(&format!("{root}/sos_commands/processor/lscpu_-ae"), lscpu)
        .with(&format!("{root}/sos_commands/numa/numactl_--hardware"), numactl)
        .with(&format!("{root}/etc/hostname"), "worker-1\n")
        .with(&format!("{root}/etc/kubernetes/kubelet.conf"), &CONFIG.replace("0,48", "0"))
        .with(
            &format!("{root}/sos_commands/process/ps_auxwww"),
            "USER PID COMMAND\nroot 1 /usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf --topology-manager-policy=restricted\n",
        )
        .diagnosed(&DiagnosisOf::default());
    let node = only(&found);
    let line = node.node.as_ref().unwrap_or_else(|| panic!("{node:?}"));
    assert_eq!((line.topology_policy, line.cpu_policy), ("restricted", "static"));
    assert_eq!(found.bundles.first().unwrap().form, "sosreport");
    says(&shown(&found), &["4 CPUs, 2 NUMA nodes", "kubelet.conf with flags"]);
}

#[test]
fn nodes_of_a_must_gather_have_each_their_release() {
    let object = |name: &str, version: &str| {
        node(version).replace("worker-1", name).replace("metadata: {", "metadata: {resourceVersion: \"1\", ")
    };
    let bundle = Written::new()
        .with("q/cluster-scoped-resources/core/nodes/worker-1.yaml", &object("worker-1", "v1.36.3"))
        .with("q/cluster-scoped-resources/core/nodes/worker-2.yaml", &object("worker-2", "v1.35.6"))
        .with("q/cluster-scoped-resources/core/nodes/worker-3.yaml", &object("worker-3", "v1.35.6"))
        .with("q/namespaces/ran/core/pods.yaml", &pods())
        .with_machine("q/nodes/worker-1/sysinfo")
        .with_machine("q/nodes/worker-2/sysinfo");
    let found = bundle.diagnosed(&DiagnosisOf::default());
    let releases: Vec<_> = found.nodes.iter().map(|node| node.kubelet.rules_of.as_str()).collect();
    assert_eq!(releases, ["v1.36.3", "v1.35.6"]);
    assert_eq!(found.other_nodes, ["worker-3"]);
    let first = found.nodes.first().unwrap();
    assert!(first.refused.first().unwrap().not_decided.as_ref().unwrap().contains("configuration"));
    let of = DiagnosisOf { node: Some("worker-9".to_owned()), ..DiagnosisOf::default() };
    let paths: [PathBuf; 1] = [bundle.path().to_path_buf()];
    let error = diagnose(support_bundle::read(&paths).unwrap(), &of).unwrap_err().to_string();
    assert_eq!(error, "--node: the bundle has no node worker-9; it has worker-1, worker-2, worker-3");
    assert!(
        diagnosis(&found, RefusalDepth::Full, Page::endless(Glyphs::Ascii))
            .contains("1 node of which only objects tell")
    );
}

#[test]
fn a_list_of_nodes_has_members_without_kinds() {
    let list = "{\"kind\": \"NodeList\", \"apiVersion\": \"v1\", \"items\": [{\"metadata\": {\"name\": \"worker-1\"}, \"status\": \
                {\"nodeInfo\": {\"kubeletVersion\": \"v1.35.2\"}}}]}";
    let bundle = Written::new().with("nodes.json", list).with("ran/pods.yaml", &pods());
    let diagnosis = bundle.diagnosed(&DiagnosisOf::default());
    let node = only(&diagnosis);
    assert_eq!(node.kubelet.named_by, "by the Node object", "{node:?}");
    assert!(!node.missing.iter().any(|missing| missing.part == "node object"), "{:?}", node.missing);
}

#[test]
fn memory_that_is_not_known_accuses_no_configuration() {
    let lscpu = "CPU NODE SOCKET CORE\n0 0 0 0\n1 0 0 1\n2 1 1 2\n3 1 1 3\n";
    let config = format!(
        "{CONFIG}memoryManagerPolicy: Static\nsystemReserved: {{memory: 924Mi}}\nevictionHard: {{memory.available: 100Mi}}\n\
         reservedMemory: [{{numaNode: 0, limits: {{memory: 1Gi}}}}]\n"
    );
    let bundle = Written::new()
        .with("lscpu.txt", lscpu)
        .with("kubelet.yaml", &config.replace("\"0,48\"", "\"0\""))
        .with("pods.yaml", &pods());
    let text = shown(&bundle.diagnosed(&DiagnosisOf::default()));
    says(&text, &["nothing tells how much memory", "`numactl --hardware`"]);
    assert!(!text.contains("capacity of 0") && !text.contains("left out"), "{text}");
}

#[test]
fn a_pod_that_an_empty_node_admits_is_not_admitted_beside_what_is_not_known() {
    let bundle = Written::new()
        .with_machine("machine")
        .with("kubelet.yaml", CONFIG)
        .with("node.yaml", &node("v1.36.3"))
        .with("pods.yaml", &pods());
    let text = shown(&bundle.diagnosed(&DiagnosisOf::default()));
    says(&text, &["ran/wide   TopologyAffinityError", "not decided: a node on which nothing runs admits it"]);
    assert!(!text.contains("ran/wide   admitted"), "{text}");
}

#[test]
fn a_kubelet_that_does_not_start_is_found_by_its_log_alone() {
    // scylladb/scylla-operator#1265, siderolabs/talos#7504 and kubernetes#109996.
    let policy = "start cpu manager error: could not restore state from checkpoint: configured policy \\\"static\\\" differs from \
                  state checkpoint policy \\\"none\\\", please drain this node";
    let of_policy =
        "cpu_manager_state: set cpuManagerPolicy to \"none\" again, or drain the node, delete the file";
    let drifted = "start memory manager error: [memorymanager] the expected machine state is different from the real one";
    let klog = |error: &str| {
        format!(
            "May 25 05:33:16 w-1 kubelet[1]: E0525 05:33:16.5 1 kubelet.go:1480] \"Failed to start ContainerManager\" \
             err=\"{error}\"\nMay 25 05:33:16 w-1 systemd[1]: kubelet.service: Failed with result 'exit-code'.\n"
        )
    };
    let json = format!(
        "192.168.88.209: {{\"ts\":1690001513203.121,\"caller\":\"kubelet/kubelet.go:1480\",\"msg\":\"Failed to start \
         ContainerManager\",\"err\":\"{policy}\"}}\n"
    );
    for (log, help) in [
        (klog(policy), of_policy),
        (json, of_policy),
        (klog(drifted), "memory_manager_state: bring back the memory and huge pages that the file has"),
    ] {
        let found = Written::new().with("kubelet.log", &log).diagnosed(&DiagnosisOf::default());
        assert!(found.is_wrong(), "{log}");
        says(&shown(&found), &["failed start   the kubelet does not start: start ", "kubelet.log:1", help]);
    }
}

#[test]
fn a_log_that_is_not_understood_is_not_said_to_have_no_lines() {
    let bundle = Written::new().with("pods.yaml", &pods()).with("kubelet.log", "a line of something\n");
    let text = shown(&bundle.diagnosed(&DiagnosisOf::default()));
    says(&text, &["kubelet.log has no line that is known as a kubelet's"]);
}

const NUMACTL: &str = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1 2 3 4 5 6 7\nnode 0 size: 15258 MB\nnode 0 free: 13351 MB\nnode 1 cpus: 8 9 10 11 12 13 14 15\nnode 1 size: 15258 MB\nnode 1 free: 13351 MB\nnode distances:\nnode   0   1\n  0:  10  20\n  1:  20  10\n";
const STATE_OF_NONE: &str = "{\"policyName\":\"none\",\"defaultCpuSet\":\"\",\"checksum\":1353318690}";

#[test]
fn loose_configurations_are_those_that_other_commands_take() {
    for (name, text, is_wrong) in [
        // siderolabs/talos#7504; since Talos 1.5 it deletes the file.
        ("talos.yaml", "machine:\n  kubelet:\n    extraConfig:\n      cpuManagerPolicy: \"static\"\n", false),
        ("kubelet.yaml", "cpuManagerPolicy: static\nkubeReserved: {cpu: 1000m, memory: 2Gi}\n", true),
    ] {
        let bundle = Written::new().with(name, text).with("cpu_manager_state", STATE_OF_NONE);
        let found = bundle.with("numactl.txt", NUMACTL).diagnosed(&DiagnosisOf::default());
        let text = shown(&found);
        says(&text, &[&format!("of its kubelet: {name}"), "written under policy \"none\""]);
        assert!(found.is_wrong() == is_wrong && !text.contains("missing  configuration"), "{text}");
    }
}

#[test]
fn a_document_that_names_the_kubelet_and_is_not_understood_is_named() {
    let bundle = Written::new().with("vars.yaml", "kubelet_config_extra_args: x\nother: 1\n");
    let text = shown(&bundle.with("pods.yaml", &pods()).diagnosed(&DiagnosisOf::default()));
    says(&text, &["vars.yaml: not read as the configuration of a kubelet"]);
}

#[test]
fn what_is_lacking_is_named_as_files_and_not_as_options() {
    let bundle = Written::new().with("cpu_manager_state", STATE_OF_NONE).with("numactl.txt", NUMACTL);
    let text = shown(&bundle.diagnosed(&DiagnosisOf::default()));
    says(&text, &["put it beside the other files, as kubelet.yaml or configz.json"]);
    assert!(!text.contains("--config"), "{text}");
    let lscpu = "CPU NODE SOCKET CORE\n0 0 0 0\n1 0 0 1\n2 1 1 2\n3 1 1 3\n";
    let config = format!("{}memoryManagerPolicy: Static\n", CONFIG.replace("\"0,48\"", "\"0\""));
    let bundle = Written::new().with("lscpu.txt", lscpu).with("kubelet.yaml", &config);
    let text = shown(&bundle.with("pods.yaml", &pods()).diagnosed(&DiagnosisOf::default()));
    says(&text, &["not decided: nothing tells how much memory", "beside the other files"]);
    assert!(!text.contains("--memory"), "{text}");
}
