//! Publishes the `NodeResourceTopology` of the node.
//!
//! The object is made of the latest snapshot and written when it is another than the one that was written last, at most
//! once a second: the first change goes out at once, and those that follow within the second together. An object that another
//! client deletes or changes is written again, unless [`others`] leaves it. While the API server cannot be reached only the
//! time of the first change is kept: afterwards the node is written as it is then.

mod counted;
mod others;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster_node::{
    ApplyError, Cluster, ClusterError, Connector, FieldConflict, OthersFields, Pace, Publication, Published,
    Publisher, TopologyWriter, Woken, Written,
};
use node_input::Requests;
use node_resource_topology::{Fingerprint, FingerprintMethod, NodeFacts, NodeResourceTopology};
use node_view::NodeCondition::{TopologyPublished, TopologyWatched};
use node_view::NodeView;
use serde_json::Value;

use self::counted::Counted;
use self::others::{Answer, Before, Reverted};
use crate::changed::Changed;
use cluster_node::NodeInCluster;

/// The object is written this often without a known change.
const RESYNC: Duration = Duration::from_mins(1);
/// Changes within a second after a write are written together.
const PACE: Pace =
    Pace { least: Duration::from_secs(1), resync: Some(RESYNC), again: Duration::from_secs(5) };

/// Where the object is published.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopologyPublication {
    /// The node, and how its API server is reached.
    pub node: NodeInCluster,
    /// What is done about fields that another field manager has set.
    pub others: OthersFields,
}

/// Goes on publishing for the rest of the program.
///
/// # Errors
/// The API server's address or credentials cannot be read.
pub(super) fn start(to: &TopologyPublication, view: &NodeView) -> anyhow::Result<()> {
    let connector = Connector::from(to.node.access.clone());
    let writer = connector.connect()?.topology_of(&to.node.node);
    let changed = Changed::of(&view.snapshots, connector.clock().clone());
    let counted = Counted::default();
    view.metrics.add(|registry| counted.register(registry));
    let publisher = TopologyPublisher {
        name: to.node.node.clone(),
        others: to.others,
        view: view.clone(),
        changed,
        counted,
        writer,
        reverted: Reverted::default(),
        object: Object::Unknown,
        unwatched_until: None,
    };
    Ok(Publisher::new(publisher, connector, PACE).start("nrt")?)
}

struct TopologyPublisher {
    name: String,
    others: OthersFields,
    view: NodeView,
    /// Whether there is a snapshot that has not been published.
    changed: Arc<Changed>,
    counted: Counted,
    writer: TopologyWriter,
    reverted: Reverted,
    /// What the API server has.
    object: Object,
    /// Until when the watch is not tried again, since the right to watch is missing.
    unwatched_until: Option<Instant>,
}

/// The object at the API server, as far as is known.
enum Object {
    /// It has not been read or written yet.
    Unknown,
    /// topolet wrote it last; a later write has failed.
    Ours,
    /// topolet wrote this.
    Is(Value),
    /// It is left to another field manager.
    Others,
}

impl Publication for TopologyPublisher {
    /// Writes the object as it is now. Unless the node has changed it is written in any case: another client may have
    /// changed it.
    fn publish(&mut self, why: Woken, now: Instant) -> Published {
        // Taken before the snapshot: no later change is lost.
        let changed = self.changed.take();
        let result = self.write(why, now);
        match (&result, changed) {
            (Err(_), changed) => self.changed.put_back(changed),
            (Ok(Some(Written::Changed)), Some(changed)) => {
                let written = self.writer.clock().now();
                self.counted.delay(written.saturating_duration_since(changed));
            }
            (Ok(_), _) => {}
        }
        match result {
            Ok(None) => Published::Same,
            Ok(Some(_)) => Published::Written,
            Err(error) => self.failed(&error),
        }
    }

    fn wait(&mut self, now: Instant, within: Duration) -> Option<Woken> {
        let node_changed = self.changed.clone();
        let is_others = matches!(self.object, Object::Others);
        let changed = async move {
            // An object that is left to another manager is not written when the node changes.
            if is_others {
                std::future::pending::<()>().await;
            }
            node_changed.wait().await;
        };
        if self.unwatched_until.is_some_and(|until| until > now) {
            return self.writer.rest(changed, within);
        }
        match self.writer.wait(changed, within) {
            Ok(woken) => {
                self.view.conditions.works(TopologyWatched);
                woken
            }
            Err(error @ (ClusterError::Forbidden(_) | ClusterError::Refused { .. })) => {
                self.counted.failed();
                self.unwatched_until = Some(now + RESYNC);
                let text = format!(
                    "NodeResourceTopology {} is not watched, and what others do to it is noticed within a minute: {error}",
                    self.name
                );
                self.view.conditions.fails(TopologyWatched, &text);
                Some(Woken::ByOthers)
            }
            // A write reports the error.
            Err(_) => Some(Woken::ByOthers),
        }
    }

    fn reconnect(&mut self, cluster: Cluster) {
        self.writer = cluster.topology_of(&self.name);
    }
}

impl TopologyPublisher {
    /// `None`: there was nothing to be written.
    fn write(&mut self, why: Woken, now: Instant) -> Result<Option<Written>, ApplyError> {
        let object = self.built_object();
        if why == Woken::ByUs && matches!(&self.object, Object::Is(written) if *written == object) {
            return Ok(None);
        }
        let before = match self.object {
            Object::Is(_) | Object::Ours => {
                self.object = Object::Ours;
                Before::Ours
            }
            Object::Unknown | Object::Others => Before::NotOurs,
        };
        let written = match self.writer.apply(&object, self.others) {
            Err(ApplyError::Others(conflicts)) => self.resolve_conflicts(&object, conflicts, before, now),
            result => result,
        }?;
        self.object = Object::Is(object);
        if written == Written::Changed {
            self.counted.published();
        }
        if self.view.conditions.works(TopologyPublished) {
            tracing::info!("NodeResourceTopology {} is published", self.name);
        }
        Ok(Some(written))
    }

    /// Other managers have set fields of it: reverts them, or leaves the object.
    fn resolve_conflicts(
        &mut self,
        object: &Value,
        conflicts: Vec<FieldConflict>,
        before: Before,
        now: Instant,
    ) -> Result<Written, ApplyError> {
        let answer = self.reverted.answer(&conflicts, before, now);
        let error = ApplyError::Others(conflicts);
        if answer == Answer::Leave {
            self.object = Object::Others;
            return Err(error);
        }
        tracing::warn!("NodeResourceTopology {} is put back: {error}", self.name);
        self.writer.apply(object, OthersFields::Take)
    }

    fn built_object(&self) -> Value {
        let snapshot = self.view.snapshot();
        // What pods hold that have ended is free for the next one.
        let ledger = snapshot.ledger.collect();
        let method = match self.view.requests() {
            Requests::OfEveryPod => FingerprintMethod::All,
            Requests::WhatIsHeld => FingerprintMethod::WithExclusiveResources,
        };
        // Of pods that are known by UID alone there is none.
        let fingerprint = Fingerprint::of_pods(method, ledger.pods()).ok();
        let node = self.view.node();
        let facts = NodeFacts { node: &node.node, view: node.view(), config: node.config(), ledger: &ledger };
        let object = NodeResourceTopology::new(&self.name, facts, fingerprint.as_ref());
        // It consists of texts, numbers and lists.
        serde_json::to_value(&object).unwrap_or_default()
    }

    /// Sets the condition; the log has a line for a new reason.
    fn failed(&mut self, error: &ApplyError) -> Published {
        self.counted.failed();
        let hint = match error {
            ApplyError::Others(_) => ", so it is left as it is; --take-over-nrt overwrites it",
            _ => "",
        };
        let text = format!("NodeResourceTopology {} is not published: {error}{hint}", self.name);
        self.view.conditions.fails(TopologyPublished, &text);
        match error {
            _ if matches!(self.object, Object::Others) => Published::Left,
            ApplyError::Cluster(error) => Published::failed(error),
            ApplyError::NoDefinition | ApplyError::Others(_) => Published::Failed,
        }
    }
}
