//! `topolet guard` beside a kubelet that is the only node of an API server, since it leaves static pods alone.
//!
//! Containers with shared CPUs run all the time. Exclusive ones come, first without the guard and then with it, and what a
//! sampler has seen of both is a row for each. Then the guard is stopped, killed and started while all CPUs have to stay as
//! they are; and a write of a cgroup is compared with an update by runc.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use cpuset::CpuSet;
use local_cluster::{Cluster, KUBELET_RIGHTS, KUBELETS, Parts, Programs, User};
use serde_json::{Value, json};

use super::cluster::{NETWORK, PATIENCE, VALID};
use super::compare::Difference;
use super::configuration::Configuration;
use super::facts;
use super::print_row;
use super::processes::{self, Running};
use super::sampler::{Sampler, Seen};
use super::wish::{Class, PodWish};
use crate::machine::{Guest, json_of_line, text};

/// Pods with exclusive CPUs that come at once, and how often: a round begins just after the kubelet has reconciled, and more pods
/// would not run before it does so again.
const PODS: usize = 2;
const ROUNDS: usize = 10;
/// The containers that keep their CPUs while the guard ends.
const KEPT: usize = 5;
/// So often the guard ends.
const ENDS: usize = 20;
/// Writes and updates that are timed.
const WRITES: usize = 40;
const UPDATES: usize = 6;
/// The name of the pod with shared CPUs.
const SHARED: &str = "shared";
/// Where the API server has pods. Asked for by path, kubectl asks for nothing else.
const API_PODS: &str = "/api/v1/namespaces/default/pods";
const REPORT: &str = "/run/topolet-guard/report.json";
/// What the kubelet's configuration has, and what it has here: no tick helps meanwhile.
const PERIODS: [&str; 2] = ["cpuManagerReconcilePeriod: 2s", "cpuManagerReconcilePeriod: 60s"];
/// Wakes every 20 ms without a new process.
const TICKS: &str = "/bin/busybox mkfifo /f; exec 0<>/f; while :; do read -t 0.02 x; done";

/// The node, and the API server that gives it pods.
struct Node {
    // Ended in this order.
    guard: Option<Running>,
    kubelet: Running,
    cluster: Cluster,
    containerd: Running,
    began: Instant,
}

/// Runs all steps; each prints rows `row JSON`.
///
/// # Errors
/// A program ends, or something does not come to rest.
pub(super) fn run(guest: &Guest, release: &str) -> anyhow::Result<()> {
    let mut node = Node::start(guest, release)?;
    for guarded in [false, true] {
        if guarded {
            node.start_guard()?;
        }
        for round in 0..ROUNDS {
            node.round(guarded, round)?;
        }
    }
    node.ends()?;
    node.costs()
}

impl Node {
    fn start(guest: &Guest, release: &str) -> anyhow::Result<Self> {
        let began = Instant::now();
        processes::network()?;
        let programs = Programs::built(Path::new("/"), release)?;
        let cluster = Cluster::start_within(&programs, Parts::Storage, PATIENCE)?;
        fs::write("/run/rights.yaml", KUBELET_RIGHTS)?;
        // The API server may be too slow at first to describe what it takes.
        let rights = ["apply", "--validate=false", "-f", "/run/rights.yaml"];
        processes::until("the kubelet's rights", || cluster.kubectl(&rights).ok())?;
        fs::create_dir_all("/etc/cni/net.d")?;
        fs::write("/etc/cni/net.d/10-none.conflist", NETWORK)?;
        let containerd = processes::start_containerd()?;
        let configuration = Configuration::new("none", "container");
        processes::configure(guest, &configuration)?;
        for (path, own) in configuration.files(guest)? {
            let [usual, here] = PERIODS;
            ensure!(own.contains(usual), "{path} lacks {usual}");
            fs::write(&path, own.replace(usual, here))?;
        }
        let user = User { name: "system:node:node1", groups: &[KUBELETS] };
        let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig_of(user, VALID)?.display());
        let kubelet = processes::start_kubelet(release, &configuration, &[&kubeconfig])?;
        let mut node = Self { guard: None, kubelet, cluster, containerd, began };
        node.until("the node is there", |node| {
            node.cluster.kubectl(&["get", "--raw", "/api/v1/nodes/node1"]).map(drop)
        })?;
        let containers = ["cpu=50m memory=8Mi"; 4].join(" + ");
        node.create(&[PodWish::of(SHARED, Class::Burstable, &containers)], Some(TICKS))?;
        node.runs(SHARED)?;
        Ok(node)
    }

    fn start_guard(&mut self) -> anyhow::Result<()> {
        let _ = fs::remove_file(REPORT);
        self.guard = Some(Running::start("/bin/topolet", &["guard"])?);
        self.until("the guard is connected", |_| {
            let report = json_of_line(&text(REPORT)?)?;
            ensure!(report["conditions"]["GuardConnected"] == "works", "it reports {report}");
            Ok(())
        })
    }

    /// Pods come, run, and go.
    fn round(&mut self, guarded: bool, round: usize) -> anyhow::Result<()> {
        self.until("containers have all shared CPUs", Self::has_pool)?;
        let with = if guarded { "with" } else { "without" };
        let sampler = Sampler::start(self.groups(SHARED)?.into_values().collect());
        let named = |at| format!("{with}-{round}-{at}");
        let wish = |at| PodWish::of(&named(at), Class::Guaranteed, "cpu=1 memory=8Mi");
        let pods: Vec<PodWish> = (0..PODS).map(wish).collect();
        self.create(&pods, None)?;
        for pod in &pods {
            self.runs(&pod.name)?;
        }
        self.until("containers have left the CPUs of others", Self::has_pool)?;
        std::thread::sleep(Duration::from_secs(2));
        let seen = sampler.end();
        let state = facts::state()?["cpu"].clone();
        for pod in &pods {
            let uid = facts::pods()?.named(&pod.name).context("the pod is gone")?.uid;
            for (container, group) in self.groups(&pod.name)? {
                let held = &state["entries"][&uid][&container];
                let own = seen.get(&group).with_context(|| format!("{} was not seen", group.display()))?;
                self.exclusive(with, &pod.name, &container, held, own, guarded)?;
            }
        }
        self.delete(&pods)
    }

    fn exclusive(
        &self,
        with: &str,
        pod: &str,
        container: &str,
        held: &Value,
        own: &Seen,
        guarded: bool,
    ) -> anyhow::Result<()> {
        let held: CpuSet = held.as_str().unwrap_or_default().parse()?;
        let cpus = own.cpus.clone().context("its process was not seen")?;
        let mut differences = vec![Difference::of("CPUs at its first instruction", &held, &cpus)];
        if guarded {
            differences.push(Difference::of("samples with others on its CPUs", &0, &own.with_others));
        }
        self.row(
            with,
            pod,
            container,
            &own.figures(),
            &differences.into_iter().flatten().collect::<Vec<_>>(),
        );
        Ok(())
    }

    /// The guard is stopped, killed, and started; all containers keep their CPUs.
    fn ends(&mut self) -> anyhow::Result<()> {
        let pod = PodWish::of("kept", Class::Guaranteed, &["cpu=1 memory=8Mi"; KEPT].join(" + "));
        self.create(std::slice::from_ref(&pod), None)?;
        self.runs(&pod.name)?;
        self.until("containers have left the CPUs of others", Self::has_pool)?;
        let before = self.pinned()?;
        for at in 0..ENDS {
            let mut guard = self.guard.take().context("no guard runs")?;
            let how = if at % 2 == 0 { "killed" } else { "stopped" };
            let began = Instant::now();
            if at % 2 == 0 {
                guard.end_now()?;
            } else {
                guard.stop()?;
            }
            let ended = began.elapsed();
            let without = self.pinned()?;
            self.start_guard()?;
            // It has looked at all containers once more.
            std::thread::sleep(Duration::from_millis(500));
            let with = self.pinned()?;
            let differences = [
                Difference::of("CPUs without the guard", &json!(before), &json!(without)),
                Difference::of("CPUs with the next guard", &json!(before), &json!(with)),
            ];
            let seen = json!({"containers": before.len(), "endMs": ended.as_millis(), "allMs": began.elapsed().as_millis()});
            self.row("end", &pod.name, how, &seen, &differences.into_iter().flatten().collect::<Vec<_>>());
        }
        if let Some(mut guard) = self.guard.take() {
            guard.stop()?;
        }
        self.delete(std::slice::from_ref(&pod))
    }

    /// A write of a cgroup, and the same by runc as the runtime starts it.
    fn costs(&mut self) -> anyhow::Result<()> {
        let (_, group) = self.groups(SHARED)?.pop_first().context("no container")?;
        let id = group.file_name().context("no id")?.to_string_lossy().into_owned();
        let (file, sets) = (group.join("cpuset.cpus"), ["0-1", "0-2"]);
        let timed = |count: usize, act: &mut dyn FnMut(&str) -> anyhow::Result<()>| {
            let mut times = Vec::new();
            for at in 0..count {
                let began = Instant::now();
                act(sets[at % 2])?;
                times.push(began.elapsed());
            }
            times.sort();
            anyhow::Ok(times[count / 2])
        };
        let write = timed(WRITES, &mut |set| Ok(fs::write(&file, set)?))?;
        let update = timed(UPDATES, &mut |set| {
            let mut runc = Command::new("/bin/runc");
            runc.args(["--root", "/run/containerd/runc/k8s.io", "update", "--cpuset-cpus", set, &id]);
            ensure!(runc.stdout(Stdio::null()).status()?.success(), "runc fails to update {id}");
            Ok(())
        })?;
        let seen = json!({"writeMicros": write.as_micros(), "updateMicros": update.as_micros()});
        self.row("cost", SHARED, "", &seen, &[]);
        Ok(())
    }

    /// Creates pods on the node, whose containers run a script or what their image has.
    fn create(&self, pods: &[PodWish], script: Option<&str>) -> anyhow::Result<()> {
        for pod in pods {
            fs::write("/run/pod.json", manifest(pod, script).to_string())?;
            self.cluster.kubectl(&["create", "--raw", API_PODS, "-f", "/run/pod.json"])?;
        }
        Ok(())
    }

    fn runs(&mut self, pod: &str) -> anyhow::Result<()> {
        self.until(&format!("pod {pod} runs"), |_| {
            let actual = facts::pods()?.named(pod).context("the kubelet does not list it")?;
            ensure!(actual.phase != "Failed", "{}: {}", actual.summary(), actual.message);
            ensure!(actual.is_running(), "it is {}", actual.summary());
            Ok(())
        })
    }

    fn delete(&mut self, pods: &[PodWish]) -> anyhow::Result<()> {
        let all = facts::pods()?;
        for pod in pods {
            self.cluster.kubectl(&["delete", "--raw", &format!("{API_PODS}/{}", pod.name)])?;
        }
        for pod in pods {
            let uid = all.named(&pod.name).map(|actual| actual.uid).unwrap_or_default();
            self.until(&format!("pod {} is gone", pod.name), |_| {
                ensure!(facts::is_gone(&pod.name, &uid)?, "it is not");
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The cgroups of a pod's containers, by name.
    #[expect(clippy::unused_self, reason = "of the kubelet that runs")]
    fn groups(&self, pod: &str) -> anyhow::Result<BTreeMap<String, PathBuf>> {
        let actual = facts::pods()?.named(pod).with_context(|| format!("pod {pod} is gone"))?;
        let all = actual.running.iter();
        let groups = all.map(|(name, id)| Some((name.clone(), actual.group(id)?)));
        groups.collect::<Option<_>>().with_context(|| format!("a container of {pod} has no cgroup"))
    }

    /// CPUs by cgroup, of all containers.
    fn pinned(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let mut pinned = BTreeMap::new();
        for pod in [SHARED, "kept"] {
            for (container, group) in self.groups(pod)? {
                pinned.insert(format!("{pod}/{container}"), text(group.join("cpuset.cpus.effective"))?);
            }
        }
        Ok(pinned)
    }

    /// Whether containers with shared CPUs have exactly those of the kubelet's state.
    fn has_pool(&self) -> anyhow::Result<()> {
        let pool: CpuSet = facts::state()?["cpu"]["defaultCpuSet"].as_str().unwrap_or_default().parse()?;
        for group in self.groups(SHARED)?.values() {
            let has: CpuSet = text(group.join("cpuset.cpus.effective"))?.parse()?;
            ensure!(has == pool, "a container has CPUs {has}, and {pool} are shared");
        }
        Ok(())
    }

    /// Waits until something succeeds.
    fn until(&mut self, what: &str, attempt: impl Fn(&Self) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let began = Instant::now();
        while let Err(error) = attempt(self) {
            if let Some(why) = self.why_ended() {
                bail!("{why}");
            }
            if began.elapsed() > PATIENCE {
                let guard = self.guard.as_ref().map(Running::end).unwrap_or_default();
                let kubelet = self.kubelet.end();
                return Err(error.context(format!("not within {PATIENCE:?}: {what}\n{kubelet}\n{guard}")));
            }
            std::thread::sleep(Duration::from_millis(300));
        }
        Ok(())
    }

    /// If a program has ended: which one, and its last lines.
    fn why_ended(&mut self) -> Option<String> {
        let mut own = [&mut self.containerd, &mut self.kubelet].into_iter().chain(&mut self.guard);
        own.find_map(Running::why_ended).or_else(|| self.cluster.why_ended())
    }

    fn row(&self, step: &str, pod: &str, asked: &str, seen: &Value, differences: &[Difference]) {
        print_row(&json!({
            "second": self.began.elapsed().as_secs(), "step": step, "pod": pod, "asked": asked,
            "configuration": PERIODS[1], "seen": seen,
            "differences": differences.iter().map(Difference::text).collect::<Vec<_>>(),
        }));
    }
}

/// A pod for the API server, which gives it a UID.
fn manifest(wish: &PodWish, script: Option<&str>) -> Value {
    let mut pod = wish.manifest();
    pod["metadata"]["uid"] = Value::Null;
    pod["spec"]["nodeName"] = json!("node1");
    pod["spec"]["terminationGracePeriodSeconds"] = json!(1);
    if let (Some(script), Some(containers)) = (script, pod["spec"]["containers"].as_array_mut()) {
        for container in containers {
            container["command"] = json!(["/bin/busybox", "sh", "-c", script]);
        }
    }
    pod
}
