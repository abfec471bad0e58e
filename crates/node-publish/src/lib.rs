#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! - What schedulers read of a node: `crates/node-resource-topology/src/node.rs`; how containers are placed in it:
//!   `placement.rs` beside it; how it is kept at an API server: `crates/node-publish/src/topology.rs`, and when it is
//!   left to another producer: `topology/others.rs`. What each field means: `docs/nrt.md`.

mod changed;
mod topology;
mod state;

use cluster_node::NodeInCluster;
use node_view::NodeView;

pub use topology::TopologyPublication;

/// What is published of a node, and where.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Publications {
    /// Where the `NodeResourceTopology` is published; `None`: nowhere.
    pub topology: Option<TopologyPublication>,
    /// Where the `NodeState` is published; `None`: nowhere.
    pub state: Option<NodeInCluster>,
}

impl Publications {
    /// Goes on publishing for the rest of the program.
    ///
    /// # Errors
    /// The API server's address or credentials cannot be read.
    pub fn start(&self, view: &NodeView) -> anyhow::Result<()> {
        if let Some(to) = &self.topology {
            topology::start(to, view)?;
        }
        if let Some(to) = &self.state {
            state::start(to, view)?;
        }
        Ok(())
    }
}
