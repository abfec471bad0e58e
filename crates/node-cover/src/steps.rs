//! The budget of a search, counted in visited states and never in time.

use thiserror::Error;

/// How many more states a search may visit. The default is 100,000: some tenths of a second on a contrived machine; no
/// real machine comes near it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steps {
    left: u64,
}

/// The search used up its steps before it had an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("search not finished within the allowed number of steps")]
pub struct OutOfSteps;

impl Default for Steps {
    fn default() -> Self {
        Self::new(100_000)
    }
}

impl Steps {
    /// For [`best_fit`](crate::best_fit): 10,000 states. Of 300,000 random questions to 16 groups of up to 16 blocks of two
    /// things, as the caches of the largest NUMA nodes, none took more than 2,694.
    #[must_use]
    pub const fn of_groups() -> Self {
        Self::new(10_000)
    }

    /// `limit` states.
    #[must_use]
    pub const fn new(limit: u64) -> Self {
        Self { left: limit }
    }

    /// States that the search may still visit.
    #[must_use]
    pub const fn left(self) -> u64 {
        self.left
    }

    /// Counts one visited state.
    pub const fn take(&mut self) -> Result<(), OutOfSteps> {
        self.take_many(1)
    }

    /// Counts `count` visited states.
    pub const fn take_many(&mut self, count: u64) -> Result<(), OutOfSteps> {
        let Some(left) = self.left.checked_sub(count) else {
            self.left = 0;
            return Err(OutOfSteps);
        };
        self.left = left;
        Ok(())
    }
}
