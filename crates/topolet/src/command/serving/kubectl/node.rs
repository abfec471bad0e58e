//! `kubectl topolet node NODE`: a node on one screen, as its agent shows it, else as the API server's objects do.

use clap::Args;
use node_daemon::cluster_node::{Cluster, ClusterError};
use node_input::SeenNode;
use node_output::{BoundLine, Document, NodeOutlook, NotRunning, PublishedRoom, WholeLine};
use pod_spec::Phase;

use super::agent::{Agent, NoAnswer};
use super::cluster::ClusterArguments;
use super::seen;
use crate::arguments::OutputArguments;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
// A node has no namespace: -n is taken, as kubectl takes it for nodes, and not offered.
#[command(mut_arg("namespace", |namespace| namespace.hide(true)))]
pub(crate) struct OneNode {
    /// The node.
    #[arg(value_name = "NODE")]
    name: String,
    #[command(flatten)]
    cluster: ClusterArguments,
    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(arguments: &OneNode, screen: Screen) -> anyhow::Result<Outcome> {
    let OneNode { name, cluster: given, output } = arguments;
    let cluster = given.connect()?;
    exists(&cluster, name)?;
    let agent = Agent::of(name, &cluster, given.agent.as_ref());
    let why = match agent {
        Ok(agent) => match agent.show("/v1/status", "", None, output, screen) {
            Ok(Some(outcome)) => return Ok(outcome),
            Ok(None) => NoAnswer(format!("{agent} shows no status: it is of another release")),
            Err(error) => agent.no_answer(error)?,
        },
        Err(why) => why,
    };
    let outlook = outlook(seen::look(&cluster, name, &why)?);
    match Document::new("NodeOutlook", &outlook).text(output.output)? {
        Some(text) => screen.print(&text)?,
        None => screen.show(&outlook.text(screen.page))?,
    }
    Ok(if outlook.problems.is_empty() { Outcome::Done } else { Outcome::SomethingWrong })
}

/// An unknown node is an error; one that may not be looked at need not be unknown.
fn exists(cluster: &Cluster, name: &str) -> anyhow::Result<()> {
    match cluster.node(name) {
        Err(ClusterError::NotFound(_)) => {
            anyhow::bail!("there is no node {name}; `kubectl get nodes` lists all nodes")
        }
        Err(ClusterError::Forbidden(_)) | Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn outlook(seen: SeenNode) -> NodeOutlook {
    let whole = seen.whole(|_| true).map(|whole| whole.all().map(|one| WholeLine::new(&one, None)).collect());
    let bound = seen.pods.as_ref().map(|pods| {
        let running = pods.iter().filter(|pod| pod.phase == Phase::Active);
        running
            .map(|pod| BoundLine {
                pod: format!("{}/{}", pod.namespace, pod.name),
                requests: seen.aligned(pod),
            })
            .collect()
    });
    let not_running =
        seen.refused.iter().map(|(pod, reason)| NotRunning { pod: pod.clone(), reason: reason.clone() });
    NodeOutlook {
        not_running: not_running.collect(),
        node: seen.name,
        policies: seen.policies.into(),
        room: seen.zones.as_ref().map(PublishedRoom::all),
        whole,
        pods: bound,
        not_seen: seen.gaps,
        problems: seen.problems,
    }
}
