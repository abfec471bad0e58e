//! The outcome of a command, and the exit status of the program.

/// The outcome of a command. Of several the last in this order counts. `main` turns it into the exit status.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Outcome {
    /// Exit status 0: everything was done, and every pod is admitted.
    Done,
    /// Exit status 2: some pod is refused.
    SomeRefused,
    /// Exit status 2: something that was checked is wrong.
    SomethingWrong,
    /// Exit status 1: a part of the manifests could not be used; a message names it.
    Partial,
    /// Exit status 1: a service ended by a failure; a message names it.
    #[cfg(feature = "serve")]
    Failed,
}
