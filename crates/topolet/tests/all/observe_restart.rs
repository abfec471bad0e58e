//! A kubelet that starts anew with other rules, beside a daemon that watches it. Another daemon stands for the kubelet.

use crate::daemon;
use std::fs;
use std::path::Path;

use crate::daemon::{Daemon, Folder, pod, until};

/// The kubelet's configuration under a policy.
fn config(policy: &str) -> String {
    format!(
        "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: 0,24,48,72
memoryManagerPolicy: Static
evictionHard: {{memory.available: 1Gi}}
reservedMemory:
- {{numaNode: 0, limits: {{memory: 1Gi}}}}
topologyManagerPolicy: {policy}
"
    )
}

/// What the watcher would decide on a pod that no NUMA node has room for.
fn decision(watcher: &Daemon) -> String {
    let reply = watcher.try_ask("POST", "/v1/explain", &pod("wide", "cpu: 48, memory: 1Gi"));
    reply.map(|reply| reply.body).unwrap_or_default()
}

#[test]
fn a_kubelet_that_starts_anew_with_another_configuration_is_watched_by_it() {
    let (root, own) = (Folder::new(), Folder::new());
    let file = root.path().join("config.yaml");
    fs::write(&file, config("restricted")).unwrap();
    let kubelet = |config: &Path| Daemon::start_with(root.path(), config, &own.path().join("kubelet.sock"));
    let first = kubelet(&file);
    assert_eq!(first.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
    let socket = own.path().join("observe.sock");
    let watcher = Daemon::observe(root.path(), &["--socket", socket.to_str().unwrap()]).at(&socket);
    let decides = |what: &str| until(what, || decision(&watcher).contains(what).then_some(()));
    let is_logged = |what: &str| watcher.log().iter().any(|line| line.contains(what));
    decides("TopologyAffinityError");

    // A configuration that has changed means nothing as long as the kubelet runs.
    fs::write(&file, config("best-effort")).unwrap();
    assert_eq!(first.ask("POST", "/v1/pods", &pod("b", "cpu: 2, memory: 1Gi")).status, 200);
    until("another look", || watcher.get("/v1/state").body.contains("default_b").then_some(()));
    assert!(decision(&watcher).contains("TopologyAffinityError"));

    // It starts anew, and its file is spoilt by then.
    assert!(first.terminate());
    let other = own.path().join("other.yaml");
    fs::write(&other, config("best-effort")).unwrap();
    fs::write(&file, "no configuration\n").unwrap();
    let again = kubelet(&other);
    let unknown = "the kubelet has started anew, and its rules are not known";
    until("it is said", || is_logged(unknown).then_some(()));
    assert!(watcher.get("/readyz").body.contains(unknown));

    // Once they can be read, the watcher goes on with them.
    fs::write(&file, config("best-effort")).unwrap();
    decides("\"admitted\": true");
    assert!(is_logged("decides by other rules, which are read"));
    until("it is ready", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    drop(again);
}

#[test]
fn a_start_between_two_writes_of_the_kubelet_waits_for_the_next() {
    let (root, other, own) = (Folder::new(), Folder::new(), Folder::new());
    for (machine, folder) in [(daemon::MACHINE, &root), ("xeon-cxl-4node", &other)] {
        let kubelet = Daemon::on_machine(machine, folder.path());
        assert_eq!(kubelet.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
        assert!(kubelet.terminate());
    }
    // Its shared pool is not what this machine has without the CPUs that pods hold.
    let file = root.path().join("cpu_manager_state");
    let whole = fs::read(&file).unwrap();
    fs::copy(other.path().join("cpu_manager_state"), &file).unwrap();
    let socket = own.path().join("observe.sock");
    let more = ["--socket", socket.to_str().unwrap(), "--config", "pinned"];
    let watcher = Daemon::observe(root.path(), &more).at(&socket);
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(!watcher.log().iter().any(|line| line.contains("node is watched")));
    fs::write(&file, whole).unwrap();
    until("it is ready", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    assert!(watcher.get("/v1/state").body.contains("default_a"));
}
