//! The node itself, kept at an API server for schedulers that decide as the node does: its `NodeState`.
//!
//! What pods hold is written as soon as it changes and at most once a second; what the node is, when it starts and when
//! somebody has deleted the object.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cluster_node::{Cluster, ClusterError, Found, StateError, StatePart};
use node_agent::Snapshot;
use node_input::{NodeDescription, NodeHoldings, PublishedRefusal};
use node_view::NodeCondition::StatePublished;
use node_view::NodeView;

use crate::api_server::NodeInCluster;
use crate::changed::Changed;

/// Between two writes.
const PACE: Duration = Duration::from_secs(1);
/// Between two tries.
const AGAIN: Duration = Duration::from_secs(5);
/// So often the object is written though nothing has changed: somebody may have deleted it.
const RESYNC: Duration = Duration::from_mins(1);

/// Goes on publishing for the rest of the program, if somebody has said where.
///
/// # Errors
/// The API server's address or credentials cannot be read.
pub(super) fn start(to: Option<&NodeInCluster>, view: &NodeView) -> anyhow::Result<()> {
    let Some(to) = to else { return Ok(()) };
    let cluster = Cluster::new(&to.access)?;
    let changed = Changed::of(&view.snapshots);
    let publishing = Publishing {
        description: NodeDescription::of(view.node()),
        to: to.clone(),
        cluster,
        view: view.clone(),
        changed,
        knows: Knows::Nothing,
    };
    thread::Builder::new().name("state".to_owned()).spawn(move || publishing.run())?;
    Ok(())
}

struct Publishing {
    description: NodeDescription,
    to: NodeInCluster,
    cluster: Cluster,
    view: NodeView,
    /// Whether there is a snapshot that has not been published.
    changed: Arc<Changed>,
    knows: Knows,
}

/// What the API server knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Knows {
    /// Nothing, as far as is known here.
    Nothing,
    /// What the node is.
    Node,
}

impl Publishing {
    fn run(mut self) {
        loop {
            let began = Instant::now();
            // Taken before the snapshot: no later change is lost.
            self.changed.take();
            match self.write() {
                Ok(()) => {
                    if self.view.conditions.works(StatePublished) {
                        tracing::info!("NodeState {} is published", self.to.node);
                    }
                    thread::sleep(PACE.saturating_sub(began.elapsed()));
                    let changed = self.changed.clone();
                    self.cluster.rest(async move { changed.wait().await }, RESYNC);
                }
                Err(error) => {
                    let text = format!("NodeState {} is not published: {error}", self.to.node);
                    self.view.conditions.fails(StatePublished, &text);
                    self.reconnect(&error);
                    thread::sleep(AGAIN);
                }
            }
        }
    }

    fn write(&mut self) -> Result<(), StateError> {
        let name = &self.to.node;
        if self.knows == Knows::Nothing {
            self.cluster.write_state(name, StatePart::Node, &self.description)?;
            self.knows = Knows::Node;
        }
        let holdings = holdings(&self.view, &self.view.snapshot());
        if self.cluster.write_state(name, StatePart::Holdings, &holdings)? == Found::Missing {
            self.cluster.write_state(name, StatePart::Node, &self.description)?;
        }
        Ok(())
    }

    /// Credentials may have been renewed.
    fn reconnect(&mut self, error: &StateError) {
        let is_lost = matches!(
            error,
            StateError::Cluster(
                ClusterError::Unauthorized { .. }
                    | ClusterError::Unreachable { .. }
                    | ClusterError::Late { .. }
            )
        );
        if is_lost && let Ok(cluster) = Cluster::new(&self.to.access) {
            self.cluster = cluster;
        }
    }
}

fn holdings(view: &NodeView, snapshot: &Snapshot) -> NodeHoldings {
    let refused = snapshot
        .refused
        .iter()
        .map(|(uid, refused)| PublishedRefusal { uid: uid.to_string(), reason: refused.reason.to_string() });
    NodeHoldings::of(&view.node().node, &snapshot.ledger, refused.collect())
}
