//! Calls to the API server about pods, and the pauses after calls that failed.
//!
//! While the server cannot be reached no call is made until a pause is over. A call that it answers with an error delays the
//! calls about the same pod only.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use cluster_node::{
    Backoff, Clock, ClusterError, Connector, EventRecorder, EventType, PodReference, Reporter,
};
use node_view::{NodeCondition, NodeConditions};

/// The longest pause between two tries to reach the API server.
const PAUSE: Duration = Duration::from_secs(5);
/// At most this many events wait; beyond that the oldest are dropped.
const EVENTS: usize = 1000;

/// Pauses all calls while the API server cannot be reached.
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

    /// Records the result of a call: an error of the server as a whole closes the gate for a pause.
    pub(super) fn record(&mut self, error: Option<&ClusterError>, clock: &dyn Clock) {
        if error.is_some_and(is_of_server) {
            self.until = Some(clock.now() + self.backoff.pause(clock.random()));
        } else {
            self.backoff.reset();
            self.until = None;
        }
    }
}

/// Whether the error is of the server as a whole, so that another call would fail too.
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

/// How long patches and events are sent before the node's changes are handled again.
pub(super) const TURN: Duration = Duration::from_millis(200);

/// An event to be written on a pod.
pub(super) struct PodEvent {
    pub(super) reporter: Reporter,
    pub(super) pod: PodReference,
    pub(super) kind: EventType,
    pub(super) reason: String,
    pub(super) message: String,
}

/// Writes events: those of a kubelet in its name, and topolet's explanations in the name of topolet.
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

    /// Takes new connections, and keeps the events that wait.
    pub(super) fn replace_connections(&mut self, renewed: Self) {
        (self.kubelet, self.topolet) = (renewed.kubelet, renewed.topolet);
    }

    pub(super) fn add(&mut self, event: PodEvent) {
        if self.waiting.len() == EVENTS {
            self.waiting.pop_front();
        }
        self.waiting.push_back(event);
    }

    /// Writes the events that wait, until a call fails or [`TURN`] is over.
    pub(super) fn send(&mut self, gate: &mut Gate, conditions: &NodeConditions, clock: &dyn Clock) {
        let began = clock.now();
        while let Some(event) = self.waiting.front() {
            let now = clock.now();
            if !gate.is_open(now) || now.duration_since(began) > TURN {
                return;
            }
            let PodEvent { pod, kind, reason, message, .. } = event;
            let recorder = match event.reporter {
                Reporter::Kubelet => &mut self.kubelet,
                Reporter::Topolet => &mut self.topolet,
            };
            let sent = recorder.record(pod, *kind, reason, message);
            gate.record(sent.as_ref().err(), clock);
            match sent {
                Ok(_) => conditions.member_works(NodeCondition::EventsWritten),
                // Its namespace is being deleted.
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
