//! A cluster in which the API server and the nodes are killed while pods come and go, and what has to be true afterwards.
//!
//! Every pod that was created and not deleted is there, and runs or was refused. The ledger of each node has exactly the
//! pods that the API server calls running there. No CPU is exclusive to two containers, and no pod was admitted twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use cpuset::CpuSet;
use serde_json::Value;

use crate::NODE_RIGHTS;
use crate::nodes::{Containers, Node, NodeOptions};
use crate::{Cluster, PATIENCE};

/// How many pods are created at once.
const BATCH: usize = 10;
/// How long the API server or a node is away.
const AWAY: Duration = Duration::from_millis(700);

/// What happens in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outages<'a> {
    /// Pods that are created.
    pub pods: usize,
    /// Nodes with simulated containers.
    pub nodes: usize,
    /// How often the API server is killed and started again.
    pub api_server: usize,
    /// How often a node is killed and started again.
    pub node: usize,
    /// The machine of each node.
    pub machine: &'a str,
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Pods that run.
    pub running: usize,
    /// Pods that were refused, by reason.
    pub refused: BTreeMap<String, usize>,
    /// Pods that were deleted, more than half of them by force, and some while their node was away.
    pub deleted: usize,
    /// CPUs that are exclusive to containers.
    pub exclusive: usize,
    /// From the first pod until everything was settled.
    pub took: Duration,
    /// Of that, after the last pod and the last outage.
    pub settled_within: Duration,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { running, refused, deleted, exclusive, took, settled_within } = self;
        let refused: Vec<String> =
            refused.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        write!(
            f,
            "{running} running, refused: {}, {deleted} deleted; {exclusive} exclusive CPUs, none twice; took {:.1} s, settled \
             {:.1} s after the last pod",
            refused.join(", "),
            took.as_secs_f64(),
            settled_within.as_secs_f64()
        )
    }
}

impl Outages<'_> {
    /// Runs it in a cluster with a scheduler; `program` is topolet.
    ///
    /// # Errors
    /// Something is lost, doubled or not settled in time; or a program does not start.
    pub fn run(&self, cluster: &mut Cluster, program: &Path) -> anyhow::Result<Figures> {
        cluster.apply(NODE_RIGHTS)?;
        let options = NodeOptions {
            name: "node",
            machine: self.machine,
            containers: Containers::Simulated,
            arguments: &[],
        };
        let mut nodes = Node::start_several(cluster, program, options, self.nodes)?;
        let began = Instant::now();
        let deleted = self.disturb(cluster, &mut nodes)?;
        let last = Instant::now();
        let mut found = loop {
            match self.settled(cluster, &nodes, &deleted) {
                Ok(figures) => break figures,
                Err(error) if last.elapsed() > PATIENCE => return Err(error),
                Err(_) => thread::sleep(Duration::from_millis(200)),
            }
        };
        for node in &nodes {
            is_admitted_once(node)?;
        }
        found.deleted = deleted.len();
        found.took = began.elapsed();
        found.settled_within = last.elapsed();
        Ok(found)
    }

    /// Creates all pods, deletes some, and kills what is to be killed in between. Gives the names of the deleted ones.
    fn disturb(&self, cluster: &mut Cluster, nodes: &mut [Node]) -> anyhow::Result<BTreeSet<String>> {
        let mut deleted = BTreeSet::new();
        let batches = self.pods.div_ceil(BATCH);
        let (mut api_server, mut node) = (0, 0);
        for batch in 0..batches {
            let numbers = batch * BATCH..((batch + 1) * BATCH).min(self.pods);
            let manifests: Vec<String> = numbers.clone().map(|number| self.pod(number)).collect();
            insisted(|| cluster.apply(&manifests.join("---\n")))?;
            // One of the batch before, which may be anywhere between its binding and its last status.
            if let Some(number) = numbers.start.checked_sub(3).filter(|number| number % 5 != 4) {
                let name = name(number);
                let force: &[&str] = if batch % 2 == 0 { &["--force"] } else { &[] };
                let plain = ["delete", "pod", &name, "--wait=false", "--ignore-not-found"];
                insisted(|| cluster.kubectl(&[&plain, force].concat()))?;
                deleted.insert(name);
            }
            let is_due = |done: usize, all: usize| done < all && (batch + 1) * all >= (done + 1) * batches;
            if is_due(node, self.node) {
                let killed = node % nodes.len();
                let killed = nodes.get_mut(killed).context("there is no node")?;
                killed.kill();
                deleted.extend(unseen(cluster, killed)?);
                thread::sleep(AWAY);
                killed.spawn()?;
                node += 1;
            }
            if is_due(api_server, self.api_server) {
                cluster.kill_api_server();
                thread::sleep(AWAY);
                cluster.start_api_server()?;
                api_server += 1;
            }
        }
        ensure!(
            (api_server, node) == (self.api_server, self.node),
            "{api_server} and {node} outages happened"
        );
        Ok(deleted)
    }

    /// One in three has exclusive CPUs, and one in five goes past the scheduler to a node that refuses it.
    fn pod(&self, number: usize) -> String {
        let (node, limits) = match number {
            number if asks_too_much(number) => {
                (format!("  nodeName: node-{}\n", number % self.nodes + 1), "limits: {cpu: 60, memory: 1Gi}")
            }
            number if number.is_multiple_of(3) => (String::new(), "limits: {cpu: 2, memory: 256Mi}"),
            _ => (String::new(), "requests: {cpu: 100m, memory: 64Mi}"),
        };
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {}}}\nspec:\n{node}  containers:\n  - name: app\n    image: none\n    \
             resources: {{{limits}}}\n",
            name(number)
        )
    }

    /// What is there, if it is as it has to be.
    fn settled(
        &self,
        cluster: &Cluster,
        nodes: &[Node],
        deleted: &BTreeSet<String>,
    ) -> anyhow::Result<Figures> {
        let listed: Value = serde_json::from_str(&cluster.kubectl(&["get", "pods", "-o", "json"])?)?;
        let pods = listed["items"].as_array().context("there is no list of pods")?;
        let mut missing: BTreeSet<String> =
            (0..self.pods).map(name).filter(|name| !deleted.contains(name)).collect();
        let mut figures = Figures::default();
        let mut running: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for pod in pods {
            let (name, uid) = (text(&pod["metadata"]["name"]), text(&pod["metadata"]["uid"]));
            ensure!(missing.remove(name), "pod {name} is there though it was deleted");
            let status = &pod["status"];
            match text(&status["phase"]) {
                "Running" => {
                    running.entry(text(&pod["spec"]["nodeName"])).or_default().insert(uid);
                    figures.running += 1;
                }
                "Failed" => {
                    let (reason, message) = (text(&status["reason"]), text(&status["message"]));
                    ensure!(message.starts_with("Pod was rejected: "), "pod {name} has failed: {status}");
                    let wanted =
                        (0..self.pods).any(|number| asks_too_much(number) && self::name(number) == *name);
                    ensure!(wanted, "pod {name} fits, and is refused: {status}");
                    *figures.refused.entry(reason.to_owned()).or_default() += 1;
                }
                phase => bail!("pod {name} is {phase}"),
            }
        }
        ensure!(missing.is_empty(), "pods are lost: {missing:?}");
        for node in nodes {
            let state: Value = serde_json::from_str(&node.topolet(&["get", "pods", "-o", "json"])?)?;
            let held = state["pods"].as_array().into_iter().flatten();
            let held = held.filter(|pod| pod["status"] != "Refused");
            let held: BTreeSet<&str> = held.map(|pod| text(&pod["uid"])).collect();
            let told = running.get(node.name()).cloned().unwrap_or_default();
            ensure!(held == told, "node {} has {held:?}, and the API server {told:?}", node.name());
            figures.exclusive += exclusive(node)?;
        }
        Ok(figures)
    }
}

/// Whether a pod asks for more CPUs than a NUMA node has. All others fit.
const fn asks_too_much(number: usize) -> bool {
    number % 5 == 4
}

/// Calls again what fails: an API server that has just been started may let a request time out.
fn insisted(call: impl Fn() -> anyhow::Result<String>) -> anyhow::Result<String> {
    const TRIES: usize = 3;
    let tries = (1..TRIES).map(|_| call()).find(Result::is_ok);
    tries.unwrap_or_else(&call)
}

/// Deletes a pod that runs on a node while the node is away, by force: its object is gone when the node comes back. Gives
/// its name; `None`: none runs there.
fn unseen(cluster: &Cluster, node: &Node) -> anyhow::Result<Option<String>> {
    let selector = format!("spec.nodeName={},status.phase=Running", node.name());
    let running =
        insisted(|| cluster.kubectl(&["get", "pods", "-o", "name", "--field-selector", &selector]))?;
    let Some(name) = running.lines().next().and_then(|line| line.strip_prefix("pod/")) else {
        return Ok(None);
    };
    insisted(|| cluster.kubectl(&["delete", "pod", name, "--force", "--ignore-not-found"]))?;
    Ok(Some(name.to_owned()))
}

/// How many CPUs of a node are exclusive to containers; none to two of them.
fn exclusive(node: &Node) -> anyhow::Result<usize> {
    let state: Value = serde_json::from_str(&node.topolet(&["get", "state", "-o", "json"])?)?;
    let mut all = CpuSet::default();
    for held in state["containers"].as_array().into_iter().flatten() {
        let cpus: CpuSet = text(&held["cpus"]).parse().context("the CPUs of a container are no list")?;
        ensure!((&all & &cpus).is_empty(), "node {}: CPUs {cpus} are held twice: {state}", node.name());
        all = &all | &cpus;
    }
    Ok(all.len())
}

/// No pod of the node was admitted twice, by its log.
fn is_admitted_once(node: &Node) -> anyhow::Result<()> {
    let log = node.log();
    let mut seen = BTreeSet::new();
    for line in log.lines().filter(|line| line.contains("pod admitted")) {
        let pod = line.split_whitespace().find(|word| word.starts_with("pod="));
        let pod = pod.with_context(|| format!("a line of the log names no pod: {line}"))?;
        ensure!(seen.insert(pod), "node {} has admitted {pod} twice", node.name());
    }
    ensure!(!seen.is_empty(), "the log of node {} has no pod that was admitted", node.name());
    Ok(())
}

fn name(number: usize) -> String {
    format!("pod-{number}")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
