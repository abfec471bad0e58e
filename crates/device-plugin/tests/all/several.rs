//! Several plugins for one resource, as kubelets from 1.37 on accept them: over sockets.

use crate::support::plugin::{Plugin, Script, device, register, request};
use crate::support::{Folder, Node};
use device_manager::{DeviceIds, Endpoint, Life, Question, ReplacedPlugins, Reply, RpcCode};
use device_plugin::Setup;
use kubelet_release::{Release, Rules};

const RESOURCE: &str = "vendor.io/gpu";

/// A node by the rules of 1.37.
fn node(folder: &Folder, replaced: ReplacedPlugins) -> Node {
    let per_resource = Rules::of(Release::V1_37).plugins_per_resource;
    Node::with(&Setup { replaced, per_resource, ..crate::support::setup(folder) }).unwrap()
}

/// A plugin with one device, registered and heard.
fn plugin(folder: &Folder, node: &mut Node, socket: &str, id: &str) -> Plugin {
    let path = folder.folders().device_plugins.join(socket);
    // One that starts again finds the socket of the one before.
    let _ = std::fs::remove_file(&path);
    let plugin = Plugin::listen(&path, Script::default(), vec![device(id, &[0])]);
    let (kubelet, request) = (folder.kubelet_socket(), request(socket, RESOURCE));
    let caller = std::thread::spawn(move || register(&kubelet, request));
    assert_eq!(node.next(), format!("registered {RESOURCE}"));
    caller.join().unwrap().unwrap();
    assert_eq!(node.next(), format!("listed {RESOURCE} 1"));
    plugin
}

fn ask(node: &Node, id: &str) -> Reply {
    let devices: DeviceIds = [id].into_iter().map(Into::into).collect();
    node.server.ask(&Question::Allocate { resource: RESOURCE.into(), devices })
}

fn is_running(node: &Node) -> bool {
    matches!(node.inventory.endpoint(&RESOURCE.into()), Some(Endpoint::Plugin { life: Life::Running, .. }))
}

#[test]
fn a_resource_lasts_as_long_as_one_of_its_plugins() {
    let folder = Folder::new();
    let mut node = node(&folder, ReplacedPlugins::default());
    let old = plugin(&folder, &mut node, "old.sock", "gpu-0");
    let new = plugin(&folder, &mut node, "new.sock", "gpu-1");
    assert_eq!(node.healthy(RESOURCE), ["gpu-1"], "whoever lists replaces the whole list");
    assert!(matches!(ask(&node, "gpu-1"), Reply::Allocated(_)));
    old.list(vec![device("gpu-2", &[1])]);
    assert_eq!(node.next(), format!("listed {RESOURCE} 1"));
    assert_eq!(node.healthy(RESOURCE), ["gpu-2"], "the older one is heard");

    drop(new);
    assert!(node.next().starts_with(&format!("one gone {RESOURCE}")));
    assert!(is_running(&node));
    assert_eq!(node.healthy(RESOURCE), ["gpu-2"], "the devices stay as they are");
    assert!(matches!(ask(&node, "gpu-2"), Reply::Allocated(_)), "the older one is asked");

    drop(old);
    assert!(node.next().starts_with(&format!("gone {RESOURCE}")));
    assert!(!is_running(&node));
    assert_eq!(node.healthy(RESOURCE), [""; 0]);
}

/// As in the kubelet, which is stuck with it until it starts again.
#[test]
fn a_plugin_that_registers_again_is_refused_where_plugins_are_kept() {
    let folder = Folder::new();
    let mut node = node(&folder, ReplacedPlugins::KeepOpen);
    let gpu = plugin(&folder, &mut node, "gpu.sock", "gpu-0");
    let (_, why) = register(&folder.kubelet_socket(), request("gpu.sock", RESOURCE)).unwrap_err();
    let path = folder.folders().device_plugins.join("gpu.sock");
    assert_eq!(why, format!("device plugin already connected: {}", path.display()));
    assert!(node.next().starts_with("not registered"));
    drop(gpu);
    assert_eq!(node.next(), format!("ended unnoticed {RESOURCE}"));
    assert_eq!(node.healthy(RESOURCE), ["gpu-0"]);
    let Reply::Failed(error) = ask(&node, "gpu-0") else { panic!("nobody is there") };
    assert_eq!(error.code, RpcCode(14));
}

#[test]
fn a_plugin_that_registers_again_takes_its_own_place() {
    let folder = Folder::new();
    let mut node = node(&folder, ReplacedPlugins::Close);
    let other = plugin(&folder, &mut node, "other.sock", "gpu-9");
    let before = plugin(&folder, &mut node, "gpu.sock", "gpu-0");
    let _after = plugin(&folder, &mut node, "gpu.sock", "gpu-1");
    drop(before);
    assert!(node.settle().is_empty(), "nobody listens to the one before");
    assert!(matches!(ask(&node, "gpu-1"), Reply::Allocated(_)));
    drop(other);
    assert!(node.next().starts_with(&format!("one gone {RESOURCE}")));
    assert!(matches!(ask(&node, "gpu-1"), Reply::Allocated(_)));
}
