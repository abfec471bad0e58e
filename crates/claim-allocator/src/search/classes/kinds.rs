//! What a class is for an alternative, and what classes are for.

/// What a class is for an alternative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Use {
    Nothing,
    Candidate,
    /// Looking at it is an error.
    Error,
    /// One of all the devices that are wanted.
    Member,
}

/// Whether states are only decided or the steps of the real allocator counted too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    Decide,
    CountSteps,
}
