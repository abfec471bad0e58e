//! How much memory many plugins take, counted in pages and not in time. Alone in its process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails that way")]

#[path = "all/support/mod.rs"]
mod support;

use device_manager::Inventory;
use support::plugin::{Plugin, Script, device, register, request};
use support::{Folder, Node};

/// Memory of this process, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse().unwrap()
}

#[test]
fn fifty_plugins_with_ten_thousand_devices_fit_into_64_mib() {
    const PLUGINS: usize = 50;
    const DEVICES: usize = 200;
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let kubelet = folder.kubelet_socket();
    let plugins: Vec<Plugin> = (0..PLUGINS)
        .map(|at| {
            let path = folder.folders().device_plugins.join(format!("{at}.sock"));
            let devices = (0..DEVICES).map(|id| device(&format!("0000:{at:02x}:{id:02x}.{id:030}"), &[0, 1]));
            Plugin::listen(&path, Script::default(), devices.collect())
        })
        .collect();
    let caller = std::thread::spawn(move || {
        for at in 0..PLUGINS {
            register(&kubelet, request(&format!("{at}.sock"), &format!("vendor.io/r{at}"))).unwrap();
        }
    });
    let listed = |inventory: &Inventory| {
        let all = inventory.registered().map(|name| inventory.healthy(name).count());
        all.sum::<usize>() == PLUGINS * DEVICES
    };
    node.until("all have listed", listed);
    caller.join().unwrap();
    // Each lists again, ten times: nothing of the earlier lists is kept.
    for round in 0..10 {
        for plugin in &plugins {
            plugin.list((0..DEVICES).map(|id| device(&format!("{round}-{id:040}"), &[0, 1])).collect());
        }
        let first = format!("{round}-{:040}", 0);
        node.until("all have listed again", |inventory| {
            inventory.registered().all(|name| inventory.healthy(name).any(|id| id.as_str() == first))
        });
    }
    // The plugins are in this process too.
    let resident = resident();
    println!("{resident} KiB");
    assert!(resident <= 64 * 1024, "{resident} KiB");
}
