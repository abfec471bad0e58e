//! A thread that listens to an API server for the rest of the program, whatever becomes of the server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cluster_node::ClusterError;
use parking_lot::Mutex;

/// Between two tries.
const AGAIN: Duration = Duration::from_secs(1);
/// How long nothing may happen until the connection is looked at.
pub(crate) const SILENCE: Duration = Duration::from_mins(1);

/// What is not heard now, and why. The log has it once.
#[derive(Debug, Default)]
pub(crate) struct Troubles(Mutex<BTreeMap<&'static str, String>>);

impl Troubles {
    pub(crate) fn fails(&self, what: &'static str, why: &str) {
        let before = self.0.lock().insert(what, why.to_owned());
        if before.as_deref() != Some(why) {
            tracing::warn!("{what} are not heard of: {why}");
        }
    }

    pub(crate) fn works(&self, what: &'static str) {
        if self.0.lock().remove(what).is_some() {
            tracing::info!("{what} are heard of again");
        }
    }

    /// All that is wrong, each as a sentence.
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().iter().map(|(what, why)| format!("{what} are not heard of: {why}")).collect()
    }
}

/// Starts a thread that listens again and again. `listen` returns why it is over.
pub(crate) fn start(
    name: &str,
    what: &'static str,
    troubles: Arc<Troubles>,
    mut listen: impl FnMut() -> ClusterError + Send + 'static,
) -> anyhow::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        loop {
            match listen() {
                // An API server that stops or forgets is no fault.
                ClusterError::Ended(_) | ClusterError::Expired(_) => {}
                error => troubles.fails(what, &error.to_string()),
            }
            thread::sleep(AGAIN);
        }
    })?;
    Ok(())
}
