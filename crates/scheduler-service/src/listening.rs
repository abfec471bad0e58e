//! Threads that listen to an API server for the rest of the program, whatever becomes of the server.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cluster_node::{ClusterError, Connector, Listener, Listening, ObjectEvent, Watched};
use conditions::{Conditions, State};
use parking_lot::Mutex;

/// The longest pause between two tries.
pub(crate) const AGAIN: Duration = Duration::from_secs(1);

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

/// Starts a thread that listens to objects for the rest of the program.
pub(crate) fn start(
    (thread, what): (&str, &'static str),
    watched: Watched,
    watches: &Arc<Watches>,
    connector: &Connector,
    heard: impl FnMut(ObjectEvent) + Send + 'static,
) -> anyhow::Result<()> {
    let reported = Reported { what, watches: watches.clone(), heard };
    Ok(Listening::new(connector.clone(), watched, AGAIN, reported).start(thread)?)
}

/// A listener, and whether its watch works.
struct Reported<F> {
    what: &'static str,
    watches: Arc<Watches>,
    heard: F,
}

impl<F: FnMut(ObjectEvent)> Listener for Reported<F> {
    fn heard(&mut self, event: ObjectEvent) -> ControlFlow<()> {
        let is_complete = matches!(event, ObjectEvent::Complete { .. });
        (self.heard)(event);
        if is_complete {
            self.watches.works(self.what);
        }
        ControlFlow::Continue(())
    }

    fn failed(&mut self, error: &ClusterError) {
        self.watches.fails(self.what, &error.to_string());
    }
}
