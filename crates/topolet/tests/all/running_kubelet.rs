//! The kubelet that runs is found by its process, and asked at its sockets.

#![cfg(feature = "serve")]

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener as PlainListener;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use crate::machine_root::MachineRoot;
use device_plugin::proto::podresources::pod_resources_lister_server::{
    PodResourcesLister, PodResourcesListerServer,
};
use device_plugin::proto::podresources::{
    AllocatableResourcesRequest, AllocatableResourcesResponse, ContainerDevices, GetPodResourcesRequest,
    GetPodResourcesResponse, ListPodResourcesRequest, ListPodResourcesResponse, NumaNode, TopologyInfo,
};
use pods_api::{KubeletPod, PodsServer};
use serde_json::{Value, json};
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::{Request, Response, Status};

const HEAD: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const CONFIG: &str =
    "cpuManagerPolicy: static\nreservedSystemCPUs: 0,24,48,72\ntopologyManagerPolicy: restricted\n";
const OWN_ROOT: &str = "data/kubelet";

/// A machine on which a kubelet with process id 4242 runs.
struct Node(MachineRoot);

impl Node {
    fn new(arguments: &str) -> Self {
        let node = Self(MachineRoot::new());
        node.0.process(4242, "/usr/bin/kubelet", &format!("/usr/bin/kubelet {arguments}"));
        node.0.write("opt/kubelet.yaml", &format!("{HEAD}{CONFIG}"));
        fs::create_dir_all(node.0.path(OWN_ROOT)).unwrap();
        // Older than the process.
        let file = fs::File::open(node.0.path("opt/kubelet.yaml")).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000)).unwrap();
        node
    }

    fn run(&self, arguments: &[&str]) -> (String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_topolet"));
        command.env("LC_ALL", "C.UTF-8").args(arguments).arg("--machine").arg(self.0.root());
        let Output { stdout, stderr, .. } = command.output().unwrap();
        (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    }

    fn admit(&self, more: &[&str]) -> Value {
        self.0.write("pod.yaml", POD);
        let pod = self.0.path("pod.yaml");
        let (out, error) = self.run(&[&["admit", "-o", "json", "-f", pod.to_str().unwrap()], more].concat());
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{error}"))
    }

    fn socket(&self, name: &str) -> std::path::PathBuf {
        let socket = self.0.path(OWN_ROOT).join(name);
        fs::create_dir_all(socket.parent().unwrap()).unwrap();
        socket
    }
}

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: gpu}
spec:
  containers:
  - name: main
    image: example.com/i
    resources: {limits: {cpu: 4, memory: 1Gi, example.com/gpu: 1}}
";

/// A kubelet's pod resources service that lists these devices.
struct Lists(Vec<ContainerDevices>);

#[tonic::async_trait]
impl PodResourcesLister for Lists {
    async fn list(
        &self,
        _: Request<ListPodResourcesRequest>,
    ) -> Result<Response<ListPodResourcesResponse>, Status> {
        Ok(Response::new(ListPodResourcesResponse::default()))
    }

    async fn get_allocatable_resources(
        &self,
        _: Request<AllocatableResourcesRequest>,
    ) -> Result<Response<AllocatableResourcesResponse>, Status> {
        let devices = self.0.clone();
        Ok(Response::new(AllocatableResourcesResponse { devices, ..Default::default() }))
    }

    async fn get(
        &self,
        _: Request<GetPodResourcesRequest>,
    ) -> Result<Response<GetPodResourcesResponse>, Status> {
        Err(Status::unimplemented("not asked"))
    }
}

fn serve(socket: &Path, devices: Vec<ContainerDevices>) -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = {
        let _inside = runtime.enter();
        UnixListener::bind(socket).unwrap()
    };
    let service =
        tonic::transport::Server::builder().add_service(PodResourcesListerServer::new(Lists(devices)));
    runtime.spawn(service.serve_with_incoming(UnixListenerStream::new(listener)));
    runtime
}

fn gpu(id: &str, node: i64) -> ContainerDevices {
    ContainerDevices {
        resource_name: "example.com/gpu".to_owned(),
        device_ids: vec![id.to_owned()],
        topology: Some(TopologyInfo { nodes: vec![NumaNode { id: node }] }),
    }
}

#[test]
fn its_file_drop_ins_and_flags_decide() {
    let node = Node::new("--config /opt/kubelet.yaml --config-dir=/opt/d --topology-manager-scope=pod --v=2");
    node.0.write("opt/d/10-policy.conf", &format!("{HEAD}topologyManagerPolicy: single-numa-node\n"));
    node.0.write("opt/d/20-later.conf", &format!("{HEAD}topologyManagerScope: container\nmaxPods: 7\n"));
    // A usual place that this kubelet does not read.
    node.0.write("var/lib/kubelet/config.yaml", &format!("{HEAD}cpuManagerPolicy: none\n"));
    let decided = &node.admit(&[])["node"];
    let expected = "/opt/kubelet.yaml with 2 drop-ins of /opt/d with flag topology-manager-scope of the kubelet with PID 4242";
    assert_eq!(decided["configuration"], expected);
    assert_eq!(
        (&decided["topologyPolicy"], &decided["topologyScope"]),
        (&"single-numa-node".into(), &"pod".into())
    );
    assert_eq!(decided["cpuPolicy"], "static");
}

#[test]
fn advice_names_the_flags_that_decide_over_files() {
    let node = Node::new("--config=/opt/kubelet.yaml --reserved-cpus=0 --topology-manager-scope=pod --v=2");
    let (out, error) = node.run(&["config", "check"]);
    let out = out.replace("\n  ", " ");
    let expected = "--reserved-cpus decides on reservedSystemCPUs over every file";
    assert!(out.contains(expected), "{out}{error}");
    assert!(!out.contains("--topology-manager-scope decides"), "{out}");
}

#[test]
fn what_is_not_known_of_it_is_one_sentence() {
    let check = |arguments: &str, more: &[&str], expected: &str| {
        let node = Node::new(arguments);
        node.0.write("pod.yaml", POD);
        node.0.process(5, "/usr/bin/vi", "kubelet --config=/etc/other");
        let pod = node.0.path("pod.yaml");
        let (out, error) = node.run(&[&["admit", "-f", pod.to_str().unwrap()], more].concat());
        // It is the first line of an answer, and the error where there is none.
        let said = out.lines().next().unwrap_or(&error);
        assert!(said.contains(expected), "{arguments}: {out}{error}");
    };
    let not_known = "the configuration of the kubelet that runs as process 4242 is not known: ";
    check("--config=/opt/missing.yaml", &[], &format!("{not_known}failed to read /opt/missing.yaml"));
    check("--config=relative.yaml", &[], &format!("{not_known}relative.yaml is relative"));
    check("--max-pods=many", &[], &format!("{not_known}its command line keeps a kubelet from starting"));
    check(
        "--config=/opt/kubelet.yaml",
        &["--kubelet-pid", "5"],
        "process 5 is no kubelet; kubelets here: 4242",
    );
}

#[test]
fn of_several_one_is_chosen() {
    let node = Node::new("--config=/opt/kubelet.yaml");
    node.0.process(77, "/usr/bin/kubelet", "/usr/bin/kubelet --config=/opt/other.yaml");
    node.0.write("opt/other.yaml", &format!("{HEAD}topologyManagerPolicy: best-effort\n"));
    node.0.write("pod.yaml", POD);
    let pod = node.0.path("pod.yaml");
    let (out, _) = node.run(&["admit", "-f", pod.to_str().unwrap()]);
    assert!(out.contains("2 kubelets run here, as processes 77, 4242; --kubelet-pid chooses one"), "{out}");
    let decided = &node.admit(&["--kubelet-pid", "77"])["node"];
    assert_eq!(decided["configuration"], "/opt/other.yaml of the kubelet with PID 77");
    assert_eq!(decided["topologyPolicy"], "best-effort");
}

#[test]
fn a_file_that_has_changed_since_its_start_is_named() {
    let node = Node::new("--config=/opt/kubelet.yaml");
    node.0.write("opt/kubelet.yaml", &format!("{HEAD}{CONFIG}maxPods: 20\n"));
    node.0.write("pod.yaml", POD);
    let pod = node.0.path("pod.yaml");
    let (_, error) = node.run(&["admit", "-f", pod.to_str().unwrap()]);
    let expected = "/opt/kubelet.yaml was changed after the kubelet with PID 4242 had started";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn its_devices_and_pods_are_those_that_it_answers() {
    let node = Node::new(&format!("--config=/opt/kubelet.yaml --root-dir=/{OWN_ROOT}"));
    let served = serve(&node.socket("pod-resources/kubelet.sock"), vec![gpu("gpu-0", 0), gpu("gpu-1", 1)]);
    let pods = PodsServer::listen(&node.socket(pods_api::SOCKET)).unwrap();
    let running = json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "1"},
        "spec": {"containers": [{"name": "main", "image": "i", "resources": {"limits": {"cpu": "93", "memory": "1Gi"}}}]},
        "status": {"phase": "Running", "containerStatuses": [{"name": "main", "containerID": "containerd://1"}]},
    });
    pods.put(KubeletPod::from_json(&running.to_string()).unwrap());
    node.0.write(
        &format!("{OWN_ROOT}/cpu_manager_state"),
        r#"{"policyName":"static","defaultCpuSet":"0-95","checksum":3074121769}"#,
    );
    let decided = node.admit(&[]);
    // The pod that runs shares CPUs, and its request counts for the node as a whole.
    assert_eq!(decided["decisions"][0]["refusal"]["reason"], "OutOfcpu", "{decided}");
    pods.remove("1");
    let decided = node.admit(&[]);
    assert_eq!(decided["decisions"][0]["verdict"], "admitted", "{decided}");
    assert_eq!(decided["decisions"][0]["containers"][0]["devices"][0]["resource"], "example.com/gpu");
    let file = node.0.path("node.tar.zst");
    let (out, error) = node.run(&["capture", "--node", file.to_str().unwrap()]);
    assert!(out.contains("the kubelet's podresources socket: 1 resource"), "{out}{error}");
    drop(served);
}

#[test]
fn a_socket_without_an_answer_is_named_and_the_rest_answered() {
    let node = Node::new(&format!("--config=/opt/kubelet.yaml --root-dir=/{OWN_ROOT}"));
    let hangs = PlainListener::bind(node.socket("pod-resources/kubelet.sock")).unwrap();
    let decided = node.admit(&[]);
    let notes = decided["notes"].to_string();
    assert!(notes.contains("the kubelet gives no answer at"), "{decided}");
    assert_eq!(decided["decisions"][0]["verdict"], "admitted", "{decided}");
    drop(hangs);
}

#[test]
fn files_of_another_number_of_cpus_are_not_decided_beside() {
    let node = Node::new(&format!("--config=/opt/kubelet.yaml --root-dir=/{OWN_ROOT}"));
    node.0.write(
        &format!("{OWN_ROOT}/cpu_manager_state"),
        r#"{"policyName":"static","defaultCpuSet":"0-96","checksum":1157002514}"#,
    );
    node.0.write("pod.yaml", POD);
    let pod = node.0.path("pod.yaml");
    let (_, error) = node.run(&["admit", "-f", pod.to_str().unwrap()]);
    assert!(
        error.contains("the kubelet that runs goes on with what machine and configuration had"),
        "{error}"
    );
    assert!(error.contains("current set of available CPUs"), "{error}");
}

#[test]
fn links_of_the_machine_lead_to_its_own_files() {
    let node = Node::new("--config=/opt/kubelet.yaml");
    symlink(format!("/{OWN_ROOT}"), node.0.path("linked")).unwrap();
    fs::create_dir_all(node.0.path("var/lib")).unwrap();
    symlink("/linked", node.0.path("var/lib/kubelet")).unwrap();
    node.0.write(
        &format!("{OWN_ROOT}/cpu_manager_state"),
        r#"{"policyName":"static","defaultCpuSet":"0,24,48,72","entries":{"11111111-1111-1111-1111-111111111111":{"main":"1-23,25-47,49-71,73-95"}},"checksum":524593359}"#,
    );
    let decided = node.admit(&[]);
    assert_eq!(decided["decisions"][0]["refusal"]["reason"], "TopologyAffinityError", "{decided}");
}

#[test]
fn a_check_of_what_cannot_be_read_is_an_error() {
    let node = Node::new("--config=/opt/missing.yaml");
    let (out, error) = node.run(&["config", "check"]);
    assert!(out.is_empty() && error.contains("failed to read /opt/missing.yaml"), "{out}{error}");
    let (out, _) = node.run(&["status"]);
    assert!(out.contains("failed to read /opt/missing.yaml"), "{out}");
}

#[test]
fn what_is_free_is_not_known_without_the_state() {
    let node = Node::new("--config=/opt/kubelet.yaml --root-dir=/data/none");
    let (out, _) = node.run(&["status"]);
    assert!(out.contains("what runs on this node is not known"), "{out}");
    assert!(!out.contains("no pods run") && !out.contains("nothing is wrong"), "{out}");
}

#[test]
fn a_relative_root_folder_is_not_looked_for() {
    let node = Node::new("--config=/opt/kubelet.yaml --root-dir=data/kubelet");
    // What lies there is another's.
    let hangs = PlainListener::bind(node.socket("pod-resources/kubelet.sock")).unwrap();
    let notes = node.admit(&[])["notes"].to_string();
    assert!(notes.contains("--root-dir data/kubelet is relative"), "{notes}");
    assert!(!notes.contains("gives no answer"), "{notes}");
    drop(hangs);
}
