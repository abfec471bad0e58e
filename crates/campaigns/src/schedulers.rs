//! `cargo xtask schedulers`: the same pods, sent by several schedulers to nodes of ours that decide as a kubelet does.
//!
//! Each scheduler has a separate cluster with the same nodes, and the pods of a scenario come to the API server one
//! after the other. A pod that its node refuses is deleted and comes again, as a controller's would.

mod kinds;
mod running;
mod pods;
mod play;
mod text;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use local_cluster::{Cluster, Containers, Fleet, Node, NodeOptions, Parts, Programs, RELEASE};
use workspace_tools::control_plane;
use workspace_tools::document::write_figures;
use workspace_tools::workspace::{cargo, root, run, target};

pub(crate) use self::kinds::Scheduler;
use self::play::{Play, Played};
use self::pods::Workload;
use self::running::{Agents, Chaos, Running};

/// Places the pods of scenarios with several schedulers on nodes of topolet, and counts what the nodes refuse.
///
/// Needs Go; the first build takes some minutes. A run takes two to four minutes for each scheduler and scenario.
#[derive(Debug, clap::Args)]
pub(crate) struct Schedulers {
    /// Only this scenario of `topolet simulate`, of whose first machine the nodes are.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Nodes, instead of those of the scenario's round.
    #[arg(long, value_name = "COUNT", requires = "scenario", value_parser = clap::value_parser!(u16).range(1..=100))]
    nodes: Option<u16>,
    /// Pods of the scenario that come.
    #[arg(long, value_name = "COUNT", requires = "scenario")]
    pods: Option<usize>,
    /// How long an hour of the scenario takes, in seconds; with more nodes than the scenario has machines, pods come so
    /// much oftener.
    #[arg(long, value_name = "SECONDS", requires = "scenario")]
    hour: Option<f64>,
    /// The Topology Manager policy of the nodes.
    #[arg(long, value_name = "POLICY", default_value = "single-numa-node")]
    policy: String,
    /// Only this scheduler; several times for several.
    #[arg(long, value_name = "SCHEDULER")]
    scheduler: Vec<Scheduler>,
    /// Kills agents of nodes and `topolet scheduler` at random meanwhile, and starts them again.
    #[arg(long)]
    chaos: bool,
    /// Writes the figures to docs/schedulers.md.
    #[arg(long, conflicts_with_all = ["scheduler", "scenario"])]
    write: bool,
}

/// What is played with each scheduler.
#[derive(Clone, Debug)]
struct Round {
    scenario: PathBuf,
    nodes: u16,
    pods: usize,
    /// How long an hour takes, in seconds.
    hour: f64,
}

/// Scenarios with nodes, pods and the seconds that an hour takes.
const ROUNDS: [(&str, u16, usize, f64); 3] = [
    ("fixtures/scenarios/edge.yaml", 10, 200, 5.0),
    ("fixtures/scenarios/telco.yaml", 20, 1000, 5.0),
    ("fixtures/scenarios/training.yaml", 20, 1000, 2.0),
];
/// That of chaos.
const CHAOS: (&str, u16, usize, f64) = ROUNDS[0];
/// How long everything may take once the last pod has come.
const SETTLE: Duration = Duration::from_mins(1);

impl Schedulers {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        ensure!(
            self.hour.is_none_or(|hour| hour > 0.0 && hour <= 3600.0),
            "--hour: between 0 and 3600 seconds"
        );
        let all = match (self.scheduler.as_slice(), self.chaos) {
            ([], true) => vec![Scheduler::Topolet],
            ([], false) => Scheduler::ALL.to_vec(),
            (chosen, _) => chosen.to_vec(),
        };
        control_plane::build(RELEASE)?;
        for scheduler in &all {
            scheduler.build()?;
        }
        run(&mut cargo(&["build", "--release", "--quiet", "--package", "topolet"]))?;
        let mut text = String::new();
        for round in self.rounds() {
            text += &self.round(&round, &all)?;
        }
        print!("{text}");
        let command = if self.chaos { "cargo xtask schedulers --chaos" } else { "cargo xtask schedulers" };
        if self.write { write_figures("docs/schedulers.md", command, &text) } else { Ok(()) }
    }

    fn rounds(&self) -> Vec<Round> {
        let round = |(scenario, nodes, pods, hour): (&str, u16, usize, f64)| Round {
            scenario: root().join(scenario),
            nodes: self.nodes.unwrap_or(nodes),
            pods: self.pods.unwrap_or(pods),
            hour: self.hour.unwrap_or(hour),
        };
        match &self.scenario {
            None if self.chaos => vec![round(CHAOS)],
            None => ROUNDS.into_iter().map(round).collect(),
            Some(scenario) => {
                let known = ROUNDS.into_iter().find(|(known, ..)| scenario.ends_with(known));
                vec![Round { scenario: scenario.clone(), ..round(known.unwrap_or(ROUNDS[0])) }]
            }
        }
    }

    /// The table of a round.
    fn round(&self, round: &Round, all: &[Scheduler]) -> anyhow::Result<String> {
        let workload = Workload::read(&round.scenario, usize::from(round.nodes), round.pods, round.hour)?;
        let mut outcomes = Vec::new();
        for scheduler in all {
            eprintln!("{}, {scheduler}: {} pods on {} nodes", workload.name, round.pods, round.nodes);
            let played = self.with(*scheduler, round, &workload).with_context(|| scheduler.to_string())?;
            eprintln!("{}, {scheduler}: {}", workload.name, played.figures);
            outcomes.push((*scheduler, played));
        }
        Ok(text::table(&self.described(round, &workload), &outcomes))
    }

    fn with(&self, scheduler: Scheduler, round: &Round, workload: &Workload) -> anyhow::Result<Played> {
        let mut cluster = Cluster::start(&Programs::built(&target(), RELEASE)?, Parts::Storage)?;
        control_plane::prepare(&cluster)?;
        let mut parts = self.parts(&cluster, scheduler, round, workload)?;
        let mut configuration = scheduler.configuration(parts.extender.as_ref())?;
        if self.chaos {
            // While it is away pods wait: the test is about its answers.
            configuration = configuration.replace("ignorable: true", "ignorable: false");
        }
        cluster.start_scheduler(&scheduler.program(), &configuration)?;
        let play = Play { pods: &workload.pods, settle: SETTLE };
        let (figures, killed) = if self.chaos {
            let (chaos, ended) = (Chaos::start(parts), play.run(&cluster));
            let (back, killed) = chaos.end()?;
            parts = back;
            (ended?, Some(killed))
        } else {
            (play.run(&cluster)?, None)
        };
        if let Some(why) = cluster.why_ended().or_else(|| parts.why_ended()) {
            anyhow::bail!("{why}");
        }
        // What kube-scheduler logs of an extender that it may ignore.
        let log = cluster.scheduler_log();
        let unanswered = log.lines().filter(|line| line.contains("Skipping extender")).count();
        if let (Some(extender), true) = (&parts.extender, figures.refused() > 0) {
            eprintln!("what the extender has logged of refusals:");
            extender
                .log()
                .lines()
                .filter(|line| line.contains("WARN"))
                .for_each(|line| eprintln!("  {line}"));
        }
        Ok(Played { figures, killed, unanswered })
    }

    /// Nodes that have published themselves, and what the scheduler asks.
    fn parts(
        &self,
        cluster: &Cluster,
        scheduler: Scheduler,
        round: &Round,
        workload: &Workload,
    ) -> anyhow::Result<Running> {
        let program = target().join("release/topolet");
        let mut arguments = vec!["--policy", self.policy.as_str(), "--publish-nrt", "--publish-state"];
        arguments.extend(workload.machine_arguments.iter().map(String::as_str));
        let agents = if self.chaos {
            let options = NodeOptions {
                name: "node",
                machine: &workload.machine,
                containers: Containers::Simulated,
                arguments: &arguments,
            };
            Agents::Processes(Node::start_several(cluster, &program, options, usize::from(round.nodes))?)
        } else {
            arguments.extend(["--machine", &workload.machine, "--config", "pinned"]);
            Agents::Fleet(Fleet::start(cluster, &program, round.nodes, &arguments)?)
        };
        for number in 1..=round.nodes {
            for kind in ["noderesourcetopologies", "nodestates"] {
                let object = format!("{kind}/node-{number}");
                cluster.kubectl(&["wait", "--for=create", &object, "--timeout=60s"])?;
            }
        }
        let extender = scheduler.extender(cluster, &program)?;
        Ok(Running { agents, extender })
    }

    fn described(&self, round: &Round, workload: &Workload) -> String {
        let Round { nodes, pods, hour, .. } = round;
        let (name, machine) = (&workload.name, workload.machine.rsplit('/').next().unwrap_or_default());
        format!(
            "{pods} pods of `{name}` on {nodes} nodes `{machine}` with the policy `{}`; an hour of the scenario takes {hour} s.",
            self.policy
        )
    }
}
