//! `cargo xtask nfd`: our `NodeResourceTopology` beside that of Node Feature Discovery's `nfd-topology-updater`.
//!
//! The unmodified updater reads the pod resources socket of a daemon, its configuration and the machine's sysfs, and
//! writes its object to a local API server; the daemon publishes its own there. Both are compared field by field, on
//! several machines and configurations. A difference without a verdict in `judged.rs` fails the command.

mod cases;
mod compare;
mod judged;
mod latency;
mod node;
mod updater;

use anyhow::Context as _;
use local_cluster::{Cluster, Kind, Parts, Programs, RELEASE};
use workspace_tools::document::write_figures;
use workspace_tools::workspace::{build, target};

use self::cases::{CONFIGURATIONS, MACHINES};
use self::compare::Comparison;
use self::judged::Outcome;
use self::latency::Latency;
use self::node::Node;
use self::updater::Updater;

/// Compares what is published of a node with what Node Feature Discovery's topology updater publishes, and measures how
/// long an admission takes to get there. Needs Go; the first build takes some minutes.
#[derive(Debug, clap::Args)]
pub(crate) struct Nfd {
    /// Writes the figures to docs/nrt.md.
    #[arg(long)]
    write: bool,
    /// How many admissions are timed, one after the other.
    #[arg(long, value_name = "COUNT", default_value = "20")]
    admissions: u32,
}

impl Nfd {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        workspace_tools::control_plane::build(RELEASE)?;
        let updater = Updater::build()?;
        build(&["topolet"])?;
        let cluster = Cluster::start(&Programs::built(&target(), RELEASE)?, Parts::Storage)?;
        cluster.define(&[Kind::NodeResourceTopology])?;
        let mut outcomes = Vec::new();
        for machine in MACHINES {
            for (configuration, text) in CONFIGURATIONS {
                eprintln!("{machine}, {configuration}");
                let comparison = compared(&cluster, &updater, machine, text)
                    .with_context(|| format!("{machine}, {configuration}"))?;
                outcomes.push(Outcome { machine, configuration, comparison });
            }
        }
        let latency = Latency::measure(&cluster, self.admissions)?;
        let text = judged::text(&outcomes, &latency)?;
        print!("{text}");
        if self.write { write_figures("docs/nrt.md", "cargo xtask nfd", &text) } else { Ok(()) }
    }
}

fn compared(cluster: &Cluster, updater: &Updater, machine: &str, config: &str) -> anyhow::Result<Comparison> {
    let node = Node::start(cluster, machine, config)?;
    node.admit(cases::pods())?;
    let ours = node.published()?;
    let theirs = updater.publish(cluster, &node)?;
    let comparison = Comparison::of(&theirs, &ours);
    node.end()?;
    Ok(comparison)
}
