//! States of nodes as their agents publish them.

use std::sync::Arc;

use node_input::{NodeState, PodShapes};
use scheduler_extender::SharedNodes;
use serde_json::Value;
use topology_admission::{Ledger, Node};

/// Reads states of nodes. Nodes that are described alike are started once, and share what that comes to.
#[derive(Default)]
pub struct StateReader {
    shared: SharedNodes<String>,
    shapes: PodShapes,
}

/// A state that was read.
pub struct ReadState {
    /// As it is published.
    pub state: NodeState,
    /// The node that decides.
    pub node: Arc<Node>,
    /// What its pods hold.
    pub ledger: Ledger,
}

impl StateReader {
    /// Reads a `NodeState` of `topolet.dev/v1alpha1`.
    ///
    /// # Errors
    /// It is none, a kubelet does not start with its description, or its pods hold what the node has not.
    pub fn read(&mut self, object: Value) -> anyhow::Result<ReadState> {
        let state: NodeState = serde_json::from_value(object)?;
        let key = serde_json::to_string(&state.node)?;
        let node = self.shared.share(key, || state.node.start().map(|started| started.node))?;
        let ledger = state.holdings.ledger(&node, &mut self.shapes)?;
        Ok(ReadState { state, node, ledger })
    }
}
