//! Why a container or a pod is not served.

use thiserror::Error;

use crate::{EmptySharedPool, TakeError};

/// Why a container could not be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum AllocateError {
    /// Not enough CPUs; the kubelet's reason is `UnexpectedAdmissionError`.
    #[error(transparent)]
    Take(#[from] TakeError),
    /// Whole cores are required; the kubelet's reason is `SMTAlignmentError`.
    #[error(transparent)]
    WholeCores(#[from] WholeCoresError),
    /// A pod that is served as a whole leaves nothing for some of its containers; the kubelet's reason is
    /// `EmptyPodSharedPoolError`.
    #[error(transparent)]
    EmptySharedPool(#[from] EmptySharedPool),
    /// The container would have been spread over more last-level caches than it needs.
    #[error(transparent)]
    CacheSplit(#[from] CacheSplit),
}

/// A container would have been spread over more last-level caches than its CPUs fill.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("{requested} CPUs are free on {touched} last-level caches only, and fit {needed}")]
pub struct CacheSplit {
    /// CPUs asked for.
    pub requested: usize,
    /// Caches that they would have been on.
    pub touched: usize,
    /// Caches that hold so many.
    pub needed: usize,
}

/// Why a request cannot be met in whole cores. The texts are the kubelet's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum WholeCoresError {
    /// Part of a core is asked for.
    #[error("SMT Alignment Error: requested {requested} cpus not multiple cpus per core = {per_core}")]
    NotMultiple {
        /// CPUs asked for.
        requested: usize,
        /// Threads of a core, on average.
        per_core: usize,
    },
    /// Too few CPUs are free on cores that have no reserved one. Half-busy cores count, reusable CPUs do not.
    #[error(
        "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = {available}, \
         requested CPUs = {requested}, CPUs per core = {per_core}"
    )]
    NotEnough {
        /// CPUs free.
        available: usize,
        /// CPUs asked for.
        requested: usize,
        /// Threads of a core, on average.
        per_core: usize,
    },
}
