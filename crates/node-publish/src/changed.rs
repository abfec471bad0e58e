//! Whether the node has changed since somebody looked, and when it did first.

use std::sync::Arc;
use std::time::Instant;

use cluster_node::Clock;
use node_view::Snapshots;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// A mark that changes leave, and one thread takes.
pub(super) struct Changed {
    clock: Arc<dyn Clock>,
    first: Mutex<Option<Instant>>,
    woken: Notify,
}

impl Changed {
    /// A mark of the snapshots that come.
    pub(super) fn of(snapshots: &Snapshots, clock: Arc<dyn Clock>) -> Arc<Self> {
        let changed = Arc::new(Self { clock, first: Mutex::default(), woken: Notify::default() });
        let mark = changed.clone();
        snapshots.subscribe(move || mark.mark());
        changed
    }

    /// The node is another one from now on.
    fn mark(&self) {
        self.first.lock().get_or_insert_with(|| self.clock.now());
        self.woken.notify_one();
    }

    /// Waits for a mark.
    pub(super) async fn wait(&self) {
        while self.first.lock().is_none() {
            self.woken.notified().await;
        }
    }

    /// Takes the mark: when it was left; `None`: there is none.
    pub(super) fn take(&self) -> Option<Instant> {
        self.first.lock().take()
    }

    /// Leaves a mark again that could not be made use of.
    pub(super) fn put_back(&self, taken: Option<Instant>) {
        let mut first = self.first.lock();
        *first = taken.or(*first);
    }
}
