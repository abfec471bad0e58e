//! Plugins that take more than their part: pods of others go on.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use crate::daemon::plugin::{Plugin, Script, device, register, request};
use crate::daemon::{Daemon, Folder, pod, until};

/// How long a registration takes at the most that has a place.
const PATIENCE: Duration = Duration::from_secs(15);

/// Registers, and goes on when it is answered or is not going to be.
fn registered(kubelet: &Path, socket: &'static str, resources: impl Iterator<Item = String>) -> Vec<bool> {
    let mut came = Vec::new();
    for resource in resources {
        let (tell, told) = mpsc::channel();
        let kubelet = kubelet.to_path_buf();
        std::thread::spawn(move || {
            // Who waited may have gone.
            let _ = tell.send(register(&kubelet, request(socket, &resource)).is_ok());
        });
        let Ok(is_registered) = told.recv_timeout(PATIENCE) else { break };
        came.push(is_registered);
    }
    came
}

#[test]
fn plugins_that_list_too_much_do_not_stop_other_pods() {
    let folder = Folder::new();
    let daemon = Daemon::start(folder.path(), &[]);
    let plugins = folder.path().join("device-plugins");
    let id = "x".repeat(13_000);
    let large = (0..1000).map(|at| device(&format!("{id}{at}"), &[])).collect();
    let _plugin = Plugin::listen(&plugins.join("large.sock"), Script::default(), large);
    let names = (0..6).map(|at| format!("vendor.io/large{at}"));
    assert_eq!(registered(&plugins.join("kubelet.sock"), "large.sock", names), [true; 6]);
    until("all lists", || {
        let is_list = |line: &&String| line.contains("device plugin list") || line.contains("behind");
        (daemon.log().iter().filter(is_list).count() >= 6).then_some(())
    });
    let reply = daemon.ask("POST", "/v1/pods", &pod("ordinary", "cpu: 1, memory: 1Gi"));
    assert_eq!(reply.status, 200, "{}", reply.body);
    let log = daemon.log().join("\n");
    assert!(log.contains("device plugin lists 1300"), "{log}");
    assert!(log.contains("bytes, more than the 8388608 of one resource"), "{log}");
    let asks = pod("asks", "cpu: 1, memory: 1Gi, vendor.io/large0: 1");
    let explained = daemon.ask("POST", "/v1/explain", &asks);
    let why = "the device plugin of vendor.io/large0 lists 13005890 bytes, more than the 8388608 of one resource: its list \
               counts as empty until it lists fewer";
    assert!(explained.body.contains(why), "{}", explained.body);
    assert!(!explained.body.contains("waiting is of no use"), "{}", explained.body);
}

#[test]
fn state_is_stored_when_plugins_take_all_the_connections_that_they_can() {
    let folder = Folder::new();
    let daemon = Daemon::with_open_files(folder.path(), 96);
    let before = daemon.ask("POST", "/v1/pods", &pod("before", "cpu: 1, memory: 1Gi"));
    assert_eq!(before.status, 200, "{}", before.body);
    let plugins = folder.path().join("device-plugins");
    let _plugin = Plugin::listen(&plugins.join("many.sock"), Script::default(), vec![device("d", &[])]);
    let names = (0..100).map(|at| format!("vendor.io/r{at}"));
    let came = registered(&plugins.join("kubelet.sock"), "many.sock", names);
    let reply = daemon.ask("POST", "/v1/pods", &pod("after", "cpu: 1, memory: 1Gi"));
    assert_eq!(reply.status, 200, "{}", reply.body);
    let deleted = daemon.ask("DELETE", "/v1/pods/default/before", "");
    assert_eq!(deleted.status, 200, "{}", deleted.body);
    assert_eq!(came.iter().filter(|came| **came).count(), 12, "{came:?}");
    assert_eq!(came.len(), 100, "those above are answered");
    let log = daemon.log().join("\n");
    let why =
        "failed to dial device plugin: 12 connections to plugins are open, the most that the open files";
    assert!(log.contains(why), "{log}");
}
