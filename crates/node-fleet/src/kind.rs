//! What all nodes of the fleet have in common: their machine and configuration, and what is counted.

use std::sync::atomic::{AtomicU64, Ordering};

use kubelet_status::Reported;
use node_input::{LoadedNode, NodeDescription};

/// What all nodes of the fleet have in common.
pub(crate) struct Kind {
    pub(crate) node: LoadedNode,
    pub(crate) reported: Reported,
    /// What its `NodeState` says that it is.
    pub(crate) description: NodeDescription,
    pub(crate) counters: Counters,
}

/// What has been done since the start.
#[derive(Default)]
pub(crate) struct Counters {
    /// Pods that nodes admitted.
    pub(crate) admitted: AtomicU64,
    /// Pods that they refused.
    pub(crate) refused: AtomicU64,
    /// Times that what schedulers read of a node was written.
    pub(crate) publications: AtomicU64,
    /// How long what was written before was out of date, in all, in microseconds.
    pub(crate) delay: AtomicU64,
    /// Statuses of pods, and objects of pods that are deleted.
    pub(crate) pods: AtomicU64,
    /// Calls that the API server did not carry out.
    pub(crate) failures: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
