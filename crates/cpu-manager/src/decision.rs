//! What serving a container or a pod came to.

use alloc::vec::Vec;

use crate::{AllocateError, Change};

/// A decision made in place: granted or not, and what it adds to the metrics either way.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision<G> {
    /// What the container or the pod is granted, or why it cannot be served.
    pub granted: Result<G, AllocateError>,
    /// What the kubelet's metrics gain, in order.
    pub counted: Vec<Change>,
    /// Whether a search among NUMA nodes ran out of steps: others might be left more even.
    pub is_cut: bool,
}

impl<G> Decision<G> {
    /// The same with something else made of what is granted.
    pub fn map<T>(self, change: impl FnOnce(G) -> T) -> Decision<T> {
        let Self { granted, counted, is_cut } = self;
        Decision { granted: granted.map(change), counted, is_cut }
    }
}
