//! What is simulated: nodes, what is published of them, and pods that come by themselves.

use cluster_node::Access;
use node_input::LoadedNode;
use pod_spec::Pod;

/// Nodes that are simulated.
pub struct Fleet {
    /// How the API server is reached.
    pub access: Access,
    /// What nodes are called: `node` makes `node-1`, `node-2` and so on.
    pub name: String,
    /// How many there are.
    pub count: usize,
    /// The machine and configuration of each.
    pub node: LoadedNode,
    /// What schedulers can read of them.
    pub published: Published,
    /// Pods that come to each by themselves.
    pub churn: Churn,
}

/// What schedulers can read of the nodes, beside their objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Published {
    /// Their `NodeResourceTopology`.
    pub topology: bool,
    /// Their `NodeState`.
    pub state: bool,
}

/// Pods that come to each node by themselves, and of which no API server knows. The oldest goes when there is no room.
#[derive(Clone, Debug, Default)]
pub struct Churn {
    /// The kinds of pods, which take turns.
    pub kinds: Vec<Pod>,
    /// How many come to each node in a second; none if this is 0.
    pub a_second: f64,
}
