//! A daemon that publishes a machine, with pods that the API server knows too.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use fs_err::{self as fs, File};
use local_cluster::Cluster;
use serde_json::Value;
use tempfile::TempDir;
use workspace_tools::client::Client;
use workspace_tools::workspace::target;

use crate::machine_tree::unpack;

/// What it is called at the API server.
const NAME: &str = "worker-1";
/// An object that has not changed for this time is complete.
const SETTLED: Duration = Duration::from_millis(1500);
/// The resource of the device plugin and its number of devices, on NUMA nodes 0 and 1 in turns.
const DEVICES: [&str; 2] = ["example.com/vf", "8"];
/// How long a step may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A daemon and a device plugin; killed when this is dropped.
pub(super) struct Node<'a> {
    cluster: &'a Cluster,
    daemon: Child,
    plugin: Child,
    folder: TempDir,
}

impl<'a> Node<'a> {
    /// Unpacks a built-in machine, starts a daemon on it with a device plugin, and waits until it has published.
    pub(super) fn start(cluster: &'a Cluster, machine: &str, config: &str) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("nfd").tempdir()?;
        unpack(machine, &folder.path().join("machine"))?;
        lay_out_bus(&folder.path().join("machine/sys"))?;
        fs::write(folder.path().join("config.yaml"), config)?;
        let log = File::create(folder.path().join("log"))?;
        let mut daemon = Command::new(target().join("debug/topolet"));
        daemon
            .args([
                "serve",
                "--cgroup-root",
                "off",
                "--publish-nrt",
                "--node-name",
                NAME,
                "--machine",
                machine,
            ])
            .arg("--root")
            .arg(folder.path().join("root"))
            .arg("--config")
            .arg(folder.path().join("config.yaml"))
            .arg("--kubeconfig")
            .arg(cluster.kubeconfig())
            .stdin(Stdio::null())
            .stderr(log.into_file());
        let daemon = daemon.spawn().context("failed to start topolet")?;
        let folders = folder.path().join("root/device-plugins");
        // A plugin ends if it finds no folder for its socket.
        let began = Instant::now();
        while !folders.join("kubelet.sock").exists() {
            ensure!(began.elapsed() < PATIENCE, "topolet does not serve plugins at {}", folders.display());
            thread::sleep(Duration::from_millis(50));
        }
        let mut plugin = Command::new(target().join("debug/examples/plugin"));
        plugin.arg(folders).arg("vf.sock").args(DEVICES);
        let plugin = plugin.stdin(Stdio::null()).stderr(Stdio::null()).spawn();
        let plugin = plugin.context("failed to start a device plugin")?;
        let node = Self { cluster, daemon, plugin, folder };
        let has_devices = |object: &Value| object["zones"].to_string().contains(DEVICES[0]);
        node.until("its object with devices", || Ok(object(cluster, NAME).ok().filter(has_devices)))?;
        Ok(node)
    }

    /// Creates the pods at the API server, and admits them under the same UIDs; those that are refused are deleted.
    pub(super) fn admit(&self, pods: &[(&str, &str)]) -> anyhow::Result<()> {
        for (name, resources) in pods {
            let manifest = format!(
                "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  nodeName: {NAME}\n  containers:\n  \
                 - name: app\n    image: none\n    resources: {{{resources}}}\n"
            );
            self.cluster.apply(&manifest)?;
            let bound = self.cluster.kubectl(&["get", "pod", name, "-o", "json"])?;
            match self.client().ask("POST", "/v1/pods", &bound)? {
                reply if reply.status == 200 => {}
                reply if reply.status == 422 => self.delete(name)?,
                reply => bail!("pod {name}: {} {}", reply.status, reply.body),
            }
        }
        Ok(())
    }

    pub(super) fn client(&self) -> Client {
        Client::of(&self.root())
    }

    /// The object of now: one that has been there for more than the second within which changes go out.
    pub(super) fn published(&self) -> anyhow::Result<Value> {
        let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
        let mut last = object(self.cluster, NAME)?;
        loop {
            thread::sleep(SETTLED);
            let now = object(self.cluster, NAME)?;
            if version(&now) == version(&last) {
                return Ok(now);
            }
            last = now;
        }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    pub(super) fn config(&self) -> PathBuf {
        self.folder.path().join("config.yaml")
    }

    pub(super) fn sysfs(&self) -> PathBuf {
        self.folder.path().join("machine/sys")
    }

    pub(super) fn pod_resources(&self) -> PathBuf {
        self.root().join("pod-resources/kubelet.sock")
    }

    /// Deletes all that the API server has of the node.
    pub(super) fn end(mut self) -> anyhow::Result<()> {
        for process in [&mut self.plugin, &mut self.daemon] {
            process.kill()?;
            process.wait()?;
        }
        self.cluster.kubectl(&["delete", "pods", "--all", "--force"])?;
        self.cluster.kubectl(&["delete", "noderesourcetopologies", "--all"])?;
        Ok(())
    }

    fn delete(&self, pod: &str) -> anyhow::Result<()> {
        self.cluster.kubectl(&["delete", "pod", pod, "--force"]).map(drop)
    }

    fn until<T>(&self, what: &str, is_so: impl Fn() -> anyhow::Result<Option<T>>) -> anyhow::Result<T> {
        let began = Instant::now();
        loop {
            if let Some(found) = is_so()? {
                return Ok(found);
            }
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            ensure!(began.elapsed() < PATIENCE, "{what} does not come; the daemon says:\n{log}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Node<'_> {
    fn drop(&mut self) {
        // They may have ended by themselves.
        for process in [&mut self.plugin, &mut self.daemon] {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The object of a node.
pub(super) fn object(cluster: &Cluster, node: &str) -> anyhow::Result<Value> {
    let text = cluster.kubectl(&["get", "noderesourcetopologies", node, "-o", "json"])?;
    serde_json::from_str(&text).context("kubectl prints no JSON")
}

/// A folder is what the kernel has there: `/sys/bus/node/devices`, which archives of machines lack.
fn lay_out_bus(sysfs: &Path) -> anyhow::Result<()> {
    let nodes = sysfs.join("devices/system/node");
    let bus = sysfs.join("bus/node/devices");
    fs::create_dir_all(&bus)?;
    for entry in fs::read_dir(&nodes)? {
        let name = entry?.file_name();
        let is_node = name
            .to_str()
            .and_then(|name| name.strip_prefix("node"))
            .is_some_and(|id| id.parse::<u32>().is_ok());
        if is_node && !bus.join(&name).exists() {
            symlink(nodes.join(&name), bus.join(&name))?;
        }
    }
    Ok(())
}
