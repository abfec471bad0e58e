//! What is wrong with the objects that schedulers read of the node, each in a sentence. The log has it once.

use parking_lot::Mutex;

/// Empty where nothing is published.
#[derive(Debug, Default)]
pub(super) struct Unpublished {
    written: Mutex<Option<String>>,
    watched: Mutex<Option<String>>,
    state: Mutex<Option<String>>,
}

impl Unpublished {
    pub(super) fn problems(&self) -> Vec<String> {
        let all = [&self.written, &self.watched, &self.state];
        all.into_iter().filter_map(|wrong| wrong.lock().clone()).collect()
    }
}

#[cfg(feature = "kubernetes")]
impl Unpublished {
    /// The object with its amounts is not written.
    pub(super) fn not_written(&self, why: String) {
        say(&self.written, why);
    }

    /// What others do to it is not noticed at once.
    pub(super) fn not_watched(&self, why: String) {
        say(&self.watched, why);
    }

    /// It is written; whether it was not before.
    pub(super) fn written(&self) -> bool {
        self.written.lock().take().is_some()
    }

    /// The node's state is not written.
    pub(super) fn state_is_not_written(&self, why: String) {
        say(&self.state, why);
    }

    /// It is written; whether it was not before.
    pub(super) fn state_is_written(&self) -> bool {
        self.state.lock().take().is_some()
    }

    /// It is watched.
    pub(super) fn watched(&self) {
        *self.watched.lock() = None;
    }
}

#[cfg(feature = "kubernetes")]
fn say(to: &Mutex<Option<String>>, why: String) {
    let mut last = to.lock();
    if last.as_ref() != Some(&why) {
        tracing::warn!("{why}");
        *last = Some(why);
    }
}
