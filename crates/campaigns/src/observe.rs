//! `cargo xtask observe`: what watching a kubelet's node costs, and whether anything is written there.
//!
//! One daemon stands for the kubelet: it decides on pods and writes the kubelet's files. This program is its pods API:
//! it tells of 500 pods that run, of a steady number that come and go, and of those that are refused. A second daemon
//! watches (`topolet serve --observe`), and is what is measured: its share of a core, its memory, and how long after the
//! kubelet's word of a refusal its explanation is out, as a client of `GET /v1/events` sees it. With `--trace` its
//! system calls are read instead, and none may change anything below the kubelet's root.

mod trace;

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use fs_err::{self as fs, File};
use parking_lot::Mutex;
use pods_api::{KubeletPod, PodsServer, SOCKET};
use serde_json::{Value, json};
use workspace_tools::client::{Client, Request};
use workspace_tools::debian;
use workspace_tools::workspace::{cargo, run, target};

use self::trace::Trace;
use crate::reliability::{self, percentile};
use crate::soak::minutes;
use crate::usage::Usage;

/// Measures `topolet serve --observe` beside 500 pods and a steady stream of refusals.
#[derive(Debug, clap::Args)]
pub(crate) struct Observe {
    /// How long, in minutes; parts of one are possible.
    #[arg(long, default_value_t = 10.0, value_parser = minutes)]
    minutes: f64,
    /// Refusals a minute.
    #[arg(long, default_value_t = 110, value_parser = clap::value_parser!(u32).range(1..=6000))]
    refusals: u32,
    /// Pods that run.
    #[arg(long, default_value_t = 500)]
    pods: usize,
    /// Reads all system calls of the daemon that watches, and fails if one changes something below the kubelet's root.
    /// Nothing is measured then.
    #[arg(long)]
    trace: bool,
    /// Installs strace first, if it is missing.
    #[arg(long)]
    install: bool,
    /// Writes the figures to docs/reliability.
    #[arg(long)]
    write: bool,
}

/// Pods with exclusive CPUs: all CPUs but a few.
const PINNED: usize = 44;
/// Every second one of the first of them leaves, so that some CPUs are free on each NUMA node.
const LEFT: usize = 40;
/// The first of them are on NUMA node 0. Of those that stay one leaves every two seconds, and comes back to where it was.
const ON_FIRST_NODE: usize = 22;
/// What they ask for.
const OWN: &str = "cpu: 2, memory: 1Gi";
/// A refused pod is deleted after so long.
const DELETED: Duration = Duration::from_mins(1);
/// How often what the daemon uses is looked at.
const SAMPLE: Duration = Duration::from_secs(1);
/// How long a start and a last explanation may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The node's rules: static managers that pin, and room for many pods.
const CONFIG: &str = "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: 0,24,48,72
memoryManagerPolicy: Static
evictionHard: {memory.available: 1Gi}
reservedMemory:
- {numaNode: 0, limits: {memory: 1Gi}}
topologyManagerPolicy: single-numa-node
maxPods: 1000
";

/// What is refused: more CPUs than a NUMA node has; more than are free on one until a pod leaves, until two do, and until
/// more do; more memory than the node has.
const WISHES: [&str; 5] = [
    "cpu: 47, memory: 1Gi",
    "cpu: 24, memory: 1Gi",
    "cpu: 26, memory: 1Gi",
    "cpu: 34, memory: 1Gi",
    "cpu: 4, memory: 200Gi",
];

impl Observe {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.trace && Command::new("strace").arg("--version").output().is_err() {
            ensure!(self.install, "strace is missing: `--install` installs it");
            debian::install(&["strace"])?;
        }
        run(&mut cargo(&["build", "--release", "--quiet", "--package", "topolet"]))?;
        // Their logs can be read afterwards.
        let place = target().join(if self.trace { "observe-trace" } else { "observe" });
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        let node = Node::start(&place, self.trace)?;
        let report = self.drive(&node);
        let report = node.finish(report?)?;
        print(&serde_json::to_string_pretty(&report)?);
        if self.write {
            let name = if self.trace { "observe-trace" } else { "observe" };
            reliability::write(name, name, &self.command(), &report)?;
        }
        let writes = report["writes"].as_array().map_or(0, Vec::len);
        ensure!(writes == 0, "{writes} system calls change something below the kubelet's root");
        ensure!(report["disagreements"] == 0.0, "{} decisions differ", report["disagreements"]);
        ensure!(report["unexplained"] == 0, "{} refusals were not explained", report["unexplained"]);
        Ok(())
    }

    fn command(&self) -> String {
        let Self { minutes, refusals, pods, .. } = self;
        let trace = if self.trace { " --trace" } else { "" };
        format!("cargo xtask observe --minutes {minutes} --refusals {refusals} --pods {pods}{trace}")
    }

    /// Pods come and go; gives the figures.
    fn drive(&self, node: &Node) -> anyhow::Result<Value> {
        let server = PodsServer::listen(&node.root.join(SOCKET)).context("failed to serve pods")?;
        for number in 0..PINNED {
            node.admit(&server, &format!("pod-{number}"), OWN)?;
        }
        for number in (1..LEFT).step_by(2) {
            node.end(&server, &format!("pod-{number}"))?;
        }
        let shared = self.pods.saturating_sub(PINNED - LEFT / 2);
        for number in 0..shared {
            node.admit(&server, &format!("shared-{number}"), "cpu: 10m, memory: 64Mi")?;
        }
        let pods = PINNED - LEFT / 2 + shared;
        until("all pods are known", || {
            Ok(node.watcher.get("/v1/pods?output=table")?.body.lines().count() > pods)
        })?;
        let heard = Heard::listen(&node.socket)?;
        let refused_at = Arc::<Mutex<BTreeMap<String, Instant>>>::default();
        let (mut took, mut refused, mut deleted) = (Vec::new(), 0_usize, 0_usize);
        let each = Duration::from_mins(1) / self.refusals;
        let total = Duration::from_secs_f64(self.minutes * 60.0);
        let mut usage = Usage::new(node.observer.id())?;
        let (began, mut churned, mut sampled) = (Instant::now(), 0_u32, Instant::now());
        let mut waiting: std::collections::VecDeque<(Instant, String)> = std::collections::VecDeque::new();
        while began.elapsed() < total {
            let due = each * u32::try_from(refused)?;
            thread::sleep(due.saturating_sub(began.elapsed()));
            let (name, wish) = (format!("refused-{refused}"), WISHES[refused % WISHES.len()]);
            let status = node.refuse(&name, wish)?;
            refused_at.lock().insert(name.clone(), Instant::now());
            server.put(pod(&name, wish, &status)?);
            waiting.push_back((Instant::now(), name));
            refused += 1;
            while waiting.front().is_some_and(|(since, _)| since.elapsed() >= DELETED) {
                let Some((_, name)) = waiting.pop_front() else { break };
                server.remove(&format!("default_{name}"));
                deleted += 1;
            }
            if began.elapsed() >= Duration::from_secs(2) * (churned + 1) {
                churned += 1;
                let name = format!("pod-{}", usize::try_from(churned)? * 2 % ON_FIRST_NODE);
                node.end(&server, &name)?;
                node.admit(&server, &name, OWN)?;
            }
            if sampled.elapsed() >= SAMPLE {
                sampled = Instant::now();
                usage.sample()?;
            }
            took.extend(heard.since(&refused_at));
        }
        let share = usage.percent_of_a_core(began.elapsed())?;
        until("the last refusals are explained", || {
            took.extend(heard.since(&refused_at));
            Ok(refused_at.lock().is_empty())
        })
        .ok();
        let unexplained = refused_at.lock().len();
        let metrics = node.watcher.get("/metrics")?.body;
        let disagreements = metrics
            .lines()
            .find_map(|line| line.strip_prefix("topolet_observe_disagreements_total ")?.parse::<f64>().ok());
        let milliseconds = |took: &mut Vec<u128>, percent| {
            f64::from(u32::try_from(percentile(took, percent)).unwrap_or(u32::MAX)) / 1e3
        };
        let mut report = json!({
            "minutes": self.minutes, "pods": self.pods, "refusalsPerMinute": self.refusals, "refusals": refused, "deleted": deleted, "churned": churned,
            "explained": took.len(), "unexplained": unexplained,
            "disagreements": disagreements.context("the daemon counts no disagreements")?,
        });
        if !self.trace {
            report["percentOfACore"] = json!((share * 100.0).round() / 100.0);
            report["residentMiB"] = json!(usage.largest >> 10);
            report["explainMilliseconds"] = json!({
                "p50": milliseconds(&mut took, 50), "p99": milliseconds(&mut took, 99), "max": milliseconds(&mut took, 100),
            });
        }
        Ok(report)
    }
}

/// The two daemons; they end with it.
struct Node {
    root: PathBuf,
    socket: PathBuf,
    kubelet: Child,
    observer: Observer,
    owner: Client,
    watcher: Client,
}

/// The daemon that watches, and what reads its system calls.
struct Observer {
    child: Child,
    trace: Option<Trace>,
}

impl Observer {
    /// The process of the daemon itself, or of what traces it.
    fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Node {
    fn start(place: &Path, is_traced: bool) -> anyhow::Result<Self> {
        let (root, own) = (place.join("kubelet"), place.join("own"));
        fs::create_dir_all(&own)?;
        let config = own.join("kubelet.yaml");
        fs::write(&config, CONFIG)?;
        let program = target().join("release/topolet");
        let arguments = |mode: &[&str], socket: &Path| {
            let mut all: Vec<String> = ["serve", "--machine", "xeon-2s-96cpu-sriov", "--cgroup-root", "off"]
                .map(str::to_owned)
                .to_vec();
            all.extend(mode.iter().map(|word| (*word).to_owned()));
            for (name, path) in [("--root", &*root), ("--config", &*config), ("--socket", socket)] {
                all.extend([name.to_owned(), path.display().to_string()]);
            }
            all
        };
        let log = |name: &str| File::create(own.join(name)).map(File::into_file);
        let socket = own.join("topolet.sock");
        let mut kubelet = Command::new(&program);
        kubelet.args(arguments(&[], &place.join("kubelet.sock")));
        let kubelet = kubelet
            .stdout(Stdio::null())
            .stderr(log("kubelet.log")?)
            .spawn()
            .context("failed to start topolet")?;
        let owner = Client::at(&place.join("kubelet.sock"));
        let ready = |client: &Client| Ok(client.get("/readyz").is_ok_and(|reply| reply.status == 200));
        until("the daemon for a kubelet", || ready(&owner))?;
        // It has no files before its first pod.
        owner.ask("POST", "/v1/pods", &manifest("first", "cpu: 2, memory: 1Gi"))?;
        let observing = arguments(&["--observe"], &socket);
        let (child, trace) = if is_traced {
            let (child, trace) = Trace::start(&program, &observing, &own.join("observe.log"), &root)?;
            (child, Some(trace))
        } else {
            let mut command = Command::new(&program);
            // As the unit and the DaemonSet start it.
            command.env("MIMALLOC_PURGE_DELAY", "0");
            command.args(observing).stdout(Stdio::null()).stderr(log("observe.log")?);
            (command.spawn().context("failed to start topolet")?, None)
        };
        let watcher = Client::at(&socket);
        let node = Self { root, socket, kubelet, observer: Observer { child, trace }, owner, watcher };
        until("the daemon that watches", || ready(&node.watcher))?;
        Ok(node)
    }

    fn admit(&self, server: &PodsServer, name: &str, limits: &str) -> anyhow::Result<()> {
        let reply = self.owner.ask("POST", "/v1/pods", &manifest(name, limits))?;
        ensure!(reply.status == 200, "{name} is not admitted: {}", reply.body);
        let running = json!({"phase": "Running", "containerStatuses": [{"name": "app"}]});
        server.put(pod(name, limits, &running)?);
        Ok(())
    }

    /// A pod ends.
    fn end(&self, server: &PodsServer, name: &str) -> anyhow::Result<()> {
        self.owner.ask("DELETE", &format!("/v1/pods/default/{name}"), "")?;
        server.remove(&format!("default_{name}"));
        Ok(())
    }

    /// The status of a pod that the kubelet refuses.
    fn refuse(&self, name: &str, limits: &str) -> anyhow::Result<Value> {
        let reply = self.owner.ask("POST", "/v1/pods", &manifest(name, limits))?;
        ensure!(reply.status == 422, "{name} is not refused: {}", reply.body);
        let decided = reply.json();
        let refusal = &decided["decisions"][0]["refusal"];
        let message = format!("Pod was rejected: {}", refusal["message"].as_str().unwrap_or_default());
        self.owner.ask("DELETE", &format!("/v1/pods/default/{name}"), "")?;
        Ok(json!({"phase": "Failed", "reason": refusal["reason"], "message": message}))
    }

    /// Ends both; the report gains what the trace has seen.
    fn finish(mut self, mut report: Value) -> anyhow::Result<Value> {
        if let Some(trace) = self.observer.trace.take() {
            trace.end(&mut self.observer.child)?.add_to(&mut report);
        }
        Ok(report)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        for child in [&mut self.kubelet, &mut self.observer.child] {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let began = Instant::now();
    while !is_so()? {
        ensure!(began.elapsed() < PATIENCE, "after {PATIENCE:?} still not: {what}");
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn manifest(name: &str, limits: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n  - name: app\n    image: none\n    \
         resources: {{limits: {{{limits}}}}}\n"
    )
}

/// The pod as the kubelet tells it.
fn pod(name: &str, limits: &str, status: &Value) -> anyhow::Result<KubeletPod> {
    let amounts: BTreeMap<&str, &str> =
        limits.split(", ").filter_map(|amount| amount.split_once(": ")).collect();
    let text = json!({
        "metadata": {"name": name, "namespace": "default", "uid": format!("default_{name}")},
        "spec": {"containers": [{"name": "app", "resources": {"limits": amounts, "requests": amounts}}]},
        "status": status,
    });
    Ok(KubeletPod::from_json(&text.to_string())?)
}

/// A client of the stream of events.
struct Heard(Receiver<(String, Instant)>);

impl Heard {
    fn listen(socket: &Path) -> anyhow::Result<Self> {
        let lines =
            Request::new("GET", "/v1/events?watch=true").open(UnixStream::connect(socket)?)?.body.lines();
        let (sender, heard) = mpsc::channel();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let Some(data) = line.strip_prefix("data: ") else { continue };
                let now = Instant::now();
                let event: Value = serde_json::from_str(data).unwrap_or_default();
                let is_heard = event["type"] != "Warning"
                    || sender.send((event["name"].as_str().unwrap_or_default().to_owned(), now)).is_ok();
                if !is_heard {
                    return;
                }
            }
        });
        Ok(Self(heard))
    }

    /// How long the refusals took that have been explained by now, in microseconds; they are removed from `refused_at`.
    fn since(&self, refused_at: &Mutex<BTreeMap<String, Instant>>) -> Vec<u128> {
        let mut refused_at = refused_at.lock();
        self.0
            .try_iter()
            .filter_map(|(name, at)| Some((at - refused_at.remove(&name)?).as_micros()))
            .collect()
    }
}

#[expect(clippy::print_stdout, reason = "the output of the command")]
fn print(text: &str) {
    println!("{text}");
}
