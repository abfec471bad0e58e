//! What is read.

use cluster_node::{Cluster, ClusterError, ListedKind};
use jiff::Timestamp;
use serde_json::Value;

use crate::recent::RecentPods;

/// Objects as an API server lists them, each whole in JSON but pods; `Err`: why they could not be listed.
#[derive(Clone, Debug)]
pub struct ClusterObjects {
    /// `Node`.
    pub nodes: Vec<Value>,
    /// `NodeState` of `topolet.dev/v1alpha1`.
    pub states: Result<Vec<Value>, String>,
    /// `NodeResourceTopology` of `topology.node.k8s.io/v1alpha2`.
    pub topologies: Result<Vec<Value>, String>,
    /// `Pod`, of all namespaces: what counts of them.
    pub pods: Result<RecentPods, String>,
}

impl ClusterObjects {
    /// Lists them as they are at that time; with `labels` the nodes that have these alone.
    ///
    /// # Errors
    /// The nodes cannot be listed. Why other objects cannot is in their place.
    pub fn listed(cluster: &Cluster, labels: Option<&str>, now: Timestamp) -> Result<Self, ClusterError> {
        let pods = cluster.folded(ListedKind::Pods, None, |all: &mut RecentPods, pod| all.add(&pod, now));
        let published = |kind, what: &str| match cluster.all_of(kind, None) {
            // Without a producer the kind need not be installed.
            Err(ClusterError::NotFound(_)) => Err(format!("the API server has no {what}")),
            listed => listed.map_err(|error| error.to_string()),
        };
        Ok(Self {
            nodes: cluster.all_of(ListedKind::Nodes, labels)?,
            states: published(ListedKind::NodeStates, "NodeState"),
            topologies: published(ListedKind::NodeTopologies, "NodeResourceTopology"),
            pods: pods.map_err(|error| error.to_string()),
        })
    }
}
