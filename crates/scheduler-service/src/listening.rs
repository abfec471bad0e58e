//! A thread that listens to an API server for the rest of the program, whatever becomes of the server.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cluster_node::{Backoff, Clock as _, ClusterError, SystemClock};
use conditions::{Conditions, State};
use parking_lot::Mutex;

/// The longest pause between two tries.
const AGAIN: Duration = Duration::from_secs(1);
/// How long nothing may happen until the connection is looked at.
pub(crate) const SILENCE: Duration = Duration::from_mins(1);

/// Which watches work, by what is watched. The log has one line per transition.
#[derive(Debug, Default)]
pub(crate) struct Watches(Mutex<Conditions<&'static str>>);

impl Watches {
    pub(crate) fn fails(&self, what: &'static str, why: &str) {
        let message = format!("{what} are not heard of: {why}");
        let state = State::failed("NotWatched", message.clone());
        if self.0.lock().set(what, (), state, now()).is_some() {
            tracing::warn!("{message}");
        }
    }

    pub(crate) fn works(&self, what: &'static str) {
        if self.0.lock().set(what, (), State::Works, now()).is_some() {
            tracing::info!("{what} are heard of again");
        }
    }

    /// Why each of those that do not work does not.
    pub(crate) fn failing(&self) -> Vec<String> {
        self.0.lock().failing().map(|(.., condition)| condition.message().to_owned()).collect()
    }
}

/// By the clock on the wall, since 1970.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Starts a thread that listens again and again. `listen` returns why it is over.
pub(crate) fn start(
    name: &str,
    what: &'static str,
    watches: Arc<Watches>,
    mut listen: impl FnMut() -> ClusterError + Send + 'static,
) -> anyhow::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        let mut backoff = Backoff::up_to(AGAIN);
        loop {
            match listen() {
                // An API server that stops or forgets is no fault.
                ClusterError::Ended(_) | ClusterError::Expired(_) => {}
                error => watches.fails(what, &error.to_string()),
            }
            SystemClock.sleep(backoff.pause(SystemClock.random()));
        }
    })?;
    Ok(())
}
