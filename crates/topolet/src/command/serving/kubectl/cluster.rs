//! Which cluster, and who is asked there.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use node_daemon::cluster_node::{Access, Cluster, KubectlAccess};

use super::agent::AgentPlace;

/// Which cluster.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct PlaceArguments {
    /// The file that says where the API server is. Without it those of KUBECONFIG, else ~/.kube/config.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig. Without it its current one.
    #[arg(long, value_name = "CONTEXT")]
    pub(super) context: Option<String>,
}

#[derive(Args, Clone, Debug, Default)]
pub(super) struct ClusterArguments {
    #[command(flatten)]
    pub(super) place: PlaceArguments,
    /// The pod's namespace. Without it that of the context.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(super) namespace: Option<String>,
    /// The agent of the node: its socket, or an address such as `http://127.0.0.1:8080` that `kubectl port-forward`
    /// listens at. Without it the API server forwards a port of the agent's pod.
    #[arg(long, value_name = "SOCKET|URL")]
    pub(super) agent: Option<AgentPlace>,
}

impl ClusterArguments {
    pub(super) fn connect(&self) -> anyhow::Result<Cluster> {
        self.place.connect()
    }
}

impl PlaceArguments {
    pub(super) fn connect(&self) -> anyhow::Result<Cluster> {
        let Self { kubeconfig, context, .. } = self.clone();
        Ok(Cluster::new(&Access::Kubectl(KubectlAccess { kubeconfig, context }))?)
    }
}
