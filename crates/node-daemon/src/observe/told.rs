//! What an API server is told: an event on each pod that the kubelet refused, with why and what would fit, and on each
//! that shares CPUs though it requests whole ones.
//!
//! `kubectl describe pod` shows them. While the API server cannot be reached events wait, as many as are kept.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cluster_node::{Cluster, ClusterError, EventRecorder, EventType, PodReference, Reporter};
use conditions::{Condition, State};
use node_view::{Events, Kind, NodeEvent, now, reason};

use crate::api_server::NodeInCluster;

/// Between two tries to reach the API server.
const AGAIN: Duration = Duration::from_secs(5);

/// Goes on telling for the rest of the program.
///
/// # Errors
/// The API server's address or credentials cannot be read.
pub(super) fn start(node: &NodeInCluster, events: Arc<Events>) -> anyhow::Result<()> {
    let recorder = Cluster::new(&node.access)?.recorder(&node.node, Reporter::Topolet);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let telling = Telling { recorder, events, written: Condition::new(State::Works, now()) };
    thread::Builder::new().name("told".to_owned()).spawn(move || telling.run(&runtime))?;
    Ok(())
}

struct Telling {
    recorder: EventRecorder,
    events: Arc<Events>,
    /// Whether events are written.
    written: Condition,
}

impl Telling {
    fn run(mut self, runtime: &tokio::runtime::Runtime) {
        let mut newest = self.events.newest();
        let mut seen = *newest.borrow_and_update();
        loop {
            let unseen = self.events.after(seen);
            if unseen.lost > 0 {
                tracing::warn!(events = unseen.lost, "events came too fast for the API server, and are lost");
            }
            for event in unseen.events {
                while !self.tell(&event) {
                    thread::sleep(AGAIN);
                }
                seen = event.number;
            }
            // It lives as long as the program.
            if runtime.block_on(newest.changed()).is_err() {
                return;
            }
        }
    }

    /// Whether there is no more to be done about the event.
    fn tell(&mut self, event: &NodeEvent) -> bool {
        let is_told = event.kind == Kind::Warning || event.reason == reason::NOT_PINNED;
        let Some(pod) = event.pod.as_ref().filter(|_| is_told) else { return true };
        let on =
            PodReference { namespace: pod.namespace.clone(), name: pod.name.clone(), uid: pod.uid.clone() };
        let kind = match event.kind {
            Kind::Normal => EventType::Normal,
            Kind::Warning => EventType::Warning,
        };
        let Err(error) = self.recorder.record(&on, kind, &event.reason, &event.message) else {
            // The event is there to be seen.
            let _ = self.written.set(State::Works, now());
            return true;
        };
        let text = error.to_string();
        if self.written.set(State::failed("NotWritten", &text), now()).is_some() {
            tracing::warn!(pod = pod.full(), "no event is written on the pod: {text}");
        }
        // Another answer would be the same the next time.
        !matches!(
            error,
            ClusterError::Unreachable { .. }
                | ClusterError::Late { .. }
                | ClusterError::Ended(_)
                | ClusterError::Unauthorized { .. }
        )
    }
}
