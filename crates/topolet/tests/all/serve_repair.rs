//! A daemon whose state was damaged while it was away.

use std::fs;
use std::process::Command;

use crate::daemon::{Daemon, Folder, pod};

#[test]
fn torn_state_is_repaired_and_refused_if_that_is_asked_for() {
    let root = Folder::new();
    let read = |name: &str| fs::read_to_string(root.path().join(name)).unwrap();
    let manifest = root.path().join("pod.yaml");
    fs::write(&manifest, pod("dpdk", "cpu: 6, memory: 2Gi")).unwrap();
    let daemon = Daemon::start(root.path(), &["--cgroup-root", "off"]);
    assert!(daemon.topolet(&["apply", "-f", manifest.to_str().unwrap()]).status.success());
    let listed = daemon.pods();
    daemon.kill();
    let before = read("cpu_manager_state");
    fs::write(root.path().join("cpu_manager_state"), &before[..50]).unwrap();

    let refused = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["serve", "--strict", "--machine", "xeon-2s-96cpu-sriov", "--config", "pinned", "--root"])
        .arg(root.path())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    let kubelets = "start cpu manager error: could not restore state from checkpoint: unexpected end of JSON input, \
                    please drain this node and delete the CPU manager checkpoint file";
    assert!(said.contains(kubelets), "{said}");
    assert_eq!(read("cpu_manager_state"), before[..50]);

    let daemon = Daemon::start(root.path(), &["--cgroup-root", "off"]);
    assert_eq!(read("cpu_manager_state"), before, "as the pod's own file has it");
    assert_eq!(read("cpu_manager_state.bak-1"), before[..50]);
    assert_eq!(daemon.pods(), listed);
    let metrics = daemon.get("/metrics").body;
    assert!(metrics.contains("topolet_repairs_total{cause=\"unreadable\"} 1\n"), "{metrics}");
    assert!(metrics.contains("topolet_repairs_total{cause=\"twoOwners\"} 0\n"), "{metrics}");
    assert!(daemon.log().iter().any(|line| line.contains("state is repaired")), "{:?}", daemon.log());
}
