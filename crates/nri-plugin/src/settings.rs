//! What a connection needs to know of its plugin.

use std::time::Duration;

use crate::policy::{FailurePolicy, OwnDeadline};

/// What a connection needs to know of its plugin.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) name: String,
    /// Two digits.
    pub(crate) index: String,
    /// Index and name, as runtimes write it.
    pub(crate) full_name: String,
    pub(crate) policy: FailurePolicy,
    pub(crate) own_deadline: OwnDeadline,
    pub(crate) times: Times,
}

/// How long the plugin waits for the runtime.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// For the answer to its registration. A runtime looks at one plugin after the other and reads the registration
    /// of the next one when that before it is synchronized, so that a new connection would only wait longer.
    pub register: Duration,
    /// For Configure after that answer.
    pub configure: Duration,
    /// For the runtime to take an answer.
    pub write: Duration,
    /// For the answer to an update of [`Updater`](crate::Updater).
    pub update: Duration,
}

impl Default for Times {
    /// A minute, 10 s, 2 s and 30 s.
    fn default() -> Self {
        Self {
            register: Duration::from_mins(1),
            configure: Duration::from_secs(10),
            write: Duration::from_secs(2),
            update: Duration::from_secs(30),
        }
    }
}
