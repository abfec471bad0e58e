//! The processes whose metrics are read.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use workspace_tools::client::Client;
use workspace_tools::workspace::target;

/// Nothing takes so long that works.
pub(super) const PATIENCE: Duration = Duration::from_mins(2);
/// What the device plugin offers.
pub(super) const RESOURCE: &str = "example.com/vf";

/// A process that is killed when this is dropped.
pub(super) struct Process(Child);

impl Process {
    /// What it says goes to `log`.
    pub(super) fn start(command: &mut Command, log: &Path) -> anyhow::Result<Self> {
        let log = File::create(log)?;
        let child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn();
        Ok(Self(child.with_context(|| format!("failed to start {}", command.get_program().display()))?))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A free port on loopback.
pub(super) fn address() -> anyhow::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// `topolet serve`, with its metrics on TCP.
pub(super) struct Topolet {
    pub(super) root: PathBuf,
    pub(super) address: String,
    client: Client,
    _process: Process,
}

impl Topolet {
    /// A node of two NUMA nodes.
    pub(super) fn serve(root: &Path) -> anyhow::Result<Self> {
        Self::start(root, &root.join("topolet.sock"), &["--config", "pinned", "--policy", "single-numa-node"])
    }

    /// One that watches the files of another as those of a kubelet.
    pub(super) fn observe(root: &Path, socket: &Path) -> anyhow::Result<Self> {
        Self::start(root, socket, &["--observe", "--config", "pinned", "--policy", "single-numa-node"])
    }

    fn start(root: &Path, socket: &Path, more: &[&str]) -> anyhow::Result<Self> {
        let address = address()?;
        let mut command = Command::new(target().join("debug/topolet"));
        command.args([
            "serve",
            "--machine",
            "xeon-2s-96cpu-sriov",
            "--cgroup-root",
            "off",
            "--tcp",
            &address,
        ]);
        command.args(more).arg("--root").arg(root).arg("--socket").arg(socket);
        let log = socket.with_extension("log");
        fs_err::create_dir_all(root)?;
        let process = Process::start(&mut command, &log)?;
        let client = Client::at(socket);
        let began = Instant::now();
        while !client.get("/healthz").is_ok_and(|reply| reply.status == 200) {
            ensure!(began.elapsed() < PATIENCE, "topolet does not answer: {} says why", log.display());
            sleep(Duration::from_millis(50));
        }
        Ok(Self { root: root.to_path_buf(), address, client, _process: process })
    }

    /// Whether a pod is admitted.
    pub(super) fn apply(&self, pod: &str) -> anyhow::Result<bool> {
        let reply = self.client.ask("POST", "/v1/pods", pod)?;
        ensure!(matches!(reply.status, 200 | 422), "a pod could not be decided on: {}", reply.json());
        Ok(reply.status == 200)
    }

    pub(super) fn delete(&self, name: &str) -> anyhow::Result<()> {
        let reply = self.client.ask("DELETE", &format!("/v1/pods/default/{name}"), "")?;
        ensure!(reply.status == 200, "pod {name} cannot be deleted: {}", reply.json());
        Ok(())
    }

    pub(super) fn metrics(&self) -> anyhow::Result<String> {
        Ok(self.client.get("/metrics")?.body)
    }

    /// Waits until a series is there.
    pub(super) fn until_metric(&self, start: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        while !self.metrics()?.lines().any(|line| line.starts_with(start)) {
            ensure!(began.elapsed() < PATIENCE, "{start} does not come");
            sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

/// A device plugin of sixteen virtual functions.
pub(super) struct Plugin(#[expect(dead_code, reason = "it runs for as long as this is there")] Process);

impl Plugin {
    pub(super) fn start(root: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(target().join("debug/examples/plugin"));
        command.arg(root.join("device-plugins")).args(["vf.sock", RESOURCE, "16"]);
        Ok(Self(Process::start(&mut command, &root.join("plugin.log"))?))
    }
}
