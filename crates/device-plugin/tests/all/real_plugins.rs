//! Plugins in Go and in Python, run as they are: the kubelet's own sample, unmodified, two that tests script,
//! and a client of the pod resources service in Go.

use std::process::Command;
use std::sync::Arc;

use crate::real::{Program, built, missing, script, told};
use crate::support::{Folder, Node};
use device_manager::{Devices, Holdings, Inventory, Outcome, Question, Replies, Reply, Request};
use device_plugin::{Amounts, ContainerEntry, PodEntry, PodResourcesSnapshot, container_setup};
use nix::sys::signal::Signal;
use pod_spec::{Container, ContainerName, Pod, ResourceList, ResourceName, Role};
use topology_hint::Affinity;
use topology_model::NodeId;

const SAMPLE: &str = "example.com/resource";
const GPU: &str = "go.example/gpu";
const VF: &str = "go.example/vf";
const NIC: &str = "python.example/nic";

fn sample(folder: &Folder) -> Program {
    Program::start(&folder.folders().device_plugins, Command::new(built("sample-device-plugin")))
}

fn scripted(folder: &Folder, resource: &str, devices: &str) -> Program {
    let mut command = Command::new(built("scripted"));
    command.args(["-resource", resource, "-devices", devices]);
    Program::start(&folder.folders().device_plugins, command)
}

fn gpus(folder: &Folder) -> Program {
    scripted(folder, GPU, "gpu-0:0,gpu-1:0,gpu-2:1,gpu-3:1")
}

fn python(folder: &Folder) -> Program {
    let mut command = Command::new(built("python/bin/python"));
    command.arg(script()).arg(NIC);
    Program::start(&folder.folders().device_plugins, command)
}

fn healthy(inventory: &Inventory, resource: &str) -> usize {
    inventory.healthy(&resource.into()).count()
}

/// Serves a container as a node does, asking whatever has to be asked. Returns the questions too.
fn served(node: &Node, pod: &Pod, near: i64) -> (Holdings, Vec<Question>) {
    let affinity = Affinity::Nodes(node.inventory.nodes().mask_of([NodeId(near)]));
    let request = Request::new(pod, &pod.containers[0], affinity);
    let (mut replies, mut asked) = (Replies::new(), Vec::new());
    loop {
        let outcome = Devices::default().allocate(&node.inventory, &Holdings::default(), &request, &replies);
        match outcome.unwrap() {
            Outcome::Done(allocation) => return (allocation.after, asked),
            Outcome::NeedsPlugin(question) => {
                asked.push(question.clone());
                let reply = node.server.ask(&question);
                assert!(!matches!(reply, Reply::Failed(_)), "{question:?}: {reply:?}");
                replies.insert(question, reply);
            }
        }
    }
}

#[test]
fn plugins_in_go_and_in_python_are_served() {
    if let Some(why) = missing() {
        println!("skipped: {why}");
        return;
    }
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let _sample = sample(&folder);
    let gpu = gpus(&folder);
    let _vf = scripted(&folder, VF, "vf-0:0,vf-1:1");
    let nic = python(&folder);
    node.until("all four have listed", |inventory| inventory.registered().count() == 4);
    assert_eq!(node.healthy(SAMPLE), ["Dev-1", "Dev-2"]);
    assert_eq!(node.healthy(GPU), ["gpu-0", "gpu-1", "gpu-2", "gpu-3"]);
    assert_eq!(node.healthy(NIC), ["nic-0", "nic-1"]);

    // One of each near node 1; where there is a choice there, the plugins prefer the last one.
    let one = |name: &str| (ResourceName::new(name), "1".parse().unwrap());
    let limits = ResourceList::from([one(SAMPLE), one(GPU), one(VF), one(NIC)]);
    let app =
        Container { name: ContainerName::new("app"), role: Role::App, requests: limits.clone(), limits };
    let pod = Pod::new("default", "trainer", vec![app]);
    let (held, asked) = served(&node, &pod, 1);
    let given = |resource: &str| {
        let held = held.held(&pod.uid, &pod.containers[0].name, &resource.into()).unwrap();
        let ids: Vec<String> = held.devices().iter().map(ToString::to_string).collect();
        (ids.join(","), container_setup(&held.reply).unwrap())
    };
    assert_eq!(given(GPU).0, "gpu-3");
    assert_eq!(given(VF).0, "vf-1");
    assert_eq!(given(NIC).0, "nic-1");
    assert_eq!(given(GPU).1.envs["DEVICES"], "gpu-3");
    assert_eq!(given(GPU).1.devices[0].container_path, "/dev/gpu-3");
    assert_eq!(given(NIC).1.envs["DEVICES"], "nic-1");
    let (of_sample, setup) = given(SAMPLE);
    assert_eq!(setup.mounts[0].host_path, format!("/tmp/{of_sample}"));
    let preferred: Vec<&str> = asked
        .iter()
        .filter(|question| matches!(question, Question::Preferred { .. }))
        .map(|question| question.resource().as_str())
        .collect();
    assert_eq!(preferred, [GPU, NIC], "where all that is near is taken nobody is asked");
    let start = Question::PreStart { resource: GPU.into(), devices: ["gpu-3".into()].into() };
    assert_eq!(node.server.ask(&start), Reply::Started);
    let unknown = Question::Allocate { resource: SAMPLE.into(), devices: ["Dev-9".into()].into() };
    let Reply::Failed(error) = node.server.ask(&unknown) else { panic!("there is no such device") };
    assert_eq!(
        error.to_string(),
        "rpc error: code = Unknown desc = invalid allocation request with non-existing device Dev-9"
    );

    // A client in Go lists what they hold.
    let devices = held.entries(&pod.uid, &pod.containers[0].name).collect();
    let amounts = Amounts { cpus: "2-3".parse().unwrap(), memory: Vec::new(), devices };
    let container = ContainerEntry { name: ContainerName::new("app"), amounts, claims: Vec::new() };
    let entry = PodEntry {
        name: "trainer".to_owned(),
        namespace: "default".to_owned(),
        containers: vec![container],
        whole: Amounts::default(),
    };
    let allocatable = Amounts { devices: node.inventory.allocatable().collect(), ..Amounts::default() };
    *node.told.0.lock().unwrap() = Arc::new(PodResourcesSnapshot { pods: vec![entry], allocatable });
    let socket = folder.pod_resources_socket();
    let expected = [
        "default/trainer".to_owned(),
        "default/trainer/app cpus [2 3]".to_owned(),
        format!("default/trainer/app {SAMPLE} [{of_sample}] -"),
        format!("default/trainer/app {GPU} [gpu-3] 1;"),
        format!("default/trainer/app {VF} [vf-1] 1;"),
        format!("default/trainer/app {NIC} [nic-1] 1;"),
    ];
    assert_eq!(told(&socket, &["list"]), expected);
    assert_eq!(told(&socket, &["get", "default", "trainer"]), expected);
    assert_eq!(told(&socket, &["allocatable"]).len(), 10);

    // One falls ill, is killed, and comes back well.
    gpu.signal(Signal::SIGUSR1);
    node.until("a device is ill", |inventory| healthy(inventory, GPU) == 3);
    drop(gpu);
    node.until("it has gone", |inventory| healthy(inventory, GPU) == 0);
    assert_eq!(healthy(&node.inventory, NIC), 2, "others are undisturbed");
    drop(nic);
    node.until("so has the other", |inventory| healthy(inventory, NIC) == 0);
    let (_gpu, _nic) = (gpus(&folder), python(&folder));
    let is_back = |inventory: &Inventory| healthy(inventory, GPU) == 4 && healthy(inventory, NIC) == 2;
    node.until("both are back", is_back);

    // A server that starts again: the sample notices, and registers by itself.
    node.stop();
    let mut again = Node::start(&folder);
    again.until("the sample is back", |inventory| healthy(inventory, SAMPLE) == 2);
    let _ = std::fs::remove_file(format!("/tmp/{of_sample}"));
}
