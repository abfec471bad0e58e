//! The outcome of a merge: a hint and whether the unit may run, or why there is no exact answer.

use thiserror::Error;
use topology_hint::Hint;

use crate::distance::MissingDistance;

/// Whether the unit may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admit {
    /// The pod is admitted.
    Yes,
    /// The pod is refused with `TopologyAffinityError`.
    No,
}

/// The outcome of a merge.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Merged {
    /// Where the unit goes.
    pub hint: Hint,
    /// Whether it may run there.
    pub admit: Admit,
}

impl Merged {
    /// The hint, if the unit may run.
    #[must_use]
    pub const fn admitted(self) -> Option<Hint> {
        match self.admit {
            Admit::Yes => Some(self.hint),
            Admit::No => None,
        }
    }
}

/// Why a merge has no exact answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum MergeError {
    /// The search was cut; `best` is what had been found, if anything.
    #[error("merge of topology hints not finished within {limit} steps")]
    Unfinished {
        /// How many steps were allowed.
        limit: u64,
        /// The best result so far.
        best: Option<Merged>,
    },
    /// Two node sets of equal size cannot be ordered by distance.
    #[error(transparent)]
    MissingDistance(#[from] MissingDistance),
}
