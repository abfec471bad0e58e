//! `cargo xtask fleet`: what many nodes in one process cost, each of which admits pods and publishes itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use local_cluster::{Cluster, Parts, Programs, RELEASE};
use serde_json::Value;
use workspace_tools::control_plane;
use workspace_tools::document::write_figures;
use workspace_tools::workspace::{cargo, run, target};

use crate::soak::minutes;
use crate::usage::Usage;

/// Runs `topolet fleet` with pods that come to each node by themselves, and measures its share of a core and its memory.
#[derive(Debug, clap::Args)]
pub(crate) struct Fleet {
    /// Nodes.
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    nodes: u16,
    /// The machine of each.
    #[arg(long, value_name = "MACHINE", default_value = "spr-8480-snc4-8node")]
    machine: String,
    /// Pods that come to each node in a second.
    #[arg(long, value_name = "NUMBER", default_value_t = 5.0)]
    pods_a_second: f64,
    /// How long it is measured once all nodes are registered, in minutes; parts of one are possible.
    #[arg(long, default_value_t = 2.0, value_parser = minutes)]
    minutes: f64,
    /// Writes the figures to docs/nrt.md, those of --list to docs/scheduler.md.
    #[arg(long)]
    write: bool,
    /// Measures how long `kubectl topolet nodes` takes meanwhile, and nothing else. Each node publishes its `NodeState` too.
    #[arg(long)]
    list: bool,
    /// The program as tests are built, which is slower: its figures are no less than those of a release build.
    #[arg(long)]
    of_tests: bool,
}

/// How often all nodes are listed.
const LISTINGS: usize = 10;
/// Pods of each kind that wait for a node while they are.
const WAITING: usize = 20;

/// How long registration may take for each node.
const EACH: Duration = Duration::from_millis(500);
/// The kinds of pods that come.
const PODS: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: small}
spec: {containers: [{name: app, image: none, resources: {limits: {cpu: 2, memory: 2Gi}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: pair}
spec:
  containers:
  - {name: app, image: none, resources: {limits: {cpu: 2, memory: 2Gi}}}
  - {name: proxy, image: none, resources: {limits: {cpu: 500m, memory: 256Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: shared}
spec: {containers: [{name: app, image: none, resources: {requests: {cpu: 500m, memory: 512Mi}}}]}
";

/// What the fleet has done, by its last line.
#[derive(Clone, Copy, Debug)]
struct Done {
    admitted: u64,
    refused: u64,
    publications: u64,
    mean_delay: u64,
    failures: u64,
}

impl Fleet {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        control_plane::build(RELEASE)?;
        let program = if self.of_tests {
            control_plane::topolet()?
        } else {
            run(&mut cargo(&["build", "--release", "--quiet", "--package", "topolet"]))?;
            target().join("release/topolet")
        };
        let cluster = Cluster::start(&Programs::built(&target(), RELEASE)?, Parts::Storage)?;
        control_plane::prepare(&cluster)?;
        let folder = tempfile::tempdir()?;
        let pods = folder.path().join("pods.yaml");
        fs::write(&pods, PODS)?;
        let (text, report) = self.measure(&cluster, &program, &pods)?;
        print!("{text}");
        if self.list {
            let place = ("docs/scheduler.md", "cargo xtask fleet --list");
            return if self.write { write_figures(place.0, place.1, &text) } else { Ok(()) };
        }
        if let Some(why) = report {
            bail!("{why}");
        }
        if self.write { write_figures("docs/nrt.md", "cargo xtask fleet", &text) } else { Ok(()) }
    }

    /// The figures; and what is wrong with them.
    fn measure(
        &self,
        cluster: &Cluster,
        program: &Path,
        pods: &Path,
    ) -> anyhow::Result<(String, Option<String>)> {
        let (pace, pods) = (self.pods_a_second.to_string(), pods.display().to_string());
        let arguments =
            [["--machine", &self.machine], ["--config", "pinned"], ["-f", &pods], ["--pods-a-second", &pace]];
        let mut arguments: Vec<&str> = arguments.iter().flatten().copied().collect();
        arguments.push("--publish-nrt");
        if self.list {
            arguments.push("--publish-state");
        }
        let mut fleet = local_cluster::Fleet::start(cluster, program, self.nodes, &arguments)?;
        self.wait_for_all(cluster, &mut fleet)?;
        if self.list {
            return self.listings(cluster, program).map(|text| (text, None));
        }
        let mut usage = Usage::new(fleet.id())?;
        let before = done(&fleet.log())?;
        let began = Instant::now();
        let all = Duration::from_secs_f64(self.minutes * 60.0);
        while began.elapsed() < all {
            thread::sleep(Duration::from_secs(1));
            usage.sample()?;
            if let Some(why) = fleet.why_ended() {
                bail!("{why}");
            }
        }
        let (after, percent) = (done(&fleet.log())?, usage.percent_of_a_core(began.elapsed())?);
        let object = cluster.kubectl(&["get", "noderesourcetopologies", "node-1", "-o", "json"])?;
        // As kubectl prints it without spaces; the API server's own bookkeeping is not ours.
        let object: Value = serde_json::from_str(&object)?;
        let bytes = object.to_string().len();
        let Self { nodes, machine, .. } = self;
        let decided = after.admitted + after.refused - before.admitted - before.refused;
        let milliseconds = u64::try_from(all.as_millis())?.max(1);
        let a_second = |count: u64| count * 1000 / milliseconds;
        let text = format!(
            "{nodes} nodes {machine} with {pace} pods a second for {} minutes, etcd and the API server on the same cores: \
             {percent:.0} % of a core and {} MiB in all, {} decisions and {} \
             objects a second, {} ms from a change until the API server has it (the mean; it and etcd have the rest of the \
             cores), {bytes} bytes an object, {} failed calls.\n",
            self.minutes,
            usage.largest / 1024,
            a_second(decided),
            a_second(after.publications - before.publications),
            after.mean_delay,
            after.failures,
        );
        let wrong = (after.publications == before.publications).then(|| "no object was written".to_owned());
        Ok((text, wrong))
    }

    /// How long all nodes take to be listed, with pods that were asked for.
    fn listings(&self, cluster: &Cluster, program: &Path) -> anyhow::Result<String> {
        let named = |kind: &str, at: usize| {
            kind.replacen("metadata: {name: ", &format!("metadata: {{name: w{at}-"), 1)
        };
        let kinds = PODS.split("---\n").flat_map(|kind| (0..WAITING).map(move |at| named(kind, at)));
        cluster.apply(&kinds.collect::<Vec<_>>().join("---\n"))?;
        let mut times = Vec::new();
        for _ in 0..LISTINGS {
            let mut command = Command::new(program);
            command.args(["kubectl", "nodes", "--kubeconfig"]).arg(cluster.kubeconfig());
            let began = Instant::now();
            let output = command.output()?;
            times.push(began.elapsed());
            let printed = String::from_utf8_lossy(&output.stdout);
            let rows = printed.lines().filter(|line| line.starts_with("node-")).count();
            ensure!(
                rows == usize::from(self.nodes) && printed.contains("LARGEST THAT FITS"),
                "{rows} of {} nodes are listed:\n{printed}{}",
                self.nodes,
                String::from_utf8_lossy(&output.stderr)
            );
        }
        times.sort();
        let milliseconds = |at: usize| times.get(at).map_or(0, Duration::as_millis);
        let Self { nodes, machine, pods_a_second, .. } = self;
        Ok(format!(
            "`kubectl topolet nodes` of {nodes} nodes {machine}, to each of which {pods_a_second} pods come in a second, with etcd \
             and the API server on the same cores{}: {} ms in the median of {LISTINGS}, {} ms at most.\n",
            if self.of_tests { ", by the program as tests are built" } else { "" },
            milliseconds(LISTINGS / 2),
            milliseconds(LISTINGS - 1)
        ))
    }

    /// Waits until the API server has the object of each node.
    fn wait_for_all(&self, cluster: &Cluster, fleet: &mut local_cluster::Fleet) -> anyhow::Result<()> {
        let began = Instant::now();
        let patience = Duration::from_secs(30) + EACH * u32::from(self.nodes);
        loop {
            let names = cluster.kubectl(&["get", "noderesourcetopologies", "-o", "name"])?;
            let there = names.lines().collect::<BTreeSet<_>>().len();
            if there == usize::from(self.nodes) && done(&fleet.log()).is_ok() {
                eprintln!("{there} nodes are registered after {:.0} s", began.elapsed().as_secs_f64());
                return Ok(());
            }
            if let Some(why) = fleet.why_ended() {
                bail!("{why}");
            }
            ensure!(began.elapsed() < patience, "{there} of {} nodes have published themselves", self.nodes);
            thread::sleep(Duration::from_secs(1));
        }
    }
}

/// The last line of a fleet's log about what it has done.
fn done(log: &str) -> anyhow::Result<Done> {
    let lines = log.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let line = lines.into_iter().find(|line| line["message"] == "so far");
    let line = line.context("the fleet has not logged its figures yet")?;
    let count = |name: &str| line[name].as_u64().with_context(|| format!("{line} has no {name}"));
    Ok(Done {
        admitted: count("admitted")?,
        refused: count("refused")?,
        publications: count("publications")?,
        mean_delay: count("mean_delay_milliseconds")?,
        failures: count("failures")?,
    })
}
