#![doc = include_str!("../README.md")]
//!
//! # Who writes what
//!
//! | value | written by | read by |
//! |---|---|---|
//! | [`ServedNode`] | no thread: it does not change | all |
//! | [`Snapshots`] | the owner's thread, or the one that reads a kubelet's files | all |
//! | [`Decisions`] | the scribe, or the thread that explains a kubelet's refusals | HTTP |
//! | [`ObservedFiles`] | the thread that reads a kubelet's files | HTTP, node files |
//! | [`NodeConditions`], [`Events`], [`Metrics`] | each part its own entries | HTTP, events on pods |
//!
//! # Where things are
//!
//! - How sockets stay at their paths: `crates/kept-socket`. How folders do: `crates/node-daemon/src/kept.rs`. What the
//!   daemon's threads see of the node, and which of them writes what: `crates/node-view/src/lib.rs`; what the daemon
//!   reports about itself, and when its log has a line: `conditions.rs` beside it. Why it goes on when its log cannot
//!   be written: `crates/node-daemon/src/log/lines.rs`. How a file is opened that may be a pipe or a device:
//!   `open_regular` in `crates/kubelet-checkpoint/src/store/regular.rs`; `cargo xtask tidy` finds other ways in the
//!   crates that work in the root folder.

mod served;
mod snapshots;
mod decisions;
mod observed;
mod running_claims;
mod manifests;
mod conditions;
mod events;
mod metrics;
mod message;
mod news;
pub mod explain;
pub mod node_sources;
mod changes;
mod own_file;
pub mod clock;

use std::sync::Arc;

use node_agent::Snapshot;
use node_input::{LoadedNode, Requests};
use pod_spec::Pod;

pub use self::changes::{Changes, Pace};
use self::clock::Clock;
pub use self::conditions::{ClaimsFound, NodeCondition, NodeConditions};
pub use self::decisions::{
    DECISIONS, DecisionWriter, Decisions, KUBELET, KubeletDecision, LoggedDecision, holdings, sources,
};
pub use self::events::{Events, Kind, NodeEvent, PodName, Unseen, reason};
pub use self::manifests::{held_back, kept};
pub use self::message::{MESSAGES, Message, OwnerReply};
use self::metrics::Now;
pub use self::metrics::{Agreement, ClaimDevices, Exposition, Metrics, PartitionCounts};
pub use self::news::{News, PodNews};
pub use self::observed::{Observed, ObservedFiles, ObservedWriter};
pub use self::own_file::{Lasting, OwnFile};
pub use self::running_claims::RunningClaims;
pub use self::served::{Hardware, Mode, ServedNode};
pub use self::snapshots::{SnapshotWriter, Snapshots};

/// The node, its latest moment and its last decisions, for readers.
#[derive(Clone)]
pub struct NodeView {
    /// The node and its machine.
    pub served: Arc<ServedNode>,
    /// The node's latest snapshot.
    pub snapshots: Snapshots,
    /// The last decisions on pods.
    pub decisions: Decisions,
    /// What a kubelet has written, where one owns the node.
    pub observed: ObservedFiles,
    /// Where the devices of running containers' claims are, beside a kubelet.
    pub claims: RunningClaims,
    /// The node's conditions.
    pub conditions: Arc<NodeConditions>,
    /// The last events on the node and its pods.
    pub events: Arc<Events>,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// The clock of all parts of the daemon.
    pub clock: Arc<dyn Clock>,
}

/// The write handles, one for each writing thread.
pub struct Writers {
    /// For the owner's thread, or the one that reads a kubelet's files.
    pub snapshots: SnapshotWriter,
    /// For the thread that makes or explains decisions.
    pub decisions: DecisionWriter,
    /// For the thread that reads a kubelet's files.
    pub observed: ObservedWriter,
}

impl NodeView {
    /// The view of a node with its first snapshot, and the write handles.
    pub fn new(
        served: impl Into<Arc<ServedNode>>,
        first: Snapshot,
        conditions: Arc<NodeConditions>,
    ) -> (Self, Writers) {
        let (served, clock) = (served.into(), conditions.clock().clone());
        let events = Arc::new(Events::new(clock.clone()));
        let metrics = Arc::new(Metrics::new(&served.node, &first, served.mode));
        let writers = Writers {
            snapshots: SnapshotWriter::new(first, events.clone(), conditions.clone()),
            decisions: DecisionWriter::new(events.clone()),
            observed: ObservedWriter::default(),
        };
        let view = Self {
            served,
            snapshots: writers.snapshots.snapshots(),
            decisions: writers.decisions.decisions(),
            observed: writers.observed.files(),
            claims: RunningClaims::default(),
            conditions,
            events,
            metrics,
            clock,
        };
        (view, writers)
    }

    /// The node, as it was read at the start.
    #[must_use]
    pub fn node(&self) -> &LoadedNode {
        &self.served.node
    }

    /// Who owns the node.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.served.mode
    }

    /// The latest snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshots.latest()
    }

    /// Which requests of the pods that run are known.
    pub fn requests(&self) -> Requests {
        match (self.mode(), self.observed.latest()) {
            (Mode::Serve, _) => Requests::OfEveryPod,
            (Mode::Observe, observed) => observed.map_or(Requests::WhatIsHeld, |observed| observed.requests),
        }
    }

    /// Why the node does not know all its pods or serve what it should, each in one sentence.
    pub fn unready(&self, snapshot: &Snapshot) -> impl Iterator<Item = String> + use<> {
        let conditions = &self.conditions;
        let all = [
            conditions.why_stale(),
            conditions.unusable_manifests(snapshot),
            conditions.why_not_served(),
            conditions.why_no_member(),
        ];
        all.into_iter().flatten()
    }

    /// All problems, as the status lists them: one sentence each.
    pub fn problems(&self, snapshot: &Snapshot) -> Vec<String> {
        let conditions = &self.conditions;
        let quarantined = snapshot.pods.values().filter_map(|record| {
            let (why, Pod { namespace, name, .. }) = (record.quarantine.as_ref()?, &*record.pod);
            Some(format!("{namespace}/{name} is quarantined: {why}"))
        });
        let behind = conditions.why_behind().into_iter();
        behind
            .chain(self.unready(snapshot))
            .chain(conditions.unpublished())
            .chain(quarantined)
            .chain(conditions.drifted())
            .chain(conditions.misaligned_claims())
            .chain(conditions.several_pin())
            .chain(conditions.guard_failures())
            .chain(conditions.next_start_fails())
            .chain(conditions.invalid_partitions())
            .collect()
    }

    /// Problems with which the node still decides: the notes of `/readyz`.
    pub fn remarks(&self) -> Vec<String> {
        let conditions = &self.conditions;
        let partitions = [conditions.invalid_partitions(), conditions.of_partitions()].concat();
        let next_start = [conditions.next_start_fails(), conditions.machine_changed()];
        conditions
            .unpublished()
            .into_iter()
            .chain(partitions)
            .chain(next_start.into_iter().flatten())
            .collect()
    }

    /// Remarks on every answer: assumptions, and that the state is stale.
    pub fn notes(&self) -> Vec<String> {
        self.served.assumed.iter().cloned().chain(self.conditions.why_stale()).collect()
    }

    /// All metrics as they are now.
    pub fn exposed(&self, exposition: Exposition) -> String {
        let now = Now { node: self.node(), snapshot: &self.snapshot(), conditions: &self.conditions };
        self.metrics.text(exposition, &now)
    }
}

/// The problems of the node that events were added for.
#[derive(Default)]
pub struct ProblemEvents(Vec<String>);

impl ProblemEvents {
    /// Adds an event for each problem that is new, and for each that is solved.
    pub fn look(&mut self, view: &NodeView) {
        let now = view.problems(&view.snapshot());
        let before = std::mem::replace(&mut self.0, now.clone());
        for solved in before.iter().filter(|one| !now.contains(one)) {
            view.events.add(None, Kind::Normal, reason::SOLVED, solved.clone());
        }
        for new in now.iter().filter(|one| !before.contains(one)) {
            view.events.add(None, Kind::Warning, reason::PROBLEM, new.clone());
        }
    }
}
