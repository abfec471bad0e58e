//! One condition, and what a new state changes about it.

use alloc::string::String;
use core::time::Duration;

/// The status of a condition, as Kubernetes spells it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Status {
    /// It is as it should be.
    True,
    /// It is not.
    False,
    /// It has not been tried, or cannot be found out.
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

/// What has been found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// It is as it should be.
    Works,
    /// It is not.
    Failed {
        /// The cause in one word, for programs: `Unreachable`.
        reason: &'static str,
        /// The cause in one sentence, for people.
        message: String,
    },
    /// It has not been tried yet.
    Pending {
        /// What it waits for, in one sentence.
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

    /// The status that this is.
    #[must_use]
    pub const fn status(&self) -> Status {
        match self {
            Self::Works => Status::True,
            Self::Failed { .. } => Status::False,
            Self::Pending { .. } => Status::Unknown,
        }
    }
}

/// A condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// What was found last.
    pub state: State,
    /// Since when it has its status, by the clock of the caller.
    pub since: Duration,
}

/// What a new state changes about a condition.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a change is logged once"]
pub enum Change {
    /// Nothing that has to be logged.
    None,
    /// Its status. A condition that works from the first does not change.
    Status,
    /// What is wrong with it, which still fails. The message was this.
    Message(String),
}

impl Change {
    /// Whether there is any.
    #[must_use]
    pub fn is_some(&self) -> bool {
        *self != Self::None
    }
}

impl Condition {
    /// One that has just been found.
    #[must_use]
    pub const fn new(state: State, since: Duration) -> Self {
        Self { state, since }
    }

    /// Its status.
    #[must_use]
    pub const fn status(&self) -> Status {
        self.state.status()
    }

    /// What is wrong, or what it waits for; empty where it works.
    #[must_use]
    pub fn message(&self) -> &str {
        match &self.state {
            State::Works => "",
            State::Failed { message, .. } | State::Pending { message } => message,
        }
    }

    /// The cause in one word: `AsExpected` where it works, `Pending` where it has not been tried.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match &self.state {
            State::Works => "AsExpected",
            State::Failed { reason, .. } => reason,
            State::Pending { .. } => "Pending",
        }
    }

    /// This was found at this time.
    ///
    /// What has not been tried yet and then works, or is tried again, is no change: it never failed.
    pub fn set(&mut self, state: State, now: Duration) -> Change {
        let (before, after) = (self.status(), state.status());
        let found = core::mem::replace(&mut self.state, state);
        if before != after {
            self.since = now;
            return if before == Status::False || after == Status::False {
                Change::Status
            } else {
                Change::None
            };
        }
        match (found, &self.state) {
            (State::Failed { message: before, .. }, State::Failed { message, .. }) if before != *message => {
                Change::Message(before)
            }
            _ => Change::None,
        }
    }
}
