//! Which of the allocator's three copies a cluster runs.

use crate::Features;

/// A copy of the allocator. They differ in more than in the features that they know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Implementation {
    /// `stable`: pools in random order, slices as they are listed.
    Stable,
    /// `incubating`: what a default 1.37.2 runs.
    Incubating,
    /// `experimental`.
    Experimental,
}

impl Implementation {
    /// The one that kube-scheduler runs with these gates: the first that knows them all.
    #[must_use]
    pub const fn of(features: Features) -> Self {
        if Features::STABLE.covers(features.of_allocator()) {
            Self::Stable
        } else if Features::INCUBATING.covers(features.of_allocator()) {
            Self::Incubating
        } else {
            Self::Experimental
        }
    }

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Incubating => "incubating",
            Self::Experimental => "experimental",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Stable, Self::Incubating, Self::Experimental].into_iter().find(|one| one.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_copy_that_knows_all_gates_in_force_runs() {
        for (word, expected) in [
            ("none", Implementation::Stable),
            ("stable", Implementation::Stable),
            ("default", Implementation::Incubating),
            ("incubating", Implementation::Incubating),
            ("all", Implementation::Experimental),
            ("DRADerivedAttributes", Implementation::Experimental),
        ] {
            assert_eq!(Features::of_names([word]).map(Implementation::of), Ok(expected), "{word}");
        }
    }
}
