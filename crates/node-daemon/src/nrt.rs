//! What schedulers read of the node, kept at an API server: its `NodeResourceTopology`.
//!
//! The object is made of the latest snapshot and written when it is another than the one that was written last, at most
//! once a second: the first change goes out at once, and those that follow within the second together. An object that
//! somebody deletes or changes is written again ([`others`] says when it is left to them). While the API server cannot be
//! reached only the time of the first change is kept: afterwards the node is written as it is then.

mod counted;
mod others;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cluster_node::{
    ApplyError, Cluster, ClusterError, FieldConflict, OthersFields, TopologyWriter, Woken, Written,
};
use node_input::Requests;
use node_resource_topology::{Fingerprint, FingerprintMethod, NodeFacts, NodeResourceTopology};
use node_view::NodeCondition::{TopologyPublished, TopologyWatched};
use node_view::NodeView;
use serde_json::Value;

use self::counted::Counted;
use self::others::{Answer, Before, Overruled};
use crate::api_server::NodeInCluster;
use crate::changed::Changed;

/// Between two writes.
const PACE: Duration = Duration::from_secs(1);
/// Between two tries.
const AGAIN: Duration = Duration::from_secs(5);
/// So often the object is written though nothing is known to have changed.
const RESYNC: Duration = Duration::from_mins(1);

/// Where the object is published.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopologyPublication {
    /// The node, and how its API server is reached.
    pub node: NodeInCluster,
    /// What is done about fields that another field manager has set.
    pub others: OthersFields,
}

/// Goes on publishing for the rest of the program, if somebody has said where.
///
/// # Errors
/// The API server's address or credentials cannot be read.
pub(super) fn start(to: Option<&TopologyPublication>, view: &NodeView) -> anyhow::Result<()> {
    let Some(to) = to else { return Ok(()) };
    let writer = Cluster::new(&to.node.access)?.topology_of(&to.node.node);
    let changed = Changed::of(&view.snapshots);
    let counted = Counted::default();
    view.metrics.add(|registry| counted.register(registry));
    let publishing = Publishing {
        to: to.clone(),
        view: view.clone(),
        changed,
        counted,
        writer,
        overruled: Overruled::default(),
        object: Object::Unknown,
        blind: None,
    };
    thread::Builder::new().name("nrt".to_owned()).spawn(move || publishing.run())?;
    Ok(())
}

struct Publishing {
    to: TopologyPublication,
    view: NodeView,
    /// Whether there is a snapshot that has not been published.
    changed: Arc<Changed>,
    counted: Counted,
    writer: TopologyWriter,
    overruled: Overruled,
    /// What the API server has.
    object: Object,
    /// Until when the object is not watched, as the right to do that is missing.
    blind: Option<Instant>,
}

/// The object at the API server, as far as is known.
enum Object {
    /// What it is, nobody knows yet.
    Unknown,
    /// It was ours when it was written last, and may be another one now.
    Ours,
    /// It is this.
    Is(Value),
    /// It is left to others.
    Others,
}

/// What has to be done next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The object is written if it is another one now.
    IfChanged,
    /// It is written in any case: somebody else may have changed it.
    InAnyCase,
}

impl Publishing {
    fn run(mut self) {
        let mut next = Next::InAnyCase;
        loop {
            let began = Instant::now();
            next = match self.publish(next) {
                Ok(None) => self.wait(),
                Ok(Some(_)) => {
                    // What changes meanwhile goes out together.
                    thread::sleep(PACE.saturating_sub(began.elapsed()));
                    self.wait()
                }
                Err(error) => {
                    self.failed(&error);
                    thread::sleep(AGAIN);
                    if matches!(self.object, Object::Others) { self.wait() } else { Next::InAnyCase }
                }
            };
        }
    }

    /// Writes the object as it is now; `None`: there was nothing to be written.
    fn publish(&mut self, next: Next) -> Result<Option<Written>, ApplyError> {
        // Taken before the snapshot: no later change is lost.
        let changed = self.changed.take();
        let result = self.write(next);
        match (&result, changed) {
            (Err(_), changed) => self.changed.put_back(changed),
            (Ok(Some(Written::Changed)), Some(changed)) => self.counted.delay(changed.elapsed()),
            (Ok(_), _) => {}
        }
        result
    }

    fn write(&mut self, next: Next) -> Result<Option<Written>, ApplyError> {
        let object = self.made();
        if next == Next::IfChanged && matches!(&self.object, Object::Is(written) if *written == object) {
            return Ok(None);
        }
        let before = match self.object {
            Object::Is(_) | Object::Ours => {
                self.object = Object::Ours;
                Before::Ours
            }
            Object::Unknown | Object::Others => Before::NotOurs,
        };
        let written = match self.writer.apply(&object, self.to.others) {
            Err(ApplyError::Others(conflicts)) => self.settle(&object, conflicts, before),
            result => result,
        }?;
        self.object = Object::Is(object);
        if written == Written::Changed {
            self.counted.published();
        }
        if self.view.conditions.works(TopologyPublished) {
            tracing::info!("NodeResourceTopology {} is published", self.to.node.node);
        }
        Ok(Some(written))
    }

    /// Fields of it are set by others.
    fn settle(
        &mut self,
        object: &Value,
        conflicts: Vec<FieldConflict>,
        before: Before,
    ) -> Result<Written, ApplyError> {
        let answer = self.overruled.answer(&conflicts, before, Instant::now());
        let error = ApplyError::Others(conflicts);
        if answer == Answer::Leave {
            self.object = Object::Others;
            return Err(error);
        }
        tracing::warn!("NodeResourceTopology {} is put back: {error}", self.to.node.node);
        self.writer.apply(object, OthersFields::Take)
    }

    fn made(&self) -> Value {
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
        let object = NodeResourceTopology::new(&self.to.node.node, facts, fingerprint.as_ref());
        // It consists of texts, numbers and lists.
        serde_json::to_value(&object).unwrap_or_default()
    }

    /// Waits until something may have to be written.
    fn wait(&mut self) -> Next {
        let node_changed = self.changed.clone();
        let is_others = matches!(self.object, Object::Others);
        let changed = async move {
            // What others have is not written when the node changes.
            if is_others {
                std::future::pending::<()>().await;
            }
            node_changed.wait().await;
        };
        let now = Instant::now();
        let heard = match self.blind.filter(|until| *until > now) {
            Some(until) => return self.rested(changed, until.duration_since(now)),
            None => self.writer.wait(changed, RESYNC),
        };
        if heard.is_ok() {
            self.view.conditions.works(TopologyWatched);
        }
        match heard {
            Ok(Woken::ByUs) => Next::IfChanged,
            Err(error @ (ClusterError::Forbidden(_) | ClusterError::Refused { .. })) => {
                self.counted.failed();
                self.blind = Some(now + RESYNC);
                let text = format!(
                    "NodeResourceTopology {} is not watched, and what others do to it is noticed within a minute: {error}",
                    self.to.node.node
                );
                self.view.conditions.fails(TopologyWatched, &text);
                Next::InAnyCase
            }
            // If something is wrong, writing says what.
            Ok(Woken::ByOthers | Woken::ByTime) | Err(_) => Next::InAnyCase,
        }
    }

    /// Without a watch.
    fn rested(&self, changed: impl Future<Output = ()>, within: Duration) -> Next {
        match self.writer.rest(changed, within) {
            Woken::ByUs => Next::IfChanged,
            Woken::ByOthers | Woken::ByTime => Next::InAnyCase,
        }
    }

    /// Says it once, and makes the connection anew: credentials may have been renewed.
    fn failed(&mut self, error: &ApplyError) {
        self.counted.failed();
        let hint = match error {
            ApplyError::Others(_) => ", so it is left as it is; --take-over-nrt overwrites it",
            _ => "",
        };
        let name = &self.to.node.node;
        let text = format!("NodeResourceTopology {name} is not published: {error}{hint}");
        self.view.conditions.fails(TopologyPublished, &text);
        let is_lost = matches!(
            error,
            ApplyError::Cluster(
                ClusterError::Unauthorized { .. }
                    | ClusterError::Unreachable { .. }
                    | ClusterError::Late { .. }
            )
        );
        if is_lost && let Ok(cluster) = Cluster::new(&self.to.node.access) {
            self.writer = cluster.topology_of(name);
        }
    }
}
