//! What is read.

use serde_json::Value;

/// Objects as an API server lists them, each whole in JSON; `Err`: why they could not be listed.
#[derive(Clone, Debug)]
pub struct ClusterObjects {
    /// `Node`.
    pub nodes: Vec<Value>,
    /// `NodeState` of `topolet.dev/v1alpha1`.
    pub states: Result<Vec<Value>, String>,
    /// `NodeResourceTopology` of `topology.node.k8s.io/v1alpha2`.
    pub topologies: Result<Vec<Value>, String>,
    /// `Pod`, of all namespaces.
    pub pods: Result<Vec<Value>, String>,
}
