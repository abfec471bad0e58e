//! What threads share and start. In tests of this crate's own these are those of a model, in which they take turns.

#[cfg(not(test))]
pub(crate) use std::sync::{Mutex, MutexGuard};

#[cfg(test)]
pub(crate) use shuttle::sync::{Mutex, MutexGuard};

/// Has something done beside everything else.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    #[cfg(not(test))]
    tokio::spawn(task);
    #[cfg(test)]
    drop(shuttle::future::spawn(task));
}
