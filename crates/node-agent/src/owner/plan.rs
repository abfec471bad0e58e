//! A change that is worked out and not yet made: its files, what is so afterwards, and what follows if the files cannot
//! be written. Every kind of change becomes one of these.

use std::sync::Arc;
use std::time::Duration;

use cpu_manager::ContainerId;
use device_manager::Moment;
use node_state::Record;
use pod_spec::PodUid;
use topology_admission::Ledger;

use super::backlog::Deferred;
use super::change::DecidingFiles;
use crate::effect::{Effect, EndReason, PodDecision, Write, WriteOutcome};
use crate::event::Ticket;
use crate::snapshot::RefusedPod;

/// The next change, worked out and not yet made.
#[must_use]
#[derive(Debug)]
pub struct Plan {
    pub(super) writes: Vec<Write>,
    /// So many of them finish a change before it.
    pub(super) finishing: usize,
    pub(super) outcome: Outcome,
    pub(super) decided_by: DecidingFiles,
    pub(super) on_failure: OnFailure,
    pub(super) worked: Duration,
}

/// What is so once a change is made.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) after: Ledger,
    /// Pods that hold nothing any more, in the order in which they go.
    pub(super) ended: Vec<(PodUid, EndReason)>,
    /// Pods that run, with new records; one that comes is the last.
    pub(super) records: Vec<Arc<Record>>,
    pub(super) refused: Option<RefusedPod>,
    /// A container that has just been created.
    pub(super) created: Option<ContainerId>,
    pub(super) effects: Vec<Effect>,
    /// A decision, and when its pod was first looked at.
    pub(super) decided: Option<(Box<PodDecision>, Option<Moment>)>,
    /// Whether several pods change, all or none.
    pub(super) is_of_several: bool,
}

impl Outcome {
    /// The outcome of a change of the ledger alone.
    pub(super) const fn new(after: Ledger) -> Self {
        Self {
            after,
            ended: Vec::new(),
            records: Vec::new(),
            refused: None,
            created: None,
            effects: Vec::new(),
            decided: None,
            is_of_several: false,
        }
    }
}

/// What follows if a change is not made because its files could not be written.
#[derive(Debug)]
pub(super) enum OnFailure {
    /// The client is answered, and can ask again.
    Answer(Ticket),
    /// It is tried again at the next timer.
    Retry(Deferred),
    /// The next listing of the folder asks for it again.
    Forget,
}

impl OnFailure {
    /// With a ticket the client is answered; without one the change is tried again.
    pub(super) fn of(ticket: Option<Ticket>, retried: impl FnOnce() -> Deferred) -> Self {
        ticket.map_or_else(|| Self::Retry(retried()), Self::Answer)
    }
}

impl Plan {
    /// The files to be written, in this order.
    #[must_use]
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// The plan with its computing time, which the decision reports.
    pub fn worked(self, worked: Duration) -> Self {
        Self { worked, ..self }
    }

    pub(super) fn is_made(&self, written: &WriteOutcome) -> bool {
        match (written, self.decided_by) {
            (WriteOutcome::All, _) | (_, DecidingFiles::None) => true,
            (WriteOutcome::Failed { done, .. }, DecidingFiles::First) => *done > self.finishing,
            (WriteOutcome::Failed { .. }, DecidingFiles::All) => false,
        }
    }
}
