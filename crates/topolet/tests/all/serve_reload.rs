//! A daemon that reads its files again on SIGHUP, and one that makes what it needs.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::daemon::{Daemon, Folder, MACHINE, pod, until};

/// The configuration that is changed.
fn config(policy: &str, cpus: &str) -> String {
    format!(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: {cpus}\n\
         topologyManagerPolicy: {policy}\nreservedSystemCPUs: \"0\"\n"
    )
}

fn hang_up(daemon: &Daemon) {
    assert!(Command::new("kill").args(["-HUP", &daemon.id().to_string()]).status().unwrap().success());
}

fn lines(daemon: &Daemon, part: &str) -> usize {
    daemon.log().iter().filter(|line| line.contains(part)).count()
}

/// The policy that is served; `None` while the daemon starts anew.
fn policy(daemon: &Daemon) -> Option<String> {
    let refused = daemon.try_ask("POST", "/v1/explain", &pod("wide", "cpu: 60, memory: 1Gi"))?;
    let said: serde_json::Value = serde_json::from_str(&refused.body).unwrap();
    said["node"]["topologyPolicy"].as_str().map(str::to_owned)
}

#[test]
fn sighup_reads_the_configuration_again_and_keeps_what_is_held() {
    let (root, folder) = (Folder::new(), Folder::new());
    let file = folder.path().join("config.yaml");
    fs::write(&file, config("restricted", "static")).unwrap();
    let daemon = Daemon::with_config(root.path(), file.to_str().unwrap());
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("kept", "cpu: 4, memory: 1Gi")).status, 200);
    let held = fs::read(root.path().join("cpu_manager_state")).unwrap();
    assert_eq!(policy(&daemon).as_deref(), Some("restricted"));

    fs::write(&file, config("single-numa-node", "static")).unwrap();
    hang_up(&daemon);
    until("a daemon that serves anew", || (lines(&daemon, "node is served") == 2).then_some(()));
    assert_eq!(policy(&daemon).as_deref(), Some("single-numa-node"));
    assert_eq!(fs::read(root.path().join("cpu_manager_state")).unwrap(), held);
    assert!(daemon.get("/v1/pods/default/kept").body.contains("Admitted"));

    // What cannot be had with this state, and what is none, change nothing.
    for (text, part) in [
        (config("single-numa-node", "none"), "differs from state checkpoint policy"),
        (config("single-numa-node", "{"), "config.yaml:"),
    ] {
        fs::write(&file, text).unwrap();
        hang_up(&daemon);
        until(part, || (lines(&daemon, part) == 1).then_some(()));
        assert_eq!(lines(&daemon, "not reloaded, and nothing has changed"), lines(&daemon, "ERROR"));
        assert_eq!(policy(&daemon).as_deref(), Some("single-numa-node"));
    }
    assert!(!daemon.log().iter().any(|line| line.contains("\\x1b") || line.contains('\u{1b}')));
    // Several at once, and one while it starts.
    fs::write(&file, config("best-effort", "static")).unwrap();
    (0..5).for_each(|_| hang_up(&daemon));
    until("the last configuration", || (policy(&daemon)? == "best-effort").then_some(()));
    assert!(daemon.terminate(), "it ends as ever");
}

#[test]
fn init_makes_what_is_missing_and_leaves_what_is_there() {
    let folder = Folder::new();
    let (config, manifests) = (folder.path().join("etc/config.yaml"), folder.path().join("etc/manifests"));
    let start = |root: &Path| {
        let more = ["--init", "--manifests", manifests.to_str().unwrap(), "--log-level", "warn"];
        Daemon::spawn(MACHINE, root, config.to_str().unwrap(), &more)
    };
    let root = folder.path().join("root");
    let daemon = start(&root);
    until("a daemon", || daemon.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    let written = fs::read_to_string(&config).unwrap();
    assert!(written.contains("cpuManagerPolicy: static") && manifests.is_dir(), "{written}");
    assert_eq!(lines(&daemon, "INFO"), 0);
    assert!(daemon.terminate());

    let own = written.replace("restricted", "best-effort");
    fs::write(&config, &own).unwrap();
    let daemon = start(&root);
    until("a daemon", || daemon.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    assert_eq!(fs::read_to_string(&config).unwrap(), own);
}
