//! One condition, and what a new state changes about it.

use alloc::string::String;
use core::time::Duration;

/// The status of a condition, as Kubernetes spells it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Status {
    /// What the type names is so: all is well.
    True,
    /// It is not so.
    False,
    /// It is not known whether it is so, or has not been tried yet.
    Unknown,
}

impl Status {
    /// `True`, `False` or `Unknown`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// All is well.
    Works,
    /// Something is wrong.
    Failed {
        /// The cause in one word, for programs: `Unreachable`.
        reason: &'static str,
        /// The cause in one sentence, for people.
        message: String,
    },
    /// It has not been tried yet, and nothing has failed.
    Pending {
        /// What it waits for, in one sentence.
        message: String,
    },
    /// It was tried, and cannot be known; nothing is known to be wrong.
    Unknown {
        /// The cause in one word, for programs: `NotPublished`.
        reason: &'static str,
        /// What is not known and why, in one sentence.
        message: String,
    },
}

impl State {
    /// [`State::Failed`] for a reason, with a message.
    pub fn failed(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Failed { reason, message: message.into() }
    }

    /// [`State::Pending`] with a message.
    pub fn pending(message: impl Into<String>) -> Self {
        Self::Pending { message: message.into() }
    }

    /// [`State::Unknown`] for a reason, with a message.
    pub fn unknown(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Unknown { reason, message: message.into() }
    }

    /// [`Status::True`] where it works, [`Status::False`] where it failed, else [`Status::Unknown`].
    #[must_use]
    pub const fn status(&self) -> Status {
        match self {
            Self::Works => Status::True,
            Self::Failed { .. } => Status::False,
            Self::Pending { .. } | Self::Unknown { .. } => Status::Unknown,
        }
    }
}

/// A condition. Its type and its subject are its key in a [`Conditions`](crate::Conditions).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// The result of the last check.
    pub state: State,
    /// The time at which its status changed last, by the clock of the caller.
    pub since: Duration,
}

/// What of a new state is worth a log line.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a change is logged once"]
pub enum Change {
    /// Nothing: the same as before, another reason with the same message, or a start or retry of what has not failed.
    None,
    /// A failure begins or ends. A condition that works from the first never gives this.
    Status,
    /// It fails as before with another message; this holds the earlier one.
    Message(String),
}

impl Change {
    /// Whether the log needs a line.
    #[must_use]
    pub fn is_some(&self) -> bool {
        *self != Self::None
    }
}

impl Condition {
    /// A condition that is set for the first time, at the time `since`.
    #[must_use]
    pub const fn new(state: State, since: Duration) -> Self {
        Self { state, since }
    }

    /// Its status.
    #[must_use]
    pub const fn status(&self) -> Status {
        self.state.status()
    }

    /// What is wrong or not known, or what it waits for; empty where all is well.
    #[must_use]
    pub fn message(&self) -> &str {
        match &self.state {
            State::Works => "",
            State::Failed { message, .. } | State::Pending { message } | State::Unknown { message, .. } => {
                message
            }
        }
    }

    /// The cause in one word: `AsExpected` where it works, `Pending` where it has not been tried.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match &self.state {
            State::Works => "AsExpected",
            State::Failed { reason, .. } | State::Unknown { reason, .. } => reason,
            State::Pending { .. } => "Pending",
        }
    }

    /// Records the result of a check at the time `now`, and returns what of it is worth a log line.
    ///
    /// A condition that goes from [`State::Pending`] to [`State::Works`] or back gives [`Change::None`]: nothing has failed.
    pub fn set(&mut self, state: State, now: Duration) -> Change {
        let (before, after) = (self.status(), state.status());
        let earlier = core::mem::replace(&mut self.state, state);
        if before != after {
            self.since = now;
            return if before == Status::False || after == Status::False {
                Change::Status
            } else {
                Change::None
            };
        }
        match (earlier, &self.state) {
            (State::Failed { message: before, .. }, State::Failed { message, .. }) if before != *message => {
                Change::Message(before)
            }
            _ => Change::None,
        }
    }
}
