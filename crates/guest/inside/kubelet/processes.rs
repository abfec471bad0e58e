//! containerd, the kubelet, a device plugin and topolet beside it.

use std::fs::{self, File};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use workspace_tools::client::{Client, Reply};

use super::after;
use super::configuration::Configuration;
use super::facts::{self, KubeletPod, ROOT};
use super::http::http;
use super::upgrade::UpgradePrediction;
use super::wish::{DEVICE, PodWish};
use crate::machine::{Guest, json_of_line};

const MANIFESTS: &str = "/etc/kubernetes/manifests";
/// The configuration of a kubelet in a usual place.
const CONFIG: &str = "/var/lib/kubelet/config.yaml";
const PLUGINS: &str = "/var/lib/kubelet/device-plugins";
const DEVICES: &str = "/etc/devices.yaml";
/// Devices of the plugin.
pub(crate) const COUNT: usize = 6;
/// So many lines of a log are shown.
const LINES: usize = 6;
/// How long a start, a pod or a deletion may take.
const PATIENCE: Duration = Duration::from_mins(5);

/// What runs in the guest; killed when it is dropped.
pub(crate) struct Processes {
    version: String,
    configuration: Configuration,
    devices: DeviceNodes,
    finding: Finding,
    kubelet: Running,
    plugin: Running,
    observer: Observer,
    /// Ended with the guest.
    _containerd: Running,
}

/// On which NUMA nodes the plugin's devices lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DeviceNodes {
    /// On nodes 0 and 1 in turns.
    Both,
    /// All on node 1.
    One,
    /// The plugin gives none.
    None,
}

/// How topolet finds the kubelet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Finding {
    /// Its files, release and devices are arguments.
    Arguments,
    /// By its process, without any argument.
    Process,
}

/// `topolet serve --observe`.
struct Observer {
    process: Running,
    client: Client,
}

/// A process with a log; killed when it is dropped.
pub(super) struct Running(Child, String);

impl Running {
    pub(super) fn start(program: &str, arguments: &[&str]) -> anyhow::Result<Self> {
        let name = program.rsplit('/').next().unwrap_or(program);
        let path = format!("/var/log/{name}.log");
        let log = File::options().create(true).append(true).open(&path).context("failed to open a log")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(Self(command.spawn().with_context(|| format!("failed to start {program}"))?, path))
    }

    /// Asks it to end, and waits until it has.
    pub(super) fn stop(&mut self) -> anyhow::Result<()> {
        busybox(&["kill", "-TERM", &self.0.id().to_string()])?;
        let began = Instant::now();
        while self.0.try_wait().context("failed to wait for a process")?.is_none() {
            ensure!(began.elapsed() < PATIENCE, "it does not end: {}", self.end());
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Kills it where it stands.
    pub(super) fn end_now(&mut self) -> anyhow::Result<()> {
        self.0.kill().context("failed to kill a process")?;
        self.0.wait().context("failed to wait for a process")?;
        Ok(())
    }

    /// The last lines of its log.
    pub(super) fn end(&self) -> String {
        last_lines(&fs::read_to_string(&self.1).unwrap_or_default())
    }

    /// If it has ended: that, and its last lines.
    pub(super) fn why_ended(&mut self) -> Option<String> {
        let status = self.0.try_wait().ok().flatten()?;
        let name = self.1.trim_start_matches("/var/log/").trim_end_matches(".log");
        Some(format!("{name} has ended: {status}\n{}", self.end()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Processes {
    pub(crate) fn start(
        guest: &Guest,
        version: &str,
        configuration: Configuration,
        finding: Finding,
    ) -> anyhow::Result<Self> {
        network()?;
        let list: String =
            (0..COUNT).map(|at| format!("  - {{id: fn.sock-{at}, nodes: [{}]}}\n", at % 2)).collect();
        fs::write(DEVICES, format!("devices:\n- resource: {DEVICE}\n  list:\n{list}"))?;
        let containerd = start_containerd()?;
        configure(guest, &configuration)?;
        let kubelet = start_kubelet(version, &configuration, &[])?;
        let devices = DeviceNodes::Both;
        let plugin = start_plugin(devices)?;
        let observer = Observer::start(version, finding)?;
        let version = version.to_owned();
        Ok(Self {
            version,
            configuration,
            devices,
            finding,
            kubelet,
            plugin,
            observer,
            _containerd: containerd,
        })
    }

    /// Kills the kubelet, and starts it again.
    pub(crate) fn restart(&mut self) -> anyhow::Result<()> {
        self.kubelet.end_now()?;
        self.start_again()
    }

    /// Starts a kubelet that has ended.
    pub(crate) fn start_again(&mut self) -> anyhow::Result<()> {
        self.kubelet = start_kubelet(&self.version, &self.configuration, &[])?;
        // A kubelet removes the sockets of plugins when it starts, so that they have to listen again.
        self.plugin = start_plugin(self.devices)?;
        Ok(())
    }

    /// Kills the kubelet, and starts it until it ends: the last lines of its log.
    pub(crate) fn fails_to_restart(&mut self) -> anyhow::Result<String> {
        self.kubelet.end_now()?;
        self.kubelet = spawn_kubelet(&self.version, &self.configuration, &[])?;
        until("the end of the kubelet", || self.kubelet.why_ended())
    }

    /// Restarts kubelet and plugin with another configuration, and with devices on other NUMA nodes.
    pub(crate) fn replace(
        &mut self,
        guest: &Guest,
        configuration: Configuration,
        devices: DeviceNodes,
    ) -> anyhow::Result<()> {
        self.devices = devices;
        self.reconfigure(guest, configuration)?;
        self.observer.process.end_now()?;
        self.observer = Observer::start(&self.version, self.finding)?;
        Ok(())
    }

    /// Restarts it with another configuration.
    pub(crate) fn reconfigure(&mut self, guest: &Guest, configuration: Configuration) -> anyhow::Result<()> {
        configure(guest, &configuration)?;
        self.configuration = configuration;
        self.restart()
    }

    /// Kills the kubelet, and starts another release with its files and containers.
    pub(crate) fn change_release(&mut self, release: &str) -> anyhow::Result<()> {
        release.clone_into(&mut self.version);
        self.observer.process.end_now()?;
        self.restart()?;
        self.observer = Observer::start(release, self.finding)?;
        Ok(())
    }

    /// All that the kubelet has logged.
    pub(crate) fn kubelet_log(&self) -> anyhow::Result<String> {
        let path = &self.kubelet.1;
        let bytes = fs::read(path).with_context(|| format!("failed to read {path}"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Of the kubelet that runs.
    pub(crate) const fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Of the plugin that runs.
    pub(crate) const fn devices(&self) -> DeviceNodes {
        self.devices
    }

    /// What topolet predicts for a pod: the decision of `topolet admit`.
    pub(crate) fn ask(&self, wish: &PodWish) -> anyhow::Result<Value> {
        let listed;
        let mut more = Vec::new();
        if self.finding == Finding::Arguments {
            listed = list_of_pods()?;
            more.extend(["--state", ROOT, "--config", CONFIG, "--kubelet", &self.version]);
            more.extend(["--devices", DEVICES]);
            more.extend(listed);
        }
        Ok(admit(wish, &more)?["decisions"][0].clone())
    }

    /// What topolet predicts that another release does with the node's files and pods: `topolet upgrade check`.
    pub(crate) fn ask_upgrade(&self, to: &str) -> anyhow::Result<UpgradePrediction> {
        let listed = list_of_pods()?;
        let arguments = ["upgrade", "check", "--from", &self.version, "--to", to, "--state", ROOT];
        let more = ["--config", CONFIG, "--devices", DEVICES, "-o", "json"];
        let output = Command::new("/bin/topolet").args(arguments).args(more).args(listed).output()?;
        let error = || String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(UpgradePrediction(json_of_line(&String::from_utf8_lossy(&output.stdout)).with_context(error)?))
    }

    /// Gives the kubelet a pod's manifest, as a whole.
    #[expect(clippy::unused_self, reason = "to a kubelet that runs")]
    pub(crate) fn put(&self, wish: &PodWish) -> anyhow::Result<()> {
        let (hidden, file) =
            (format!("{MANIFESTS}/.{}", wish.name), format!("{MANIFESTS}/{}.json", wish.name));
        fs::write(&hidden, wish.manifest().to_string())?;
        Ok(fs::rename(hidden, file)?)
    }

    /// Takes it away, and waits until the kubelet lists it no more and its CPUs are free.
    #[expect(clippy::unused_self, reason = "from a kubelet that runs")]
    pub(crate) fn take(&self, pod: &str) -> anyhow::Result<()> {
        let uid = facts::pods()?.find(pod).map(|actual| actual.uid).unwrap_or_default();
        fs::remove_file(format!("{MANIFESTS}/{pod}.json"))?;
        let name = facts::of_static_pod(pod);
        until(&format!("deletion of {pod}"), || facts::is_gone(&name, &uid).ok()?.then_some(()))
    }

    /// Waits until a pod runs or has failed.
    pub(crate) fn wait_for(&self, pod: &str) -> anyhow::Result<KubeletPod> {
        let at_rest = || {
            let actual = facts::pods().ok()?.find(pod)?;
            // The phase of a pod whose containers have all started.
            (actual.phase == "Failed" || actual.is_running()).then_some(actual)
        };
        until(&format!("pod {pod}"), at_rest).with_context(|| self.kubelet.end())
    }

    /// What `serve --observe` lists.
    pub(crate) fn observed(&self) -> anyhow::Result<Value> {
        Ok(self.answer("/v1/state")?.json())
    }

    /// It answers, once it has started anew with the kubelet's rules.
    fn answer(&self, path: &str) -> anyhow::Result<Reply> {
        until("serve --observe", || self.observer.client.get(path).ok())
            .with_context(|| self.observer.process.end())
    }

    /// What it has to say of the kubelet's refusal of a pod, once it says anything.
    pub(crate) fn explained(&self, pod: &str) -> anyhow::Result<Value> {
        let name = format!("default/{pod}-node1");
        let found = || {
            let all = self.observer.client.get("/v1/decisions").ok()?.json();
            let mut decisions = all["decisions"].as_array()?.iter().rev();
            decisions.find(|decision| decision["pod"] == *name).cloned()
        };
        until(&format!("an explanation of {pod}"), found).with_context(|| self.observer.process.end())
    }

    /// A number that it counts.
    pub(crate) fn counted(&self, metric: &str) -> anyhow::Result<f64> {
        let text = self.answer("/metrics")?.body;
        let line = text.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
        line.and_then(|value| value.parse().ok()).with_context(|| format!("{metric} is not counted"))
    }
}

impl Observer {
    fn start(release: &str, finding: Finding) -> anyhow::Result<Self> {
        let sources = ["--root", ROOT, "--config", CONFIG, "--kubelet", release, "--devices", DEVICES];
        let sources = if finding == Finding::Arguments { &sources[..] } else { &[] };
        fs::create_dir_all("/run/observe")?;
        let socket = ["--socket", "/run/observe/topolet.sock"];
        // This kubelet answers every client; before 1.37 it lists its pods there alone.
        fs::write("/run/observe/token", "any\n")?;
        let pods = ["--kubelet-url", "https://127.0.0.1:10250", "--kubelet-token-file", "/run/observe/token"];
        let arguments = [&["serve", "--observe"], sources, &socket, &pods].concat();
        let process = Running::start("/bin/topolet", &arguments)?;
        let client = Client::of(Path::new("/run/observe"));
        until("serve --observe", || {
            client.get("/readyz").is_ok_and(|reply| reply.status == 200).then_some(())
        })
        .with_context(|| process.end())?;
        Ok(Self { process, client })
    }
}

/// What `topolet admit` prints of a static pod.
pub(crate) fn admit(wish: &PodWish, more: &[&str]) -> anyhow::Result<Value> {
    fs::write("/run/asked.json", wish.manifest().to_string())?;
    let arguments = ["admit", "-f", "/run/asked.json", "--static", "-o", "json"];
    let output = Command::new("/bin/topolet").args(arguments).args(more).output()?;
    let error = || String::from_utf8_lossy(&output.stderr).into_owned();
    json_of_line(&String::from_utf8_lossy(&output.stdout)).with_context(error)
}

/// Writes what the kubelet lists for topolet, and returns the arguments that name it.
fn list_of_pods() -> anyhow::Result<[&'static str; 2]> {
    const FILE: &str = "/run/pods.json";
    fs::write(FILE, facts::pods()?.0.to_string())?;
    Ok(["--pods", FILE])
}

/// Loopback, with an address that the node can have.
pub(super) fn network() -> anyhow::Result<()> {
    for arguments in [&["link", "set", "lo", "up"][..], &["addr", "add", "10.0.0.2/32", "dev", "lo"]] {
        busybox(&[&["ip"], arguments].concat())?;
    }
    Ok(())
}

/// containerd, with the image of all pods.
pub(super) fn start_containerd() -> anyhow::Result<Running> {
    let containerd = Running::start("/bin/containerd", &[])?;
    until("containerd", || UnixStream::connect("/run/containerd/containerd.sock").is_ok().then_some(()))
        .with_context(|| containerd.end())?;
    import("/images/test.tar").with_context(|| containerd.end())?;
    Ok(containerd)
}

/// Gives containerd an image.
pub(super) fn import(archive: &str) -> anyhow::Result<()> {
    let import = ["-n", "k8s.io", "images", "import", "--snapshotter", "native", "--local", archive];
    let status = Command::new("/bin/ctr").args(import).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "the image {archive} cannot be imported");
    Ok(())
}

/// A kubelet with a configuration and more arguments, as a process.
fn spawn_kubelet(version: &str, configuration: &Configuration, more: &[&str]) -> anyhow::Result<Running> {
    // That of the kubelet before, which `start_plugin` would take for the next one's.
    let _ = fs::remove_file(format!("{PLUGINS}/kubelet.sock"));
    let own = configuration.arguments();
    // From verbosity 3 on it logs the events that it cannot send.
    let mut arguments = vec!["--hostname-override=node1", "--node-ip=10.0.0.2", "--v=3"];
    arguments.extend(own.iter().map(String::as_str));
    arguments.extend(more);
    Running::start(&format!("/bin/kubelet-{version}"), &arguments)
}

/// The same once it lists pods.
pub(super) fn start_kubelet(
    version: &str,
    configuration: &Configuration,
    more: &[&str],
) -> anyhow::Result<Running> {
    let mut kubelet = spawn_kubelet(version, configuration, more)?;
    let began = Instant::now();
    loop {
        if http(10248, "/healthz").is_ok_and(|answer| answer == "ok") && http(10255, "/pods").is_ok() {
            return Ok(kubelet);
        }
        if let Some(why) = kubelet.why_ended() {
            bail!("{why}");
        }
        ensure!(began.elapsed() < PATIENCE, "the kubelet is not healthy: {}", kubelet.end());
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Starts the device plugin beside a kubelet that listens for plugins, and waits until its devices are there.
fn start_plugin(nodes: DeviceNodes) -> anyhow::Result<Running> {
    until("the kubelet's socket for plugins", || {
        UnixStream::connect(format!("{PLUGINS}/kubelet.sock")).ok()
    })?;
    let nodes = match nodes {
        DeviceNodes::Both => "0,1",
        DeviceNodes::One => "1",
        DeviceNodes::None => "none",
    };
    let plugin = Running::start("/bin/plugin", &[PLUGINS, "fn.sock", DEVICE, &COUNT.to_string(), nodes])?;
    until("the device plugin's devices", || {
        let output = Command::new("/bin/probe").arg("podresources").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        after(&text, "ALLOCATABLE ")?.contains(DEVICE).then_some(())
    })?;
    Ok(plugin)
}

/// Writes the files of a configuration.
pub(super) fn configure(guest: &Guest, configuration: &Configuration) -> anyhow::Result<()> {
    for (path, text) in configuration.files(guest)? {
        fs::create_dir_all(Path::new(&path).parent().unwrap_or(Path::new("/")))?;
        fs::write(&path, text).with_context(|| format!("failed to write {path}"))?;
    }
    Ok(())
}

/// The last lines of a log.
pub(super) fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

fn busybox(arguments: &[&str]) -> anyhow::Result<()> {
    let status = Command::new("/bin/busybox").args(arguments).status().context("no busybox")?;
    ensure!(status.success(), "busybox {} failed", arguments.join(" "));
    Ok(())
}

/// Waits until something is there.
pub(super) fn until<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> anyhow::Result<T> {
    let began = Instant::now();
    loop {
        if let Some(value) = check() {
            return Ok(value);
        }
        ensure!(began.elapsed() < PATIENCE, "{what} took longer than {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}
