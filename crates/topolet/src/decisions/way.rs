//! How decisions are shown.

use node_output::Format;
use topology_admission::{Detail, Tries};

use crate::screen::Screen;
use crate::told::ToldArguments;

/// How much is shown of each decision.
#[derive(Clone, Copy)]
pub(crate) enum Depth {
    /// The decision.
    Short,
    /// Everything that led to it, and what would fit, with so many tries.
    Whole(Tries),
}

impl Depth {
    /// How much of each attempt is kept.
    pub(super) const fn detail(self) -> Detail {
        match self {
            Self::Short => Detail::Short,
            Self::Whole(_) => Detail::Merges,
        }
    }

    /// How many changes are tried to find what would fit.
    pub(super) fn tries(self) -> Tries {
        match self {
            Self::Short => Tries::default(),
            Self::Whole(tries) => tries,
        }
    }
}

/// How decisions are shown.
#[derive(Clone, Copy)]
pub(crate) struct Way<'a> {
    pub(crate) depth: Depth,
    pub(crate) told: &'a ToldArguments,
    pub(crate) format: Format,
    pub(crate) screen: Screen,
}
