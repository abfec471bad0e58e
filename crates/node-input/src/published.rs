//! A node as its agent publishes it, `NodeState` of `topolet.dev/v1alpha1`: all that decisions on pods depend on, so that
//! a reader decides as the node does.
//!
//! What the node is (machine, configuration, options) is written apart from what its pods hold: of thousands of nodes many
//! are the same, and a reader starts each of them once. What pods hold is in the kubelet's own state files; what they
//! request is written once for all pods of a node that request the same.

mod description;
mod holdings;
mod links;
mod shapes;

use serde::{Deserialize, Serialize};

pub use description::{NodeDescription, StartedNode};
pub use holdings::{NodeHoldings, PublishedPod, PublishedRefusal};
pub use shapes::PodShapes;

const API_VERSION: &str = "topolet.dev/v1alpha1";
const KIND: &str = "NodeState";

/// The object of a node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeState {
    api_version: String,
    kind: String,
    /// Its name.
    pub metadata: ObjectName,
    /// What decides on pods.
    pub node: NodeDescription,
    /// What pods hold.
    pub holdings: NodeHoldings,
}

/// What an object is called.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ObjectName {
    /// As the cluster calls the node.
    pub name: String,
}

impl NodeState {
    /// The object of the node that its cluster calls `name`.
    #[must_use]
    pub fn new(name: &str, node: NodeDescription, holdings: NodeHoldings) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            metadata: ObjectName { name: name.to_owned() },
            node,
            holdings,
        }
    }
}
