//! What a command came to.

/// What a command came to; the exit status is made of it. Of several the last counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Outcome {
    /// Everything that was asked has been done, and every pod admitted.
    Done,
    /// Some pod was refused.
    SomeRefused,
    /// What was looked at is not in order.
    SomethingWrong,
    /// A part of what was given could not be used, which has been said.
    Partial,
    /// A service ended by a failure, which has been said.
    #[cfg(feature = "serve")]
    Failed,
}
