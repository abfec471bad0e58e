//! The node's latest snapshot: one thread publishes it, all others read it.

use std::sync::Arc;

use arc_swap::ArcSwap;
use node_agent::Snapshot;
use parking_lot::RwLock;

use super::conditions::NodeConditions;
use super::events::{Events, Kind, reason};

type Subscriber = Box<dyn Fn() + Send + Sync>;

/// The latest snapshot, for readers.
#[derive(Clone)]
pub struct Snapshots(Arc<Latest>);

struct Latest {
    snapshot: ArcSwap<Snapshot>,
    subscribers: RwLock<Vec<Subscriber>>,
}

impl Snapshots {
    /// The latest.
    pub fn latest(&self) -> Arc<Snapshot> {
        self.0.snapshot.load_full()
    }

    /// Calls `subscriber` after each snapshot that is published from now on, on the thread that publishes it.
    pub fn subscribe(&self, subscriber: impl Fn() + Send + Sync + 'static) {
        self.0.subscribers.write().push(Box::new(subscriber));
    }
}

/// The right to publish snapshots, which one thread has.
pub struct SnapshotWriter {
    latest: Snapshots,
    events: Arc<Events>,
    conditions: Arc<NodeConditions>,
}

impl SnapshotWriter {
    /// Begins with a snapshot. Pods that end become `events`, and `conditions` say whether the state is on disk.
    pub fn new(first: Snapshot, events: Arc<Events>, conditions: Arc<NodeConditions>) -> Self {
        conditions.state_written(first.behind.as_deref());
        let latest = Latest { snapshot: ArcSwap::from_pointee(first), subscribers: RwLock::default() };
        Self { latest: Snapshots(Arc::new(latest)), events, conditions }
    }

    /// For readers.
    pub fn snapshots(&self) -> Snapshots {
        self.latest.clone()
    }

    /// Replaces the snapshot. Pods that the new one lacks have ended.
    pub fn publish(&self, snapshot: Snapshot) {
        self.conditions.state_written(snapshot.behind.as_deref());
        let Latest { snapshot: latest, subscribers } = &*self.latest.0;
        let now = Arc::new(snapshot);
        let before = latest.swap(now.clone());
        for (uid, record) in before.pods.iter().filter(|(uid, _)| !now.pods.contains_key(*uid)) {
            // One that state files alone list has its UID for a name.
            if record.pod.name != uid.as_str() {
                self.events.add(Some((&*record.pod).into()), Kind::Normal, reason::ENDED, String::new());
            }
        }
        for subscriber in &*subscribers.read() {
            subscriber();
        }
    }
}
