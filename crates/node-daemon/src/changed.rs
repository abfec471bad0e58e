//! Whether the node has changed since somebody looked, and when it did first.

use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// A mark that changes leave, and one thread takes.
#[derive(Debug, Default)]
pub(super) struct Changed {
    first: Mutex<Option<Instant>>,
    woken: Notify,
}

impl Changed {
    /// The node is another one from now on.
    pub(super) fn mark(&self) {
        self.first.lock().get_or_insert_with(Instant::now);
        self.woken.notify_one();
    }

    /// Waits for a mark.
    #[cfg(feature = "kubernetes")]
    pub(super) async fn wait(&self) {
        while self.first.lock().is_none() {
            self.woken.notified().await;
        }
    }

    /// Takes the mark: when it was left; `None`: there is none.
    #[cfg(feature = "kubernetes")]
    pub(super) fn take(&self) -> Option<Instant> {
        self.first.lock().take()
    }

    /// Leaves a mark again that could not be made use of.
    #[cfg(feature = "kubernetes")]
    pub(super) fn put_back(&self, taken: Option<Instant>) {
        let mut first = self.first.lock();
        *first = taken.or(*first);
    }
}
