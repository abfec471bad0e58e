//! A bound on searches, counted in states looked at and never in time.

use thiserror::Error;

/// How many more states a search may look at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steps {
    left: u64,
}

/// The bound was reached before there was an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("search not finished within the allowed number of steps")]
pub struct OutOfSteps;

impl Steps {
    /// `limit` states.
    #[must_use]
    pub const fn new(limit: u64) -> Self {
        Self { left: limit }
    }

    /// How many are left.
    #[must_use]
    pub const fn left(self) -> u64 {
        self.left
    }

    /// Counts one state.
    pub const fn take(&mut self) -> Result<(), OutOfSteps> {
        self.take_many(1)
    }

    /// Counts `count` states.
    pub const fn take_many(&mut self, count: u64) -> Result<(), OutOfSteps> {
        let Some(left) = self.left.checked_sub(count) else {
            self.left = 0;
            return Err(OutOfSteps);
        };
        self.left = left;
        Ok(())
    }
}
