//! Plugins that register again and again: open files are counted, so this is alone in its process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails that way")]

#[path = "all/support/mod.rs"]
mod support;

use device_manager::{DeviceIds, Endpoint, Life, Question, Reply};
use support::plugin::{Plugin, Script, device, register, request};
use support::{Folder, Node};

const RESOURCE: &str = "vendor.io/gpu";

/// What each of two connections takes on both sides, and what a runtime of a test takes while it lasts.
const SLACK: usize = 64;

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn is_running(node: &Node) -> bool {
    matches!(node.inventory.endpoint(&RESOURCE.into()), Some(Endpoint::Plugin { life: Life::Running, .. }))
}

/// Waits until a number of files is open that is not far above `before`, as connections close beside everything else.
fn settles(before: usize) {
    let deadline = std::time::Instant::now() + support::PATIENCE;
    while open_files() > before + SLACK {
        assert!(std::time::Instant::now() < deadline, "{before} files were open, now {}", open_files());
        std::thread::yield_now();
    }
}

#[test]
fn a_plugin_that_registers_again_and_again_keeps_one_connection() {
    const TIMES: usize = 300;
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let plugins = folder.folders().device_plugins;
    let plugin = Plugin::listen(&plugins.join("gpu.sock"), Script::default(), vec![device("gpu-0", &[0])]);
    let silent = Plugin::listen(&plugins.join("silent.sock"), Script::silent(), Vec::new());
    let before = open_files();
    for socket in ["gpu.sock", "silent.sock"] {
        let kubelet = folder.kubelet_socket();
        let caller = std::thread::spawn(move || {
            for _ in 0..TIMES {
                register(&kubelet, request(socket, RESOURCE)).unwrap();
            }
        });
        let mut told = Vec::new();
        while told.iter().filter(|told| **told == format!("registered {RESOURCE}")).count() < TIMES {
            told.push(node.next());
        }
        caller.join().unwrap();
        settles(before);
        told.extend(node.settle());
        assert!(told.iter().all(|told| !told.starts_with("gone")), "nobody is told of it");
    }
    assert!(is_running(&node));
    assert_eq!(node.healthy(RESOURCE), ["gpu-0"]);

    // The one that lists works on beside one that is silent.
    plugin.list(vec![device("gpu-0", &[0]), device("gpu-1", &[1])]);
    node.until("the older one is heard", |inventory| inventory.healthy(&RESOURCE.into()).count() == 2);
    let devices: DeviceIds = ["gpu-1"].into_iter().map(Into::into).collect();
    let question = Question::Allocate { resource: RESOURCE.into(), devices };
    assert!(matches!(node.server.ask(&question), Reply::Allocated(_)));
    // As long as the newer one has not listed, it is closed when the older one goes.
    drop(plugin);
    assert!(node.next().starts_with("gone"));
    assert!(!is_running(&node));
    drop(silent);
}
