//! What the daemon's parts see of the node: each value that changes has one writer, and readers have handles.
//!
//! | value | written by | read by |
//! |---|---|---|
//! | [`ServedNode`] | no thread: it does not change | all |
//! | [`Snapshots`] | the owner's thread, or the one that reads a kubelet's files | all |
//! | [`Decisions`] | the scribe, or the thread that explains a kubelet's refusals | HTTP |
//! | [`ObservedFiles`] | the thread that reads a kubelet's files | HTTP, node files |
//! | [`Manifests`] | the thread that reads the manifests folder | HTTP, metrics |
//! | [`NodeConditions`], [`Events`], [`Metrics`] | each part its own entries | HTTP, events on pods |

pub(crate) mod clock;
mod conditions;
mod decisions;
mod events;
mod manifests;
mod metrics;
mod observed;
mod served;
mod snapshots;

use std::sync::Arc;

use node_agent::Snapshot;
use node_input::{LoadedNode, Requests};
use pod_spec::Pod;

pub(crate) use self::conditions::{NodeCondition, NodeConditions, now};
pub(crate) use self::decisions::{
    DECISIONS, DecisionWriter, Decisions, KUBELET, KubeletDecision, LoggedDecision, holdings, sources,
};
pub(crate) use self::events::{Events, Kind, NodeEvent, PodName, reason};
pub(crate) use self::manifests::{Manifests, held_back, kept};
use self::metrics::Now;
pub(crate) use self::metrics::{Exposition, Metrics, PartitionCounts};
pub(crate) use self::observed::{Observed, ObservedFiles, ObservedWriter};
pub(crate) use self::served::{Mode, ServedNode};
pub(crate) use self::snapshots::{SnapshotWriter, Snapshots};

/// The node, its latest moment and its last decisions, for readers.
#[derive(Clone)]
pub(crate) struct NodeView {
    pub(crate) served: Arc<ServedNode>,
    pub(crate) snapshots: Snapshots,
    pub(crate) decisions: Decisions,
    /// What a kubelet has written, where one owns the node.
    pub(crate) observed: ObservedFiles,
    pub(crate) manifests: Arc<Manifests>,
    /// Whether the node is well.
    pub(crate) conditions: Arc<NodeConditions>,
    pub(crate) events: Arc<Events>,
    pub(crate) metrics: Arc<Metrics>,
}

/// What the threads have that change what readers see.
pub(crate) struct Writers {
    pub(crate) snapshots: SnapshotWriter,
    pub(crate) decisions: DecisionWriter,
    pub(crate) observed: ObservedWriter,
}

impl NodeView {
    /// The view of a node that is as `first` says, and what changes it.
    pub(crate) fn new(
        served: impl Into<Arc<ServedNode>>,
        first: Snapshot,
        conditions: Arc<NodeConditions>,
    ) -> (Self, Writers) {
        let (served, events) = (served.into(), Arc::<Events>::default());
        let metrics = Arc::new(Metrics::new(&served.node, &first, served.mode));
        let writers = Writers {
            snapshots: SnapshotWriter::new(first, events.clone()),
            decisions: DecisionWriter::new(events.clone()),
            observed: ObservedWriter::default(),
        };
        let view = Self {
            served,
            snapshots: writers.snapshots.snapshots(),
            decisions: writers.decisions.decisions(),
            observed: writers.observed.files(),
            manifests: Arc::default(),
            conditions,
            events,
            metrics,
        };
        (view, writers)
    }

    pub(crate) fn node(&self) -> &LoadedNode {
        &self.served.node
    }

    pub(crate) fn mode(&self) -> Mode {
        self.served.mode
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshots.latest()
    }

    /// Which requests of the pods that run are known.
    pub(crate) fn requests(&self) -> Requests {
        match (self.mode(), self.observed.latest()) {
            (Mode::Serve, _) => Requests::OfEveryPod,
            (Mode::Observe, observed) => observed.map_or(Requests::WhatIsHeld, |observed| observed.requests),
        }
    }

    /// What is wrong with the node, each in one sentence.
    pub(crate) fn problems(&self, snapshot: &Snapshot) -> Vec<String> {
        let behind = snapshot.behind.iter().map(|why| format!("state is behind on disk: {why}"));
        let conditions = &self.conditions;
        let unready = [
            conditions.why_stale(),
            self.manifests.why_not_ready(snapshot),
            conditions.why_not_served(),
            conditions.why_no_member(),
        ];
        let quarantined = snapshot.pods.values().filter_map(|record| {
            let (why, Pod { namespace, name, .. }) = (record.quarantine.as_ref()?, &*record.pod);
            Some(format!("{namespace}/{name} is quarantined: {why}"))
        });
        behind
            .chain(unready.into_iter().flatten())
            .chain(conditions.unpublished())
            .chain(quarantined)
            .chain(conditions.drifted())
            .chain(conditions.next_start_fails())
            .chain(conditions.invalid_partitions())
            .collect()
    }

    /// What does not keep the node from deciding, and has to be known.
    pub(crate) fn remarks(&self) -> Vec<String> {
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

    /// What must be known beside any answer.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.served.assumed.iter().cloned().chain(self.conditions.why_stale()).collect()
    }

    /// All metrics as they are now.
    pub(crate) fn exposed(&self, exposition: Exposition) -> String {
        let Self { manifests, conditions, .. } = self;
        self.metrics.text(
            exposition,
            &Now {
                node: self.node(),
                snapshot: &self.snapshot(),
                manifests,
                is_stale: conditions.why_stale().is_some(),
                drifted: conditions.drifted().len(),
                next_start_fails: conditions.next_start_fails().is_some(),
            },
        )
    }
}

/// The problems of the node that have become events.
#[derive(Default)]
pub(crate) struct ProblemEvents(Vec<String>);

impl ProblemEvents {
    /// Looks for problems; those that are new and those that are solved become events.
    pub(crate) fn look(&mut self, view: &NodeView) {
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
