//! One thing that a check of a node finds.

use std::fmt;

/// What a finding means.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mark {
    /// The guard works with it.
    Right,
    /// The guard does not work with it.
    Wrong,
    /// The guard works, with a limit that its user should know.
    Look,
    /// It is not known.
    Unknown,
}

impl Mark {
    /// The sign.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Right => "✔",
            Self::Wrong => "✘",
            Self::Look => "!",
            Self::Unknown => "?",
        }
    }
}

/// One thing that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What it means.
    pub mark: Mark,
    /// What is so, what follows, and what to do.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.mark.sign(), self.text)
    }
}
