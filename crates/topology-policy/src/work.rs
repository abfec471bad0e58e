//! A bound on the search, counted in states looked at and never in time.

use node_cover::{OutOfSteps, Steps};

use crate::distance::MissingDistance;

/// How many steps one merge may take. No real machine comes near the default of a million.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkLimit(pub u64);

impl Default for WorkLimit {
    fn default() -> Self {
        Self(1_000_000)
    }
}

impl WorkLimit {
    pub(crate) const fn start(self) -> Steps {
        Steps::new(self.0)
    }
}

/// Why a search stopped early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// A tie needs a distance that is not known.
    MissingDistance(MissingDistance),
    /// The work ran out.
    OutOfSteps,
}

impl From<MissingDistance> for Stop {
    fn from(missing: MissingDistance) -> Self {
        Self::MissingDistance(missing)
    }
}

impl From<OutOfSteps> for Stop {
    fn from(_: OutOfSteps) -> Self {
        Self::OutOfSteps
    }
}
