//! What `kubectl describe pod` shows of a pod that a kubelet refused, in a cluster with a real API server.
//!
//! One daemon stands for the kubelet: it decides and writes the kubelet's files. This program writes the status that a
//! kubelet would. A second daemon watches, and writes the event.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use local_cluster::{Cluster, Parts, Programs, RELEASE, WATCHER, WATCHER_RIGHTS};
use serde_json::{Value, json};
use workspace_tools::client::Client;
use workspace_tools::control_plane;
use workspace_tools::workspace::{build, target};

const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: worker-1}}";
const MACHINE: &str = "xeon-2s-96cpu-sriov";
const PATIENCE: Duration = Duration::from_mins(1);

/// A daemon; it ends with this.
struct Daemon(Child, Client);

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What kubectl prints.
pub(super) fn text(work: &Path) -> anyhow::Result<String> {
    build(&["topolet"])?;
    control_plane::build(RELEASE)?;
    let cluster = Cluster::start(&Programs::built(&target(), RELEASE)?, Parts::Storage)?;
    cluster.apply(&format!("{WATCHER_RIGHTS}{NODE}"))?;
    let agent = cluster.kubeconfig_of(WATCHER, Duration::from_hours(1))?.display().to_string();
    let kubelet = start(work, "kubelet", &[])?;
    admit(&cluster, &kubelet, "forwarder", "cpu: 44, memory: 16Gi")?;
    let watch = ["--observe", "--node-name", "worker-1", "--kubeconfig", &agent];
    let watcher = start(work, "watcher", &watch)?;
    until("the watcher knows the pod", || {
        Ok(watcher.1.get("/v1/pods?output=table")?.body.contains("forwarder").then_some(()))
    })?;
    let refusal = admit(&cluster, &kubelet, "inference", "cpu: 48, memory: 32Gi")?;
    ensure!(
        refusal["reason"] == "TopologyAffinityError",
        "the pod is not refused as it should be: {refusal}"
    );
    until("the event", || {
        let text = cluster.kubectl(&["describe", "pod", "inference"])?;
        Ok(text.contains("would fit").then_some(text))
    })
}

/// Starts `topolet serve` for the node.
fn start(work: &Path, name: &str, more: &[&str]) -> anyhow::Result<Daemon> {
    let (root, socket) = (work.join("root"), work.join(format!("{name}.sock")));
    fs::create_dir_all(&root)?;
    let mut command = Command::new(target().join("debug/topolet"));
    command.args(["serve", "--machine", MACHINE, "--config", "pinned", "--cgroup-root", "off"]).args(more);
    command.arg("--root").arg(&root).arg("--socket").arg(&socket).stdout(Stdio::null());
    command.stderr(File::create(work.join(format!("{name}.log")))?);
    let daemon = Daemon(command.spawn().context("failed to start topolet")?, Client::at(&socket));
    until(name, || Ok(daemon.1.get("/readyz").is_ok_and(|reply| reply.status == 200).then_some(())))?;
    Ok(daemon)
}

/// Creates the pod, has the daemon decide on it, and writes the status that a kubelet writes then. Gives the refusal.
fn admit(cluster: &Cluster, kubelet: &Daemon, name: &str, limits: &str) -> anyhow::Result<Value> {
    cluster.apply(&format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  nodeName: worker-1\n  containers:\n  \
         - name: app\n    image: registry.example/{name}:1\n    resources: {{limits: {{{limits}}}}}\n"
    ))?;
    let pod = cluster.kubectl(&["get", "pod", name, "-o", "json"])?;
    let decided = kubelet.1.ask("POST", "/v1/pods", &pod)?.json();
    let refusal = decided["decisions"][0]["refusal"].clone();
    let status = match refusal["message"].as_str() {
        None => {
            json!({"phase": "Running", "containerStatuses": [{"name": "app", "image": "none", "imageID": "",
            "ready": true, "restartCount": 0, "containerID": "containerd://0aa1"}]})
        }
        Some(message) => json!({"phase": "Failed", "reason": refusal["reason"],
            "message": format!("Pod was rejected: {message}")}),
    };
    let patch = json!({"status": status}).to_string();
    cluster.kubectl(&["patch", "pod", name, "--subresource=status", "--type=merge", "-p", &patch])?;
    Ok(refusal)
}

fn until<T>(what: &str, mut look: impl FnMut() -> anyhow::Result<Option<T>>) -> anyhow::Result<T> {
    let began = Instant::now();
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        ensure!(began.elapsed() < PATIENCE, "after {PATIENCE:?} still not: {what}");
        thread::sleep(Duration::from_millis(100));
    }
}
