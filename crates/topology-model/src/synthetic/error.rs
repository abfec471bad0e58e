//! Why a text in the notation describes no machine.

use alloc::string::String;

use thiserror::Error;

use crate::InvalidMachine;

/// Why a text describes no machine.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum SyntheticError {
    /// A word that is no level.
    #[error("{0:?} is not a level with a count, as in pack:2, numa:1, l3:1, l2:1, l1:1, core:8 or pu:2")]
    Level(String),
    /// A level that was there before.
    #[error("{0:?} is a level that is already there")]
    Repeated(String),
    /// A level that cannot be inside of what is before it.
    #[error("{0:?} cannot be inside of a core or thread")]
    Order(String),
    /// An attribute that its level does not have, or without an amount.
    #[error(
        "{0:?} is not an attribute of this level, as in numa:1(memory=64GiB hugepages-1Gi=4) or l3:1(size=32MiB)"
    )]
    Attribute(String),
    /// A parenthesis or bracket is not closed.
    #[error("{0:?} is not closed")]
    Unclosed(String),
    /// The last level is not `pu`.
    #[error("the last level is not pu")]
    NoThreads,
    /// More CPUs than a kernel numbers.
    #[error("more than 8192 CPUs")]
    TooManyCpus,
    /// More nodes than a kernel has.
    #[error("more than 1024 NUMA nodes")]
    TooManyNodes,
    /// Parts that do not fit each other.
    #[error(transparent)]
    Machine(#[from] InvalidMachine),
}
