//! What is to be done next about a pod.
//!
//! The order is a kubelet's: what a pod holds is free before the API server hears that it has ended, so that a scheduler
//! that sends the next pod is not proved wrong; and its object goes last.

use crate::object::Stage;

/// What the ledger has of a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// Nothing.
    Nothing,
    /// It has been asked for, and there is no answer yet.
    Asked,
    /// It holds what it was admitted with.
    Holds,
    /// Its release has been asked for.
    Releasing,
}

/// What is known of a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// Nothing has been decided.
    Undecided,
    /// It was refused, or ended for another pod.
    Ended,
    /// It was admitted, and containers of it run or may start.
    Runs,
    /// It was admitted, and no container of it runs; none starts if the pod is deleted.
    Rests,
    /// It was admitted, all its containers have ended, and none starts again.
    Over,
}

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Ask for what it needs.
    Admit,
    /// Tell that its containers are to end.
    Stop,
    /// Give back what it holds.
    Release,
    /// Have the API server say what the node says.
    Report,
    /// The same, and then have the object deleted.
    Finalise,
    /// Forget it.
    Forget,
    /// Nothing, until something happens.
    Wait,
}

impl Step {
    /// The next step about a pod whose object has come as far as `stage`; `None`: there is no object any more.
    #[must_use]
    pub const fn next(stage: Option<Stage>, hold: Hold, known: Known) -> Self {
        match (stage, hold, known) {
            (None, Hold::Nothing, _) => Self::Forget,
            (Some(Stage::Deleted | Stage::Ended), Hold::Holds, Known::Runs) => Self::Stop,
            (None | Some(Stage::Deleted | Stage::Ended), Hold::Asked | Hold::Holds, _)
            | (Some(Stage::Active), Hold::Holds, Known::Over) => Self::Release,
            (Some(Stage::Deleted), Hold::Nothing, _) => Self::Finalise,
            (Some(Stage::Active), Hold::Nothing, Known::Undecided) => Self::Admit,
            (Some(Stage::Active), Hold::Nothing | Hold::Holds, _) => Self::Report,
            (_, Hold::Releasing, _)
            | (Some(Stage::Active), Hold::Asked, _)
            | (Some(Stage::Ended), Hold::Nothing, _) => Self::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_to_have_ended_that_holds_something() {
        use Stage::{Active, Deleted, Ended};
        for (stage, hold, known, expected) in [
            (Some(Active), Hold::Nothing, Known::Undecided, Step::Admit),
            (Some(Active), Hold::Asked, Known::Undecided, Step::Wait),
            (Some(Active), Hold::Holds, Known::Rests, Step::Report),
            (Some(Active), Hold::Holds, Known::Runs, Step::Report),
            (Some(Active), Hold::Holds, Known::Over, Step::Release),
            (Some(Active), Hold::Releasing, Known::Over, Step::Wait),
            (Some(Active), Hold::Nothing, Known::Over, Step::Report),
            (Some(Active), Hold::Nothing, Known::Ended, Step::Report),
            (Some(Deleted), Hold::Holds, Known::Runs, Step::Stop),
            (Some(Deleted), Hold::Holds, Known::Rests, Step::Release),
            (Some(Deleted), Hold::Asked, Known::Undecided, Step::Release),
            (Some(Deleted), Hold::Nothing, Known::Over, Step::Finalise),
            (Some(Deleted), Hold::Nothing, Known::Undecided, Step::Finalise),
            (Some(Ended), Hold::Holds, Known::Runs, Step::Stop),
            (Some(Ended), Hold::Holds, Known::Rests, Step::Release),
            (Some(Ended), Hold::Nothing, Known::Undecided, Step::Wait),
            (None, Hold::Holds, Known::Runs, Step::Release),
            (None, Hold::Asked, Known::Undecided, Step::Release),
            (None, Hold::Releasing, Known::Runs, Step::Wait),
            (None, Hold::Nothing, Known::Ended, Step::Forget),
        ] {
            assert_eq!(Step::next(stage, hold, known), expected, "{stage:?} {hold:?} {known:?}");
        }
    }
}
