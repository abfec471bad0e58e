//! How long something is measured.

/// How much time measuring takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effort {
    /// As little as shows that it works.
    Quick,
    /// As much as figures in documents need.
    Whole,
}

impl Effort {
    /// The argument of the program `workloads` for it.
    pub(super) const fn argument(self) -> Option<&'static str> {
        match self {
            Self::Quick => Some("--quick"),
            Self::Whole => None,
        }
    }
}
