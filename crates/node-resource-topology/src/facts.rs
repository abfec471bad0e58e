//! What an object says of a node: its managers, its machine, its configuration and what runs on it.

use node_config::KubeletConfiguration;
use topology_admission::{Ledger, Node};
use topology_model::KubeletView;

/// A node and what runs on it.
#[derive(Clone, Copy, Debug)]
pub struct NodeFacts<'a> {
    /// Its managers.
    pub node: &'a Node,
    /// The machine from which the node was started.
    pub view: &'a KubeletView,
    /// The configuration with which the node was started.
    pub config: &'a KubeletConfiguration,
    /// What pods hold, and which devices there are.
    pub ledger: &'a Ledger,
}
