//! Threads that listen to an API server for the rest of the program, whatever becomes of the server.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use cluster_node::{ClusterError, Connector, Listener, Listening, ObjectEvent, Watched};

use crate::conditions::ServiceConditions;

/// The longest pause between two tries.
pub(crate) const AGAIN: Duration = Duration::from_secs(1);

/// What a thread listens to.
pub(crate) struct Subject {
    /// The thread.
    pub(crate) thread: &'static str,
    /// The objects, as a log names them.
    pub(crate) what: &'static str,
    /// The same, for the API server.
    pub(crate) watched: Watched,
}

/// Starts a thread that listens to objects for the rest of the program.
pub(crate) fn start(
    subject: Subject,
    conditions: &Arc<ServiceConditions>,
    connector: &Connector,
    heard: impl FnMut(ObjectEvent) + Send + 'static,
) -> anyhow::Result<()> {
    let Subject { thread, what, watched } = subject;
    let reported = Reported { what, conditions: conditions.clone(), heard };
    Ok(Listening::new(connector.clone(), watched, AGAIN, reported).start(thread)?)
}

/// A listener, whose watch is a condition.
struct Reported<F> {
    what: &'static str,
    conditions: Arc<ServiceConditions>,
    heard: F,
}

impl<F: FnMut(ObjectEvent)> Listener for Reported<F> {
    fn heard(&mut self, event: ObjectEvent) -> ControlFlow<()> {
        let is_complete = matches!(event, ObjectEvent::Complete { .. });
        (self.heard)(event);
        if is_complete {
            self.conditions.heard(self.what);
        }
        ControlFlow::Continue(())
    }

    fn failed(&mut self, error: &ClusterError) {
        self.conditions.unheard(self.what, &error.to_string());
    }
}
