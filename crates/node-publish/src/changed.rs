//! Whether the node has changed since the last publication, and when it first did.

use std::sync::Arc;
use std::time::Instant;

use cluster_node::Clock;
use node_view::Snapshots;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// A mark that each snapshot sets, and the publishing thread takes.
pub(super) struct Changed {
    clock: Arc<dyn Clock>,
    first: Mutex<Option<Instant>>,
    woken: Notify,
}

impl Changed {
    /// A mark that every later snapshot sets.
    pub(super) fn of(snapshots: &Snapshots, clock: Arc<dyn Clock>) -> Arc<Self> {
        let changed = Arc::new(Self { clock, first: Mutex::default(), woken: Notify::default() });
        let mark = changed.clone();
        snapshots.subscribe(move || mark.mark());
        changed
    }

    /// Sets the mark, with the time if it is not set.
    fn mark(&self) {
        self.first.lock().get_or_insert_with(|| self.clock.now());
        self.woken.notify_one();
    }

    /// Waits until the mark is set.
    pub(super) async fn wait(&self) {
        while self.first.lock().is_none() {
            self.woken.notified().await;
        }
    }

    /// Clears the mark and returns when it was set; `None`: it was not.
    pub(super) fn take(&self) -> Option<Instant> {
        self.first.lock().take()
    }

    /// Sets a mark again after a publication that failed.
    pub(super) fn put_back(&self, taken: Option<Instant>) {
        let mut first = self.first.lock();
        *first = taken.or(*first);
    }
}
