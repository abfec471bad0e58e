//! The kubelet as a node of a cluster: etcd, API server, kube-scheduler, `serve --observe` and `topolet scheduler` run
//! beside it in the same guest, the last two with the rights that `deploy` gives them.
//!
//! A pod that the kubelet refuses is explained where people look; the extender has the next one wait that the kubelet would
//! refuse; a pod is evicted, and its CPUs are free again.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use local_cluster::{
    Cluster, EXTENDER_RIGHTS, Extender, KUBELET_RIGHTS, KUBELETS, Kind, OBSERVER_RIGHTS, Parts, Program,
    Programs, Shown, User,
};
use serde_json::{Value, json};
use workspace_tools::client::Client;

use super::compare::Difference;
use super::configuration::Configuration;
use super::facts::{self, KubeletPod};
use super::observer::{Form, Observer};
use super::print_row;
use super::processes::{self, Running, last_lines};
use super::wish::{Class, PodWish};
use crate::machine::Guest;

/// How long a program may take until it answers, and a step until it is done.
pub(super) const PATIENCE: Duration = Duration::from_mins(10);
/// How often kubectl is asked, which takes seconds each time.
const LOOK: Duration = Duration::from_secs(2);
/// Certificates are valid for so long.
pub(super) const VALID: Duration = Duration::from_hours(24);

/// The container runtime's network configuration. Without one the node never becomes ready; pods here use the host's network.
pub(super) const NETWORK: &str =
    r#"{"cniVersion": "1.0.0", "name": "none", "plugins": [{"type": "loopback"}]}"#;

/// The cluster, its only node, and what runs beside the two.
struct Member {
    // Ended in this order.
    observer: Observer,
    extender: Extender,
    kubelet: Running,
    cluster: Cluster,
    containerd: Running,
    client: Client,
    configuration: Configuration,
    /// CPUs of each of the two NUMA nodes; CPU 0 is reserved.
    cpus: usize,
    began: Instant,
}

/// Runs all steps; each prints one line `row JSON`.
///
/// # Errors
/// A program ends, or something does not come to rest; the last lines of the programs' logs.
pub(super) fn run(guest: &Guest, kubelet: &str, control_plane: &str, form: Form) -> anyhow::Result<()> {
    let mut member = Member::start(guest, kubelet, control_plane, form)?;
    member.refuses_and_explains()?;
    member.keeps_waiting()?;
    member.evicts()?;
    member.counts()
}

impl Member {
    /// Starts everything, and waits until the node is ready and the scheduler knows its state.
    fn start(guest: &Guest, kubelet: &str, control_plane: &str, form: Form) -> anyhow::Result<Self> {
        let began = Instant::now();
        processes::network()?;
        let programs = Programs::built(Path::new("/"), control_plane)?;
        let mut cluster = Cluster::start_within(&programs, Parts::Storage, PATIENCE)?;
        step(began, "the API server answers");
        cluster.define(&[Kind::NodeState, Kind::NodeResourceTopology])?;
        cluster.apply(&[KUBELET_RIGHTS, OBSERVER_RIGHTS, EXTENDER_RIGHTS].join("---\n"))?;
        step(began, "the rights are there");

        fs::create_dir_all("/etc/cni/net.d")?;
        fs::write("/etc/cni/net.d/10-none.conflist", NETWORK)?;
        let containerd = processes::start_containerd()?;
        let configuration = Configuration::new("single-numa-node", "container");
        processes::configure(guest, &configuration)?;
        let user = User { name: "system:node:node1", groups: &[KUBELETS] };
        let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig_of(user, VALID)?.display());
        let kubelet = processes::start_kubelet(kubelet, &configuration, &[&kubeconfig])?;
        step(began, "the kubelet answers");
        let observer = Observer::start(&cluster, form)?;
        let extender = Extender::start(&cluster, Path::new("/bin/topolet"))?;
        // Where nothing is fast, an answer that is late must not count as none.
        let scheduling = extender.configuration().replace("httpTimeout: 2s", "httpTimeout: 1m");
        cluster.start_scheduler(&programs.path(Program::Scheduler), &scheduling)?;

        let client = Client::of(&observer.folder);
        let cpus = guest.shape.cpus() / 2;
        let mut member =
            Self { observer, extender, kubelet, cluster, containerd, client, configuration, cpus, began };
        member.until("the node is ready", LOOK, |member| {
            let ready = "jsonpath={.status.conditions[?(@.type=='Ready')].status}";
            let status = member.cluster.kubectl(&["get", "node", "node1", "-o", ready])?;
            ensure!(status == "True", "its condition Ready is {status:?}");
            Ok(())
        })?;
        member.until("the observer is ready", LOOK, |member| {
            let reply = member.client.get("/readyz")?;
            ensure!(reply.status == 200, "{}", reply.body);
            Ok(())
        })?;
        member.until("the extender knows the node", LOOK, |member| {
            let extender = member.extender.client(Shown::KubeScheduler)?;
            let (ready, why) = extender.ask("GET /readyz", "")?;
            ensure!(ready == 200, "{why}");
            let (_, metrics) = extender.ask("GET /metrics", "")?;
            let nodes = counted(&metrics, "topolet_scheduler_node_states");
            ensure!(nodes > 0.0, "it knows the state of no node");
            Ok(())
        })?;
        let version = member.cluster.kubectl(&["get", "nodes", "--no-headers"])?;
        let version = version.split_whitespace().collect::<Vec<_>>().join(" ");
        member.row("node", "", "", &json!({"said": "Ready", "did": version}), &[]);
        Ok(member)
    }

    /// The kubelet refuses a pod that is bound to its node by name; `kubectl describe` shows why, and what would fit.
    fn refuses_and_explains(&mut self) -> anyhow::Result<()> {
        let wish = exclusive("wide", self.cpus + 1);
        self.create(&wish, Some("node1"))?;
        let actual = self.rests(&wish.name)?;
        let mut differences: Vec<Difference> =
            Difference::of("reason", &"TopologyAffinityError".to_owned(), &actual.reason)
                .into_iter()
                .collect();
        let event = self.event(&wish.name, &["TopologyAffinityError", "topolet", "would fit"])?;
        let observed = self.client.get("/v1/decisions")?.json();
        let decisions = observed["decisions"].as_array().into_iter().flatten();
        let agrees =
            decisions.filter(|one| one["pod"] == "default/wide").any(|one| one["kubelet"]["agrees"] == true);
        differences.extend(Difference::of("agreement", &agrees, &true));
        self.row(
            "refused",
            &wish.name,
            &wish.summary(),
            &json!({"said": event, "did": actual.summary()}),
            &differences,
        );
        Ok(())
    }

    /// The node as a whole has the CPUs that a pod asks for, and no NUMA node does: it waits until another one goes.
    fn keeps_waiting(&mut self) -> anyhow::Result<()> {
        // Each leaves as many CPUs of its NUMA node; both together suffice for the next pod.
        let left = self.cpus / 2 - 1;
        for (name, cpus) in [("first", self.cpus - 1 - left), ("second", self.cpus - left)] {
            self.runs(&exclusive(name, cpus))?;
        }
        let wish = exclusive("next", left + 1);
        self.create(&wish, None)?;
        let event = self.event(&wish.name, &["FailedScheduling", "no NUMA node has"])?;
        let phase = self.cluster.kubectl(&[
            "get",
            "pod",
            &wish.name,
            "-o",
            "jsonpath={.status.phase}{.spec.nodeName}",
        ])?;
        let differences = Difference::of("phase", &"Pending".to_owned(), &phase);
        let differences: Vec<Difference> = differences.into_iter().collect();
        self.row("waits", &wish.name, &wish.summary(), &json!({"said": event, "did": phase}), &differences);
        self.cluster.kubectl(&["delete", "pod", "first", "--wait=false"])?;
        let actual = self.rests(&wish.name)?;
        self.ran(&wish, "runs", "first is deleted", &actual)
    }

    /// A pod is evicted as `kubectl drain` does it. Its CPUs are free, and the next pod gets as many.
    fn evicts(&mut self) -> anyhow::Result<()> {
        let evicted = facts::pods()?.named("second").context("pod second is gone")?;
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": "second", "namespace": "default"}});
        fs::write("/run/eviction.json", eviction.to_string())?;
        let url = "/api/v1/namespaces/default/pods/second/eviction";
        self.cluster.kubectl(&["create", "--raw", url, "-f", "/run/eviction.json"])?;
        self.until("the CPUs of the evicted pod are free", Duration::from_millis(300), |_| {
            ensure!(
                facts::is_gone("second", &evicted.uid)?,
                "the kubelet's state is {}",
                facts::state()?["cpu"]
            );
            Ok(())
        })?;
        let free = facts::state()?["cpu"]["defaultCpuSet"].to_string();
        self.row("evicted", "second", "", &json!({"said": "its CPUs are free", "did": free}), &[]);
        self.runs(&exclusive("third", 3))
    }

    /// The kubelet refused no pod that passed the extender, and decided nothing otherwise than the observer.
    fn counts(&mut self) -> anyhow::Result<()> {
        let failed = ["get", "pods", "--field-selector", "status.phase=Failed", "-o", "name"];
        let failed = self.cluster.kubectl(&failed)?.trim().to_owned();
        let name = "topolet_observe_disagreements_total";
        let disagreements = counted(&self.client.get("/metrics")?.body, name);
        let differences = [
            Difference::of("refused pods", &"pod/wide".to_owned(), &failed),
            Difference::of(name, &0.0, &disagreements),
        ];
        let differences: Vec<Difference> = differences.into_iter().flatten().collect();
        self.row("count", "", "", &json!({"said": "only wide is refused", "did": failed}), &differences);
        Ok(())
    }

    /// A pod is scheduled, and runs.
    fn runs(&mut self, wish: &PodWish) -> anyhow::Result<()> {
        self.create(wish, None)?;
        let actual = self.rests(&wish.name)?;
        self.ran(wish, "runs", "Running", &actual)
    }

    fn ran(&self, wish: &PodWish, step: &str, predicted: &str, actual: &KubeletPod) -> anyhow::Result<()> {
        let differences: Vec<Difference> =
            Difference::of("phase", &"Running".to_owned(), &actual.phase).into_iter().collect();
        let cpus = facts::state()?["cpu"]["entries"][&actual.uid]["c0"].to_string();
        let what = json!({"said": predicted, "did": format!("{} on CPUs {cpus}", actual.summary())});
        self.row(step, &wish.name, &wish.summary(), &what, &differences);
        Ok(())
    }

    /// Creates a pod at the API server, on a node or for the scheduler.
    fn create(&self, wish: &PodWish, node: Option<&str>) -> anyhow::Result<()> {
        let mut pod = wish.manifest();
        // The API server gives it one.
        pod["metadata"]["uid"] = Value::Null;
        pod["spec"]["nodeName"] = json!(node);
        // One that is deleted without it is gone before the kubelet has ended it.
        pod["spec"]["terminationGracePeriodSeconds"] = json!(1);
        self.cluster.apply(&pod.to_string())?;
        Ok(())
    }

    /// Waits until the kubelet lists a pod that runs or has failed.
    fn rests(&mut self, pod: &str) -> anyhow::Result<KubeletPod> {
        self.until(&format!("pod {pod} runs or fails"), Duration::from_millis(300), |_| {
            let actual = facts::pods()?.named(pod).context("the kubelet does not list it")?;
            ensure!(actual.phase == "Failed" || actual.is_running(), "it is {}", actual.summary());
            Ok(actual)
        })
    }

    /// Waits until `kubectl describe` has an event of the pod with these parts.
    fn event(&mut self, pod: &str, parts: &[&str]) -> anyhow::Result<String> {
        self.until(&format!("an event of {pod} with {parts:?}"), LOOK, |member| {
            let text = member.cluster.kubectl(&["describe", "pod", pod])?;
            let mut lines = text.lines().skip_while(|line| !line.starts_with("Events:"));
            let found = lines.find(|line| parts.iter().all(|part| line.contains(part)));
            let found = found.with_context(|| format!("it shows\n{}", last_lines(&text)))?;
            Ok(found.split_whitespace().collect::<Vec<_>>().join(" "))
        })
    }

    /// Waits until something succeeds.
    fn until<T>(
        &mut self,
        what: &str,
        pause: Duration,
        attempt: impl Fn(&Self) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let began = Instant::now();
        loop {
            let error = match attempt(self) {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            if let Some(why) = self.why_ended() {
                bail!("{why}");
            }
            if began.elapsed() > PATIENCE {
                let why = format!("{PATIENCE:?} went by and still not: {what}\n{}", self.last_lines());
                return Err(error.context(why));
            }
            thread::sleep(pause);
        }
    }

    /// If a program has ended: which one, and its last lines.
    fn why_ended(&mut self) -> Option<String> {
        let own = [&mut self.containerd, &mut self.kubelet];
        let ended = own.into_iter().find_map(Running::why_ended).or_else(|| self.observer.why_ended());
        ended.or_else(|| self.cluster.why_ended()).or_else(|| self.extender.why_ended())
    }

    /// The last lines of the programs that a step may wait for.
    fn last_lines(&self) -> String {
        let logs = [
            ("kubelet", self.kubelet.end()),
            ("serve --observe", self.observer.end()),
            ("topolet scheduler", last_lines(&self.extender.log())),
            ("kube-scheduler", last_lines(&self.cluster.scheduler_log())),
        ];
        logs.map(|(name, lines)| format!("{name}:\n{lines}")).join("\n")
    }

    fn row(&self, step: &str, pod: &str, asked: &str, what: &Value, differences: &[Difference]) {
        print_row(&json!({
            "second": self.began.elapsed().as_secs(), "step": step, "pod": pod, "asked": asked,
            "configuration": self.configuration.to_string(), "said": what["said"], "did": what["did"],
            "differences": differences.iter().map(Difference::text).collect::<Vec<_>>(),
        }));
    }
}

/// A pod of one container that has so many CPUs exclusively.
fn exclusive(name: &str, cpus: usize) -> PodWish {
    PodWish::of(name, Class::Guaranteed, &format!("cpu={cpus} memory=64Mi"))
}

/// The sum of a metric over its labels; 0 if nothing has been counted.
fn counted(metrics: &str, name: &str) -> f64 {
    let values = metrics.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let is_name = rest.starts_with('{') || rest.starts_with(' ');
        is_name.then(|| rest.rsplit(' ').next()?.parse::<f64>().ok()).flatten()
    });
    values.sum()
}

/// For the guest's log.
#[expect(clippy::print_stdout, reason = "a console")]
fn step(began: Instant, what: &str) {
    println!("{what} after {} s", began.elapsed().as_secs());
}
