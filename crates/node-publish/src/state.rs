//! Publishes the `NodeState` of the node, by which schedulers decide as the node does.
//!
//! What pods hold is written as soon as it changes and at most once a second; the description of the node at the start, and
//! when the object was deleted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster_node::{
    Cluster, Connector, Found, Pace, Publication, Published, Publisher, StateError, StatePart, Woken,
};
use node_agent::Snapshot;
use node_input::{NodeDescription, NodeHoldings, PublishedRefusal};
use node_view::NodeCondition::StatePublished;
use node_view::NodeView;

use crate::changed::Changed;
use cluster_node::NodeInCluster;

/// The object is written this often without a change: another client may have deleted it.
const RESYNC: Duration = Duration::from_mins(1);
const PACE: Pace =
    Pace { least: Duration::from_secs(1), resync: Some(RESYNC), again: Duration::from_secs(5) };

/// Goes on publishing for the rest of the program.
///
/// # Errors
/// The API server's address or credentials cannot be read.
pub(super) fn start(to: &NodeInCluster, view: &NodeView) -> anyhow::Result<()> {
    let connector = Connector::from(to.access.clone());
    let publisher = StatePublisher {
        description: NodeDescription::of(view.node()),
        name: to.node.clone(),
        cluster: connector.connect()?,
        view: view.clone(),
        changed: Changed::of(&view.snapshots, connector.clock().clone()),
        sent: Sent::Nothing,
    };
    Ok(Publisher::new(publisher, connector, PACE).start("state")?)
}

struct StatePublisher {
    description: NodeDescription,
    name: String,
    cluster: Cluster,
    view: NodeView,
    /// Whether there is a snapshot that has not been published.
    changed: Arc<Changed>,
    sent: Sent,
}

/// Which parts of the object have been written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sent {
    /// None by this process.
    Nothing,
    /// The description of the node.
    Node,
}

impl Publication for StatePublisher {
    fn publish(&mut self, _: Woken, _: Instant) -> Published {
        // Taken before the snapshot: no later change is lost.
        self.changed.take();
        match self.write() {
            Ok(()) => {
                if self.view.conditions.works(StatePublished) {
                    tracing::info!("NodeState {} is published", self.name);
                }
                Published::Written
            }
            Err(error) => {
                let text = format!("NodeState {} is not published: {error}", self.name);
                self.view.conditions.fails(StatePublished, &text);
                match &error {
                    StateError::Cluster(error) => Published::failed(error),
                    StateError::NoDefinition => Published::Failed,
                }
            }
        }
    }

    fn wait(&mut self, _: Instant, within: Duration) -> Option<Woken> {
        self.cluster.rest(self.changed.wait(), within)
    }

    fn reconnect(&mut self, cluster: Cluster) {
        self.cluster = cluster;
    }
}

impl StatePublisher {
    fn write(&mut self) -> Result<(), StateError> {
        let name = &self.name;
        if self.sent == Sent::Nothing {
            self.cluster.write_state(name, StatePart::Node, &self.description)?;
            self.sent = Sent::Node;
        }
        let holdings = holdings(&self.view, &self.view.snapshot());
        if self.cluster.write_state(name, StatePart::Holdings, &holdings)? == Found::Missing {
            self.cluster.write_state(name, StatePart::Node, &self.description)?;
        }
        Ok(())
    }
}

fn holdings(view: &NodeView, snapshot: &Snapshot) -> NodeHoldings {
    let refused = snapshot
        .refused
        .iter()
        .map(|(uid, refused)| PublishedRefusal { uid: uid.to_string(), reason: refused.reason.to_string() });
    NodeHoldings::of(&view.node().node, &snapshot.ledger, refused.collect())
}
