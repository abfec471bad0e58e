//! What a search finds.

use alloc::vec::Vec;

/// A device chosen for an alternative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    pub(crate) alternative: usize,
    pub(crate) device: usize,
}

/// The answer of the search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome<E> {
    Found(Solution),
    Failed,
    Error(E),
    /// The steps ran out before anything was certain.
    Cut,
}

/// The first solution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Solution {
    /// In the order in which they are chosen.
    pub(crate) choices: Vec<Choice>,
    /// Which alternative serves each request.
    pub(crate) selected: Vec<usize>,
}
