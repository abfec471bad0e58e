//! Programs whose page is opened.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context as _, ensure};
use workspace_tools::workspace::target;

/// A process with a page; it is killed when this is dropped.
pub(super) struct Running {
    process: Child,
    pub(super) address: String,
    pub(super) port: u16,
}

impl Running {
    /// `topolet serve` on a built-in machine; port 0 is a free one.
    pub(super) fn serve(node: &Path, config: &Path, port: u16) -> anyhow::Result<Self> {
        Self::serve_machine("xeon-2s-96cpu-sriov", node, config, port)
    }

    /// The same on the machine of that name.
    pub(super) fn serve_machine(
        machine: &str,
        node: &Path,
        config: &Path,
        port: u16,
    ) -> anyhow::Result<Self> {
        let mut command = topolet();
        command.args(["serve", "--log-level", "info", "--machine", machine, "--cgroup-root", "off", "--tcp"]);
        command.arg(format!("127.0.0.1:{port}")).arg("--root").arg(node).arg("--config").arg(config);
        let mut process = command.stderr(Stdio::piped()).spawn().context("failed to start topolet serve")?;
        let log = process.stderr.take().context("there is no log")?;
        let address = first(log, "address=", Some("node is served"))?;
        Self::at(process, format!("http://{address}/"))
    }

    /// `topolet ui`.
    pub(super) fn ui(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut command = topolet();
        command.arg("ui").args(arguments).stderr(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().context("failed to start topolet ui")?;
        let printed = process.stdout.take().context("there is no output")?;
        let address = format!("http://{}", first(printed, "http://", None)?);
        Self::at(process, address)
    }

    /// `topolet scheduler` on a port of this host.
    pub(super) fn scheduler(kubeconfig: &Path, port: u16) -> anyhow::Result<Self> {
        let mut command = topolet();
        command.args(["scheduler", "--insecure-http", "--kubeconfig"]).arg(kubeconfig);
        let address = format!("127.0.0.1:{port}");
        command.args(["--address", &address]).stderr(Stdio::null());
        let process = command.spawn().context("failed to start topolet scheduler")?;
        Self::at(process, format!("http://{address}/"))
    }

    fn at(process: Child, address: String) -> anyhow::Result<Self> {
        let port = address.split(['/', ':']).nth(4).and_then(|port| port.parse().ok());
        let port = port.with_context(|| format!("{address} has no port"))?;
        Ok(Self { process, address, port })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Which build of the program is run; the one for tests by default.
static PROFILE: OnceLock<&str> = OnceLock::new();

/// From now on a release build is run.
pub(super) fn run_release() {
    let _ = PROFILE.set("release");
}

fn topolet() -> Command {
    Command::new(target().join(PROFILE.get().unwrap_or(&"debug")).join("topolet"))
}

/// What stands behind `mark` in a line, once there is a line with `ready` too. The rest is read and left.
fn first(printed: impl Read + Send + 'static, mark: &str, ready: Option<&str>) -> anyhow::Result<String> {
    let mut lines = BufReader::new(printed).lines();
    let mut found = None;
    let mut all = String::new();
    for line in lines.by_ref().map_while(Result::ok) {
        if let Some((_, value)) = line.split_once(mark) {
            found = found.or_else(|| Some(value.trim().to_owned()));
        }
        all.push_str(&line);
        all.push('\n');
        if found.is_some() && ready.is_none_or(|ready| line.contains(ready)) {
            break;
        }
    }
    // A full pipe would stop the process.
    std::thread::spawn(move || lines.for_each(drop));
    found.with_context(|| format!("no line has {mark:?}:\n{all}"))
}

/// A node file: a machine with a kubelet that has pods.
pub(super) fn node_file() -> anyhow::Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("node.tar.zst");
    let mut command = topolet();
    command.args(["capture", "--node", "--machine", "xeon-2s-96cpu-sriov", "--state"]);
    command.arg(workspace_tools::workspace::root().join("fixtures/state/healthy")).arg(&file);
    let output = command.output()?;
    ensure!(output.status.success(), "capture: {}", String::from_utf8_lossy(&output.stderr));
    Ok(std::fs::read(&file)?)
}

/// The built-in machines.
pub(super) fn machines() -> anyhow::Result<Vec<String>> {
    let output = topolet().args(["topology", "--list"]).output()?;
    let names: Vec<String> = String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect();
    ensure!(!names.is_empty(), "there are no built-in machines");
    Ok(names)
}

/// Asks the daemon to admit pods. That it refuses some is an answer.
pub(super) fn apply(node: &Path, pods: &[String]) -> anyhow::Result<()> {
    let mut command = topolet();
    command.arg("apply").arg("--socket").arg(node.join("topolet.sock")).args(["-f", "-"]);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut input = process.stdin.take().context("there is no input")?;
    input.write_all(pods.join("---\n").as_bytes())?;
    drop(input);
    let output = process.wait_with_output()?;
    let printed = String::from_utf8_lossy(&output.stderr);
    ensure!([Some(0), Some(2)].contains(&output.status.code()), "apply: {}\n{printed}", output.status);
    Ok(())
}
