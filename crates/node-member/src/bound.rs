//! Watches the pods that are bound to the node: all of them after each break of the watch, and then each change.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use cluster_node::{ClusterError, Connector, Listener, Listening, ObjectEvent, Watched};
use crossbeam::channel::Sender;
use node_view::{NodeCondition, NodeConditions};

/// The longest pause between two tries.
const AGAIN: Duration = Duration::from_secs(10);

/// Starts the thread, for the rest of the program.
pub(super) fn start(
    connector: Connector,
    node: String,
    conditions: Arc<NodeConditions>,
    to: Sender<ObjectEvent>,
) -> anyhow::Result<()> {
    let bound = Bound { conditions, to };
    Ok(Listening::new(connector, Watched::PodsBoundTo(node), AGAIN, bound).start("bound")?)
}

struct Bound {
    conditions: Arc<NodeConditions>,
    to: Sender<ObjectEvent>,
}

impl Listener for Bound {
    fn heard(&mut self, event: ObjectEvent) -> ControlFlow<()> {
        if matches!(event, ObjectEvent::Complete { .. }) {
            self.conditions.member_works(NodeCondition::PodsWatched);
        }
        match self.to.send(event) {
            Ok(()) => ControlFlow::Continue(()),
            // The thread that handles them has ended.
            Err(_) => ControlFlow::Break(()),
        }
    }

    fn failed(&mut self, error: &ClusterError) {
        self.conditions.member_fails(NodeCondition::PodsWatched, &error.to_string());
    }
}
