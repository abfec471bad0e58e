//! What is sent to the API server about pods, and what is done when it does not take it.
//!
//! A server that cannot be reached is left alone for a while, whatever there is to be sent. A call that it answers with an
//! error holds up its own pod only.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use cluster_node::{
    Backoff, Clock, ClusterError, Connector, EventRecorder, EventType, PodReference, Reporter,
};
use node_view::{NodeCondition, NodeConditions};

/// The longest pause between two tries to reach the API server.
const PAUSE: Duration = Duration::from_secs(5);
/// So many events wait; of more the oldest are lost.
const EVENTS: usize = 1000;

/// Whether the API server is left alone.
pub(super) struct Gate {
    backoff: Backoff,
    until: Option<Instant>,
}

impl Gate {
    pub(super) const fn open() -> Self {
        Self { backoff: Backoff::up_to(PAUSE), until: None }
    }

    pub(super) fn is_open(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| until <= now)
    }

    /// An answer came, or none did: what of the error is about the server closes the gate.
    pub(super) fn heard(&mut self, error: Option<&ClusterError>, clock: &dyn Clock) {
        if error.is_some_and(is_of_server) {
            self.until = Some(clock.now() + self.backoff.pause(clock.random()));
        } else {
            self.backoff.reset();
            self.until = None;
        }
    }
}

/// Whether another call would fail in the same way now.
pub(super) fn is_of_server(error: &ClusterError) -> bool {
    matches!(
        error,
        ClusterError::Unreachable { .. }
            | ClusterError::Late { .. }
            | ClusterError::Ended(_)
            | ClusterError::Unauthorized { .. }
            | ClusterError::Refused { code: 429 | 500.., .. }
    )
}

/// The API server is told for so long until the node is looked at again.
pub(super) const TELLING: Duration = Duration::from_millis(200);

/// An event that is to be written on a pod.
pub(super) struct PodEvent {
    pub(super) reporter: Reporter,
    pub(super) pod: PodReference,
    pub(super) kind: EventType,
    pub(super) reason: String,
    pub(super) message: String,
}

/// Who writes events: as a kubelet what a kubelet says in the same words, and as topolet what no kubelet says.
pub(super) struct Recorders {
    kubelet: EventRecorder,
    topolet: EventRecorder,
    waiting: VecDeque<PodEvent>,
}

impl Recorders {
    pub(super) fn new(connector: &Connector, node: &str) -> Result<Self, ClusterError> {
        let of = |reporter| connector.connect().map(|cluster| cluster.recorder(node, reporter));
        let (kubelet, topolet) = (of(Reporter::Kubelet)?, of(Reporter::Topolet)?);
        Ok(Self { kubelet, topolet, waiting: VecDeque::new() })
    }

    /// With new connections, and the events that wait.
    pub(super) fn go_on_with(&mut self, renewed: Self) {
        (self.kubelet, self.topolet) = (renewed.kubelet, renewed.topolet);
    }

    pub(super) fn add(&mut self, event: PodEvent) {
        if self.waiting.len() == EVENTS {
            self.waiting.pop_front();
        }
        self.waiting.push_back(event);
    }

    /// Writes those that wait, as long as the server takes them, and no longer than a turn may take.
    pub(super) fn send(&mut self, gate: &mut Gate, conditions: &NodeConditions, clock: &dyn Clock) {
        let began = clock.now();
        while let Some(event) = self.waiting.front() {
            let now = clock.now();
            if !gate.is_open(now) || now.duration_since(began) > TELLING {
                return;
            }
            let PodEvent { pod, kind, reason, message, .. } = event;
            let recorder = match event.reporter {
                Reporter::Kubelet => &mut self.kubelet,
                Reporter::Topolet => &mut self.topolet,
            };
            let sent = recorder.record(pod, *kind, reason, message);
            gate.heard(sent.as_ref().err(), clock);
            match sent {
                Ok(_) => conditions.member_works(NodeCondition::EventsWritten),
                // Its namespace is going: nobody looks for events there.
                Err(ClusterError::NotFound(_)) => {}
                Err(error) => {
                    conditions.member_fails(NodeCondition::EventsWritten, &error.to_string());
                    if is_of_server(&error) {
                        return;
                    }
                }
            }
            self.waiting.pop_front();
        }
    }
}
