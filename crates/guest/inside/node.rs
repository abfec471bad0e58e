//! `topolet serve` in the guest: its process, and its HTTP API as the tests use it.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use cpuset::CpuSet;
use serde_json::{Value, json};
use workspace_tools::client::{Client, Reply};

use crate::machine::Guest;

/// A start that takes longer has failed.
const START: Duration = Duration::from_mins(1);

/// Part of the line with which the daemon ends itself when the kernel hangs in a write.
const HANGS: &str = "the kernel does not end a write";
/// How often that has happened.
static HUNG: AtomicUsize = AtomicUsize::new(0);

/// A running daemon; killed when it is dropped. When it has ended itself since the kernel hung, it is started again with the
/// next request, as systemd would.
pub(crate) struct Node {
    root: PathBuf,
    /// More arguments of its command line.
    more: Vec<String>,
    child: Mutex<Child>,
    client: Client,
}

/// A pod to be requested, with one container named `c`.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) name: String,
    /// In thousandths of a CPU.
    pub(crate) cpu: usize,
    /// In MiB.
    pub(crate) memory: u64,
    /// Pages of 2 MiB.
    pub(crate) huge_pages: u64,
    /// Whether it may be moved while it runs.
    pub(crate) is_live: bool,
}

/// What a pod holds, as the daemon lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Holding {
    pub(crate) pod: String,
    /// Empty where it shares CPUs.
    pub(crate) cpus: CpuSet,
    /// NUMA nodes of its memory and huge pages; empty if they are bound to none.
    pub(crate) nodes: CpuSet,
}

impl Wish {
    pub(crate) fn new(name: &str, cpu: usize, memory: u64) -> Self {
        Self { name: name.to_owned(), cpu, memory, huge_pages: 0, is_live: false }
    }

    fn manifest(&self) -> Value {
        let mut limits = json!({"cpu": format!("{}m", self.cpu), "memory": format!("{}Mi", self.memory)});
        if self.huge_pages > 0 {
            limits["hugepages-2Mi"] = json!(format!("{}Mi", 2 * self.huge_pages));
        }
        let mut metadata = json!({"name": self.name, "namespace": "default"});
        if self.is_live {
            metadata["annotations"] = json!({"topolet.dev/move": "live"});
        }
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"containers": [{"name": "c", "image": "none", "resources": {"limits": limits}}]}})
    }
}

impl Node {
    /// Starts a daemon with an empty folder.
    pub(crate) fn fresh(guest: &Guest, name: &str) -> anyhow::Result<Self> {
        let root = Path::new("/run/nodes").join(name);
        let _ = fs::remove_dir_all(&root);
        Self::start(guest, &root)
    }

    /// The same with a `TopoletConfiguration`.
    pub(crate) fn fresh_with(guest: &Guest, name: &str, options: &str) -> anyhow::Result<Self> {
        const FILE: &str = "/etc/own.yaml";
        let root = Path::new("/run/nodes").join(name);
        let _ = fs::remove_dir_all(&root);
        fs::write(FILE, options).with_context(|| format!("failed to write {FILE}"))?;
        Self::start_with(guest, &root, &["--topolet-config", FILE])
    }

    /// Starts a daemon with the state in a folder, and waits until it is ready.
    ///
    /// # Errors
    /// It does not become ready; the error has its log.
    pub(crate) fn start(guest: &Guest, root: &Path) -> anyhow::Result<Self> {
        Self::start_with(guest, root, &[])
    }

    /// The same with more arguments.
    ///
    /// # Errors
    /// It does not become ready; the error has its log.
    pub(crate) fn start_with(guest: &Guest, root: &Path, more: &[&str]) -> anyhow::Result<Self> {
        configure(guest, root)?;
        let more: Vec<String> = more.iter().map(|word| (*word).to_owned()).collect();
        let child = Mutex::new(spawn(root, &more)?);
        let node = Self { root: root.to_path_buf(), more, child, client: Client::of(root) };
        node.until_ready()?;
        Ok(node)
    }

    fn until_ready(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        while !self.client.get("/readyz").is_ok_and(|reply| reply.status == 200) {
            if let Some(status) = self.child().try_wait()? {
                bail!("topolet ended at its start with {status}: {}", self.log());
            }
            ensure!(began.elapsed() < START, "topolet is not ready after {START:?}: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn child(&self) -> std::sync::MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request; once more if the daemon has ended itself before it.
    fn ask(&self, method: &str, path: &str, body: &str) -> anyhow::Result<Reply> {
        let answer = self.client.ask(method, path, body);
        if answer.is_err() && self.has_ended_itself()? {
            HUNG.fetch_add(1, Ordering::Relaxed);
            let child = spawn(&self.root, &self.more)?;
            *self.child() = child;
            self.until_ready()?;
            return self.client.ask(method, path, body).context("no answer after a start");
        }
        answer.context("no answer")
    }

    fn has_ended_itself(&self) -> anyhow::Result<bool> {
        let status = self.child().try_wait()?;
        let is_killed = status.is_some_and(|status| status.signal() == Some(nix::libc::SIGKILL));
        Ok(is_killed && self.log().contains(HANGS))
    }

    /// How often a daemon of this guest has ended itself since the kernel hung in a write.
    pub(crate) fn hung() -> usize {
        HUNG.load(Ordering::Relaxed)
    }

    /// Starts a daemon with `--strict`, which has to refuse its folder; returns its log.
    pub(crate) fn refuses_to_start(guest: &Guest, root: &Path) -> anyhow::Result<String> {
        configure(guest, root)?;
        let mut child = spawn(root, &["--strict".to_owned()])?;
        let began = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                ensure!(!status.success(), "topolet ended well");
                return Ok(log(root));
            }
            if began.elapsed() > START {
                let _ = child.kill();
                let _ = child.wait();
                bail!("topolet serves a folder that it should refuse: {}", log(root));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Kills it with SIGKILL; returns its folder, which stays.
    pub(crate) fn kill(self) -> anyhow::Result<PathBuf> {
        self.child().kill().context("failed to kill topolet")?;
        self.child().wait().context("failed to wait for topolet")?;
        Ok(self.root.clone())
    }

    /// Requests a pod, and fails unless it is admitted.
    pub(crate) fn admit(&self, wish: &Wish) -> anyhow::Result<Holding> {
        let reply = self.ask("POST", "/v1/pods", &wish.manifest().to_string())?;
        let decision = &reply.json()["decisions"][0];
        ensure!(decision["admitted"] == true, "{wish:?} is not admitted: {}", reply.body);
        self.holding(&wish.name)
    }

    /// Requests a pod, and returns the HTTP status and the body of the answer, whatever they are.
    pub(crate) fn request(&self, wish: &Wish) -> anyhow::Result<(u16, String)> {
        let reply = self.ask("POST", "/v1/pods", &wish.manifest().to_string())?;
        Ok((reply.status, reply.body))
    }

    /// Has other pods moved so that this one fits, and fails unless it is admitted; returns the pods that moved.
    pub(crate) fn repack(&self, wish: &Wish) -> anyhow::Result<Vec<Value>> {
        let manifest = wish.manifest().to_string();
        let reply = self.ask("POST", "/v1/repack", &manifest)?;
        let moved = reply.json()["applied"]["moved"].as_array().cloned();
        moved
            .filter(|_| reply.status == 200)
            .with_context(|| format!("{wish:?} is not admitted: {}", reply.body))
    }

    /// The same in a thread, which returns the HTTP status; `None`: the connection ended without an answer.
    pub(crate) fn repack_in_thread(&self, wish: &Wish) -> JoinHandle<Option<u16>> {
        let (client, manifest) = (self.client.clone(), wish.manifest().to_string());
        std::thread::spawn(move || client.ask("POST", "/v1/repack", &manifest).ok().map(|reply| reply.status))
    }

    /// What a pod holds.
    pub(crate) fn holding(&self, pod: &str) -> anyhow::Result<Holding> {
        let mut held = self.holdings()?.into_iter();
        held.find(|own| own.pod == pod).with_context(|| format!("{pod} is not listed"))
    }

    pub(crate) fn delete(&self, pod: &str) -> anyhow::Result<()> {
        let reply = self.ask("DELETE", &format!("/v1/pods/default/{pod}"), "")?;
        ensure!(reply.status == 200, "pod {pod} is not deleted: {}", reply.body);
        Ok(())
    }

    /// Resizes a pod's container to so many CPUs and MiB; the inner `Err` is the body with which the node refuses.
    pub(crate) fn resize(&self, pod: &str, cpus: usize, memory: u64) -> anyhow::Result<Result<(), String>> {
        let amounts = json!({"cpu": cpus.to_string(), "memory": format!("{memory}Mi")});
        let resources = json!({"requests": amounts, "limits": amounts});
        let body = json!({"spec": {"containers": [{"name": "c", "resources": resources}]}}).to_string();
        let path = format!("/v1/pods/default/{pod}/resize");
        let reply = self.ask("PATCH", &path, &body)?;
        Ok(if reply.status == 200 { Ok(()) } else { Err(reply.body) })
    }

    /// Reports to the daemon that a pod's container has started, by its process.
    pub(crate) fn started(&self, pod: &str, process: u32) -> anyhow::Result<()> {
        let path = format!("/v1/pods/default/{pod}/containers/c/started");
        let body = json!({"id": format!("{pod}-1"), "pid": process}).to_string();
        let reply = self.ask("POST", &path, &body)?;
        ensure!(reply.status == 200, "container of {pod} is not taken: {}", reply.body);
        Ok(())
    }

    /// The text of `/readyz`, while it is ready.
    pub(crate) fn ready(&self) -> anyhow::Result<String> {
        let reply = self.ask("GET", "/readyz", "")?;
        ensure!(reply.status == 200, "it is not ready: {}", reply.body);
        Ok(reply.body)
    }

    /// The value of a metric without labels.
    pub(crate) fn metric(&self, name: &str) -> anyhow::Result<f64> {
        let reply = self.ask("GET", "/metrics", "")?;
        let value = reply.body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(value.with_context(|| format!("there is no metric {name}"))?.parse()?)
    }

    /// What every pod holds, by name.
    pub(crate) fn holdings(&self) -> anyhow::Result<Vec<Holding>> {
        let reply = self.ask("GET", "/v1/pods", "")?;
        let pods = reply.json();
        let mut held = Vec::new();
        for pod in pods["pods"].as_array().with_context(|| format!("no pods: {}", reply.body))? {
            let container = &pod["containers"][0];
            let memory = container["memory"].as_array().into_iter().flatten();
            let nodes: Vec<&str> = memory.filter_map(|block| block["nodes"].as_str()).collect();
            held.push(Holding {
                pod: pod["name"].as_str().unwrap_or_default().to_owned(),
                cpus: container["exclusiveCpus"].as_str().unwrap_or_default().parse()?,
                nodes: nodes.join(",").parse()?,
            });
        }
        held.sort_by(|a, b| a.pod.cmp(&b.pod));
        Ok(held)
    }

    /// Its log so far.
    pub(crate) fn log(&self) -> String {
        log(&self.root)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child().kill();
        let _ = self.child().wait();
    }
}

/// Checks that no CPU has two holders.
///
/// # Errors
/// Some CPU has.
pub(crate) fn disjoint(held: &[Holding]) -> anyhow::Result<()> {
    let mut all = CpuSet::new();
    for own in held {
        ensure!(own.cpus.is_disjoint(&all), "CPUs of {} have another owner too: {held:?}", own.pod);
        all = &all | &own.cpus;
    }
    Ok(())
}

fn configure(guest: &Guest, root: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(root).with_context(|| format!("failed to make {}", root.display()))?;
    fs::write("/etc/node.yaml", guest.configuration()).context("failed to write /etc/node.yaml")
}

fn spawn(root: &Path, more: &[String]) -> anyhow::Result<Child> {
    let log = File::create(log_file(root)).context("failed to make a log")?;
    let mut command = Command::new("/bin/topolet");
    command.args(["serve", "--config", "/etc/node.yaml", "--root"]).arg(root).args(more);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.spawn().context("failed to start topolet")
}

fn log_file(root: &Path) -> PathBuf {
    let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Path::new("/run").join(format!("{name}.log"))
}

fn log(root: &Path) -> String {
    fs::read_to_string(log_file(root)).unwrap_or_default()
}
