//! What waits for the answers of plugins: pods that are decided on, and containers that are about to start.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use cpu_manager::ContainerId;
use device_manager::{Moment, Question, Replies};
use node_state::Source;
use pod_spec::{ContainerKey, Pod};
use topology_admission::Plan as MovePlan;

use crate::deferred_pod::DeferredPod;
use crate::event::Ticket;

/// A pod that has not been decided on.
#[derive(Clone, Debug)]
pub(super) struct PendingPod {
    pub(super) pod: Arc<Pod>,
    pub(super) source: Source,
    pub(super) ticket: Option<Ticket>,
    /// When it was first looked at.
    pub(super) began: Option<Moment>,
    pub(super) replies: Replies,
    pub(super) asked: Option<Question>,
    /// What is moved before it comes.
    pub(super) moves: Option<Arc<MovePlan>>,
    /// What it was while it waited for a plugin, as it still does for others; `None`: it did not wait.
    pub(super) deferred: Option<Arc<DeferredPod>>,
}

impl PendingPod {
    pub(super) fn new(pod: Arc<Pod>, source: Source, ticket: Option<Ticket>) -> Self {
        Self {
            pod,
            source,
            ticket,
            began: None,
            replies: Replies::new(),
            asked: None,
            moves: None,
            deferred: None,
        }
    }
}

/// A container whose device plugins have been asked and have not all answered.
#[derive(Debug)]
pub(super) struct PendingStart {
    pub(super) ticket: Ticket,
    pub(super) container: ContainerKey,
    pub(super) id: ContainerId,
    pub(super) cgroup: Option<PathBuf>,
    pub(super) unanswered: BTreeSet<Question>,
}
