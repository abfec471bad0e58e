//! Writes events to an API server: on each pod that the kubelet refused, with the cause and what would fit, and on each that
//! shares CPUs though it requests whole ones.
//!
//! `kubectl describe pod` shows them. While the API server cannot be reached events wait, as many as are kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster_node::{
    Clock, Cluster, ClusterError, Connector, EventRecorder, EventType, Pace, PodReference, Publication,
    Published, Publisher, Reporter, Woken,
};
use conditions::{Condition, State};
use node_view::{Events, Kind, NodeEvent, reason};

use cluster_node::NodeInCluster;

/// Each event is written once, as soon as it is there.
const PACE: Pace = Pace { least: Duration::ZERO, resync: None, again: Duration::from_secs(5) };

/// Writes events for the rest of the program.
///
/// # Errors
/// The API server's address or credentials cannot be read.
pub(super) fn start(node: &NodeInCluster, events: Arc<Events>) -> anyhow::Result<()> {
    let connector = Connector::from(node.access.clone());
    let newest = events.newest();
    let seen = *newest.borrow();
    let publication = EventPublication {
        node: node.node.clone(),
        cluster: connector.connect()?,
        recorder: connector.connect()?.recorder(&node.node, Reporter::Topolet),
        seen,
        newest,
        events,
        written: Condition::new(State::Works, connector.clock().since_1970()),
        clock: connector.clock().clone(),
    };
    Ok(Publisher::new(publication, connector, PACE).start("pod-events")?)
}

struct EventPublication {
    node: String,
    /// A connection whose runtime waits for new events.
    cluster: Cluster,
    recorder: EventRecorder,
    events: Arc<Events>,
    newest: tokio::sync::watch::Receiver<u64>,
    /// The number of the last event that was handled.
    seen: u64,
    /// Whether events are written.
    written: Condition,
    clock: Arc<dyn Clock>,
}

impl Publication for EventPublication {
    fn publish(&mut self, _: Woken, _: Instant) -> Published {
        self.newest.borrow_and_update();
        let unseen = self.events.after(self.seen);
        if unseen.lost > 0 {
            tracing::warn!(events = unseen.lost, "events came too fast for the API server, and are lost");
        }
        let mut published = Published::Same;
        for event in unseen.events {
            // Lost events are reported once.
            self.seen = event.number - 1;
            match self.write(&event) {
                Ok(()) => published = Published::Written,
                Err(failed) => return failed,
            }
            self.seen = event.number;
        }
        published
    }

    fn wait(&mut self, _: Instant, within: Duration) -> Option<Woken> {
        let newest = &mut self.newest;
        // Its sender lives as long as the program.
        self.cluster.rest(async move { _ = newest.changed().await }, within)
    }

    fn reconnect(&mut self, cluster: Cluster) {
        self.recorder = cluster.recorder(&self.node, Reporter::Topolet);
    }
}

impl EventPublication {
    /// Writes an event, if it is one for the API server. An error: the write is tried again.
    fn write(&mut self, event: &NodeEvent) -> Result<(), Published> {
        let is_published = event.kind == Kind::Warning || event.reason == reason::NOT_PINNED;
        let Some(pod) = event.pod.as_ref().filter(|_| is_published) else { return Ok(()) };
        let on =
            PodReference { namespace: pod.namespace.clone(), name: pod.name.clone(), uid: pod.uid.clone() };
        let kind = match event.kind {
            Kind::Normal => EventType::Normal,
            Kind::Warning => EventType::Warning,
        };
        let Err(error) = self.recorder.record(&on, kind, &event.reason, &event.message) else {
            // Success needs no line.
            let _ = self.written.set(State::Works, self.clock.since_1970());
            return Ok(());
        };
        let text = error.to_string();
        if self.written.set(State::failed("NotWritten", &text), self.clock.since_1970()).is_some() {
            tracing::warn!(pod = pod.full(), "no event is written on the pod: {text}");
        }
        // Any other error would be the same at the next try.
        let is_tried_again = error.is_lost() || matches!(error, ClusterError::Ended(_));
        if is_tried_again { Err(Published::failed(&error)) } else { Ok(()) }
    }
}
