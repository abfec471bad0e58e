//! `cargo xtask cluster-chaos`: a cluster whose API server and nodes are killed while pods come and go.

use local_cluster::{Outages, Parts, Programs, RELEASE};
use workspace_tools::control_plane;
use workspace_tools::workspace::target;

/// Kills the API server and nodes while kube-scheduler places pods, and fails if a pod is lost or admitted twice.
///
/// Afterwards every pod runs or was refused, the ledger of each node has exactly the pods that the API server calls
/// running there, and no CPU is exclusive to two containers.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterChaos {
    /// Pods that are created.
    #[arg(long, default_value_t = 300)]
    pods: usize,
    /// Nodes.
    #[arg(long, default_value_t = 3)]
    nodes: usize,
    /// How often the API server is killed and started again.
    #[arg(long, default_value_t = 5)]
    api_server: usize,
    /// How often a node is killed and started again.
    #[arg(long, default_value_t = 5)]
    node: usize,
    /// The machine of each node.
    #[arg(long, value_name = "MACHINE", default_value = control_plane::MACHINE)]
    machine: String,
}

impl ClusterChaos {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let Self { pods, nodes, api_server, node, machine } = self;
        anyhow::ensure!(nodes > 0, "--nodes 0: no node would run the pods");
        control_plane::build(RELEASE)?;
        let topolet = control_plane::topolet()?;
        let mut cluster =
            local_cluster::Cluster::start(&Programs::built(&target(), RELEASE)?, Parts::Scheduler)?;
        let outages = Outages { pods, nodes, api_server, node, machine: &machine };
        let figures = outages.run(&mut cluster, &topolet)?;
        println!(
            "{pods} pods on {nodes} nodes; the API server was killed {api_server} times, nodes {node} times: {figures}"
        );
        Ok(())
    }
}
