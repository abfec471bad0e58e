//! The order in which the kubelet books stored blocks at a start: it walks unordered maps.
//!
//! On odd states (a node whose blocks name different groups) that order decides whether it starts. A case that
//! was recorded in many runs has one answer; one that is asked on the spot has the answer of that run. So a
//! case is played by name first, and if the answer is not the kubelet's, in other orders: if one of these gives
//! its answer, the answer is one of several, which is a listed difference.

use std::hash::{DefaultHasher, Hash, Hasher};

use memory_manager::{Holdings, StateError, Static, Stored};

use crate::case::{Listed, Outcome};

/// So many other orders are tried. What needs one pod out of ten to be the last is missed once in 800 times.
const TRIES: u64 = 64;

/// An order of pods and, within each, of containers.
#[derive(Clone, Copy)]
pub(super) enum Order {
    ByName,
    Shuffled(u64),
}

/// What `play` comes to in the order of names, or in any other.
pub(super) fn in_any_order(play: impl Fn(Order) -> Outcome) -> Outcome {
    let by_name = play(Order::ByName);
    if !matches!(by_name, Outcome::Failed { .. }) {
        return by_name;
    }
    let other = (0..TRIES).map(|seed| play(Order::Shuffled(seed)));
    let agrees = other.into_iter().any(|outcome| !matches!(outcome, Outcome::Failed { .. }));
    if agrees { Outcome::Listed(Listed::Reproduced) } else { by_name }
}

impl Order {
    /// The order of the next start, which is another one.
    pub(super) fn next(self) -> Self {
        match self {
            Self::ByName => Self::ByName,
            Self::Shuffled(seed) => Self::Shuffled(hash(&("next", seed))),
        }
    }

    pub(super) fn restore(self, policy: &Static, stored: &Stored) -> Result<Holdings, StateError> {
        match self {
            Self::ByName => policy.restore(stored),
            Self::Shuffled(seed) => policy.restore_ranked(stored, |pod, container| {
                (hash(&(seed, pod.as_str())), hash(&(seed, container.as_str())))
            }),
        }
    }
}

fn hash(of: &impl Hash) -> u64 {
    // The same in every run, unlike that of a map.
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
