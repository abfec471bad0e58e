//! Why a container or a pod is not served.

use numa_bitmask::{NodeIndex, NodeMask};
use thiserror::Error;

use crate::EmptySharedPool;

/// Why a container could not be served. The texts are the kubelet's, except that of
/// [`AllocateError::UnknownNode`].
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum AllocateError {
    /// An amount is no 64-bit integer in the form in which it is written.
    #[error("[memorymanager] failed to represent quantity as int64")]
    NotInt64,
    /// No node set can hold the request.
    #[error(
        "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
    )]
    NothingFits,
    /// No preferred node set can, and a preferred one is demanded.
    #[error("[memorymanager] failed to find the default preferred hint")]
    NothingPreferredFits,
    /// The nodes of the hint have not enough free, nor has any set around them.
    #[error("[memorymanager] failed to find NUMA nodes to extend the current topology hint")]
    NoExtension {
        /// The nodes of the hint.
        hint: NodeMask,
    },
    /// A set around the nodes of the hint has, but it is not preferred as the hint is.
    #[error("[memorymanager] failed to find the extended preferred hint")]
    NoPreferredExtension {
        /// The nodes of the hint.
        hint: NodeMask,
        /// The set.
        extended: NodeMask,
    },
    /// A node is bound to others than those that it would serve with.
    #[error("[memorymanager] preferred hint violates NUMA node allocation")]
    GroupViolated {
        /// Where the request was to be booked.
        nodes: NodeMask,
        /// One of these.
        node: NodeIndex,
        /// What it is bound to: itself alone, or another set.
        group: NodeMask,
    },
    /// The pod leaves its shared containers nothing; the kubelet's reason is `EmptyPodSharedPoolError`.
    #[error(transparent)]
    EmptySharedPool(#[from] EmptySharedPool),
    /// The hint names a node that the machine lacks. The kubelet crashes.
    #[error("the topology hint names a NUMA node that does not exist on this machine")]
    UnknownNode,
}
