//! `cargo xtask schedulers`: the same pods, sent by several schedulers to nodes of ours that decide as a kubelet does.
//!
//! Each scheduler has a cluster of its own with the same nodes, and the pods of a scenario come to the API server one
//! after the other. A pod that its node refuses is deleted and comes again, as a controller's would.

mod kinds;
mod pods;
mod play;
mod text;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use local_cluster::{
    Cluster, Containers, NODE_RIGHTS, Node, NodeOptions, PUBLISHER_RIGHTS, Parts, Programs, READER_RIGHTS,
    RELEASE,
};

pub(crate) use self::kinds::Scheduler;
use self::play::{Figures, Play};
use self::pods::Workload;
use crate::document::write_figures;
use crate::{cargo, cluster, root, run, target};

/// Places the pods of a scenario with several schedulers on nodes of topolet, and counts what the nodes refuse.
///
/// Needs Go; the first build takes some minutes. A run takes two minutes for each scheduler.
#[derive(Debug, clap::Args)]
pub(crate) struct Schedulers {
    /// A scenario of `topolet simulate`, of whose first machine the nodes are.
    #[arg(long, value_name = "FILE", default_value = SCENARIO)]
    scenario: PathBuf,
    /// Nodes.
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    nodes: u16,
    /// Pods of the scenario that come.
    #[arg(long, value_name = "COUNT", default_value_t = 200)]
    pods: usize,
    /// How long an hour of the scenario takes, in seconds; with more nodes than the scenario has machines, pods come so
    /// much oftener.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    hour: f64,
    /// The Topology Manager policy of the nodes.
    #[arg(long, value_name = "POLICY", default_value = "single-numa-node")]
    policy: String,
    /// Only this scheduler; several times for several.
    #[arg(long, value_name = "SCHEDULER")]
    scheduler: Vec<Scheduler>,
    /// Writes the figures to docs/schedulers.md.
    #[arg(long, conflicts_with = "scheduler")]
    write: bool,
}

const SCENARIO: &str = "fixtures/scenarios/edge.yaml";
/// How long everything may take once the last pod has come.
const SETTLE: Duration = Duration::from_mins(1);

impl Schedulers {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        ensure!(self.hour > 0.0 && self.hour <= 3600.0, "--hour {}: between 0 and 3600 seconds", self.hour);
        let all = if self.scheduler.is_empty() { Scheduler::ALL.to_vec() } else { self.scheduler.clone() };
        cluster::build(RELEASE)?;
        for scheduler in &all {
            scheduler.build()?;
        }
        run(&mut cargo(&["build", "--release", "--quiet", "--package", "topolet"]))?;
        let workload = Workload::read(&self.scenario, usize::from(self.nodes), self.pods, self.hour)?;
        let mut outcomes = Vec::new();
        for scheduler in all {
            eprintln!("{scheduler}: {} pods on {} nodes", self.pods, self.nodes);
            let figures = self.with(scheduler, &workload).with_context(|| scheduler.to_string())?;
            eprintln!("{scheduler}: {figures}");
            outcomes.push((scheduler, figures));
        }
        let text = text::table(&self.described(&workload), &outcomes);
        print!("{text}");
        if self.write { write_figures("docs/schedulers.md", "cargo xtask schedulers", &text) } else { Ok(()) }
    }

    fn with(&self, scheduler: Scheduler, workload: &Workload) -> anyhow::Result<Figures> {
        let mut cluster = Cluster::start(&Programs::built(&target(), RELEASE)?, Parts::Storage)?;
        prepare(&cluster)?;
        let nodes = self.join(&cluster, workload)?;
        cluster.start_scheduler(&scheduler.program(), scheduler.configuration())?;
        let figures = Play { pods: &workload.pods, settle: SETTLE }.run(&cluster)?;
        if let Some(why) = cluster.why_scheduler_ended() {
            anyhow::bail!("{why}");
        }
        drop(nodes);
        Ok(figures)
    }

    fn join(&self, cluster: &Cluster, workload: &Workload) -> anyhow::Result<Vec<Node>> {
        let program = target().join("release/topolet");
        let mut arguments = vec!["--policy", self.policy.as_str(), "--publish-nrt"];
        arguments.extend(workload.machine_arguments.iter().map(String::as_str));
        let options = NodeOptions {
            name: "node",
            machine: &workload.machine,
            containers: Containers::Simulated,
            arguments: &arguments,
        };
        let nodes = Node::start_several(cluster, &program, options, usize::from(self.nodes))?;
        for node in &nodes {
            cluster.kubectl(&[
                "wait",
                "--for=create",
                &format!("noderesourcetopologies/{}", node.name()),
                "--timeout=30s",
            ])?;
        }
        Ok(nodes)
    }

    fn described(&self, workload: &Workload) -> String {
        let Self { nodes, pods, hour, policy, .. } = self;
        let (name, machine) = (&workload.name, workload.machine.rsplit('/').next().unwrap_or_default());
        format!(
            "{pods} pods of `{name}` on {nodes} nodes `{machine}` with the policy `{policy}`; an hour of the scenario takes \
             {hour} s."
        )
    }
}

/// What nodes need that publish, and schedulers that read it.
pub(crate) fn prepare(cluster: &Cluster) -> anyhow::Result<()> {
    const KIND: &str = "crd/noderesourcetopologies.topology.node.k8s.io";
    let definition = root().join("deploy/crd/topology.node.k8s.io_noderesourcetopologies.yaml");
    let definition = fs::read_to_string(&definition)
        .with_context(|| format!("failed to read {}", definition.display()))?;
    cluster.apply(&definition)?;
    cluster.kubectl(&["wait", "--for=condition=Established", KIND, "--timeout=30s"])?;
    for rights in [NODE_RIGHTS, PUBLISHER_RIGHTS, READER_RIGHTS] {
        cluster.apply(rights)?;
    }
    Ok(())
}
