//! Which decisions are shown, in which detail and format.

use node_output::{DecisionDepth, Format};
use topology_admission::{Detail, Tries};

use crate::screen::Screen;
use crate::shown::ShownArguments;

/// How much of each decision is shown.
#[derive(Clone, Copy)]
pub(crate) enum Depth {
    /// The decision alone: `topolet admit`.
    Short,
    /// Everything that led to it, and the changes that would fit, of which so many are tried: `topolet explain`.
    Full(Tries),
}

impl Depth {
    /// What an attempt has to record for it.
    pub(super) const fn detail(self) -> Detail {
        match self {
            Self::Short => Detail::Short,
            Self::Full(_) => Detail::Merges,
        }
    }

    /// What is written of it.
    pub(super) const fn written(self) -> DecisionDepth {
        match self {
            Self::Short => DecisionDepth::Decision,
            Self::Full(_) => DecisionDepth::Explanation,
        }
    }

    /// How many changes are tried to find what would fit. For a short decision, the default number.
    pub(super) fn tries(self) -> Tries {
        match self {
            Self::Short => Tries::default(),
            Self::Full(tries) => tries,
        }
    }
}

/// What the arguments of a command say about its output.
#[derive(Clone, Copy)]
pub(crate) struct OutputOptions<'a> {
    pub(crate) depth: Depth,
    pub(crate) shown: &'a ShownArguments,
    pub(crate) format: Format,
    pub(crate) screen: Screen,
}
