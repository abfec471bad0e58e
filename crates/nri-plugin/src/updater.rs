//! Updates of containers that no event asks for.

use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prost::Message as _;

use crate::link::{CallError, Link, RUNTIME_SERVICE};
use crate::messages::{UpdateContainersRequest, UpdateContainersResponse, ttrpc};
use crate::status::Status;
use crate::updates::{ContainerId, Updates};
use crate::wire::TooLong;

/// Sends updates to the runtime, beside the handler: [`Plugin::run_with`](crate::Plugin::run_with) lends it to a
/// thread.
///
/// containerd takes the lock of all events for an update. An update from inside a handler would wait for the event,
/// and the event for the update. A handler cannot hold an updater: it is made after the handler, and lent for the
/// time of one call. Send the work to the other thread by a channel, and do not wait for it.
///
/// ```compile_fail
/// use std::sync::OnceLock;
///
/// use nri_plugin::{Event, Events, Handler, Plugin, Updater};
///
/// struct Holds<'a>(&'a OnceLock<&'a Updater>);
///
/// impl Handler for Holds<'_> {
///     fn events(&self) -> Events {
///         Event::CreateContainer.into()
///     }
/// }
///
/// let slot = OnceLock::new();
/// Plugin::new("holds", 10)?.run_with(Holds(&slot), |updater| drop(slot.set(updater)))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Updater {
    link: Mutex<Option<Arc<Link<UnixStream>>>>,
    has_finished: AtomicBool,
    limit: Duration,
}

/// Why updates are not done, or may not be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// No runtime is connected, or the plugin is not synchronized yet. Nothing was sent.
    #[error("no runtime is connected and synchronized")]
    NotConnected,
    /// The updates are too many for one message. Nothing was sent.
    #[error("the updates are too many for one message")]
    TooLong(#[source] TooLong),
    /// The runtime failed with some, does not say with which, and has done the others: send one container a call.
    #[error("the runtime failed with some of them: {0}")]
    Refused(Status),
    /// There was no answer in this time. The runtime may still do them.
    #[error("no answer came within {} s", .0.as_secs_f64())]
    NotInTime(Duration),
    /// The connection ended before the answer. The runtime may have done them.
    #[error("the connection ended before the answer")]
    Closed,
    /// The answer is no message of NRI. The runtime may have done them.
    #[error("the answer is no message of NRI")]
    Malformed,
}

impl Updater {
    pub(crate) const fn new(limit: Duration) -> Self {
        Self { link: Mutex::new(None), has_finished: AtomicBool::new(false), limit }
    }

    fn link(&self) -> MutexGuard<'_, Option<Arc<Link>>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn connect(&self, link: &Arc<Link>) {
        *self.link() = Some(Arc::clone(link));
    }

    pub(crate) fn disconnect(&self) {
        *self.link() = None;
    }

    pub(crate) fn finish(&self) {
        self.has_finished.store(true, Ordering::Release);
    }

    /// Whether the plugin has ended, so that updates will never be sent again.
    pub fn has_finished(&self) -> bool {
        self.has_finished.load(Ordering::Acquire)
    }

    /// Has the runtime change containers, and waits until it has. Gives the containers that it names as failed.
    ///
    /// An id that the runtime does not know is passed over by it. No other plugin is asked.
    ///
    /// # Errors
    /// Some or all of them are not done, or may not be.
    pub fn send(&self, updates: Updates) -> Result<Vec<ContainerId>, UpdateError> {
        let link = self.link().clone().ok_or(UpdateError::NotConnected)?;
        let request = UpdateContainersRequest { update: updates.into_messages() };
        let request = ttrpc::Request {
            service: RUNTIME_SERVICE.to_owned(),
            method: "UpdateContainers".to_owned(),
            payload: request.encode_to_vec(),
            timeout_nano: i64::try_from(self.limit.as_nanos()).unwrap_or(i64::MAX),
        };
        let answer = link.call(&request, self.limit).map_err(|error| match error {
            CallError::Closed => UpdateError::Closed,
            CallError::NotInTime => UpdateError::NotInTime(self.limit),
            CallError::TooLong(error) => UpdateError::TooLong(error),
            CallError::Refused(status) => UpdateError::Refused(status),
            CallError::Malformed => UpdateError::Malformed,
        })?;
        let answer = UpdateContainersResponse::decode(&*answer).map_err(|_| UpdateError::Malformed)?;
        Ok(answer.failed.into_iter().map(|update| ContainerId::new(update.container_id)).collect())
    }
}
