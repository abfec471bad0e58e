//! `topolet fleet`: many simulated nodes of a cluster in one process.

use std::path::PathBuf;

use anyhow::ensure;
use clap::{Args, ValueHint};
use node_daemon::cluster_node::Access;
use node_daemon::in_small_pages;
use node_fleet::{Churn, Fleet, Published};
use node_input::{LoadedNode, manifest_files, manifests_in};
use node_output::manifest_style;
use pod_spec::Pod;
use topology_manifest::{UnknownFields, check_node_name};

use crate::arguments::{MachineArguments, RulesArguments};
use crate::log_arguments::LogArguments;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct FleetArguments {
    /// How the API server is reached.
    #[arg(long, value_name = "FILE", required_unless_present = "in_cluster", value_hint = ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,
    /// The same, as the service account of the pod that this runs in.
    #[arg(long, conflicts_with = "kubeconfig")]
    in_cluster: bool,
    /// How many nodes there are.
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    nodes: u16,
    /// What they are called: NAME-1, NAME-2 and so on.
    #[arg(long, value_name = "NAME", default_value = "node")]
    name: String,
    /// Keeps the `NodeResourceTopology` of each node at the API server.
    #[arg(long)]
    publish_nrt: bool,
    /// Keeps the `NodeState` of each node at the API server, for `topolet scheduler`.
    #[arg(long)]
    publish_state: bool,
    /// Pods that come to each node by themselves, with --pods-a-second, and of which the API server does not hear: the
    /// kinds take turns, and the oldest goes when there is no room.
    #[arg(short, long = "filename", value_name = "FILE", requires = "pods_a_second", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// How many of them come to each node in a second.
    #[arg(long, value_name = "NUMBER", requires = "files", value_parser = pace)]
    pods_a_second: Option<f64>,
    #[command(flatten)]
    log: LogArguments,
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    rules: RulesArguments,
}

/// A number of pods in a second.
fn pace(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "expected a number such as 5 or 0.5".to_owned())?;
    if (0.001..=1000.0).contains(&number) { Ok(number) } else { Err("expected 0.001 to 1000".to_owned()) }
}

pub(super) fn run(arguments: &FleetArguments, screen: Screen) -> anyhow::Result<Outcome> {
    check_node_name(&arguments.name)
        .map_err(|wrong| anyhow::anyhow!("no node can be called {:?}: {wrong}", arguments.name))?;
    let node = LoadedNode::load(&arguments.machine.source(), &arguments.rules.source())?;
    let churn = churn(arguments, &node)?;
    let access = arguments.kubeconfig.clone().map_or(Access::InCluster, Access::Kubeconfig);
    let fleet = Fleet {
        access,
        name: arguments.name.clone(),
        count: arguments.nodes.into(),
        node,
        published: Published { topology: arguments.publish_nrt, state: arguments.publish_state },
        churn,
    };
    in_small_pages();
    let log = arguments.log.start()?;
    if let Err(error) = node_fleet::run(&fleet) {
        log.end_with(move || screen.error(&error));
        return Ok(Outcome::Failed);
    }
    Ok(Outcome::Done)
}

/// The pods that come by themselves.
fn churn(arguments: &FleetArguments, node: &LoadedNode) -> anyhow::Result<Churn> {
    let Some(a_second) = arguments.pods_a_second else { return Ok(Churn::default()) };
    let mut kinds = Vec::new();
    for file in manifest_files(&arguments.files)? {
        let read = manifests_in(&file, node.node.pod_rules(), UnknownFields::Report)?;
        if let Some(refusal) = read.refused.first() {
            anyhow::bail!("{}", refusal.render(manifest_style()));
        }
        kinds.extend(read.pods.into_iter().map(Pod::delivered));
    }
    ensure!(!kinds.is_empty(), "the files of -f have no pods: --pods-a-second has none to send");
    Ok(Churn { kinds, a_second })
}
