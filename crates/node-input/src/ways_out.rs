//! Nodes by other rules that avoid a fault of the kubelet; made when the first pod meets the fault.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use kubelet_release::Fault;

/// A change, and the node with it.
pub(crate) struct WayOut<N> {
    pub(crate) change: String,
    pub(crate) node: N,
}

type Known<N> = BTreeMap<Fault, Arc<Vec<WayOut<N>>>>;

/// Those of each fault that some pod has met.
pub(crate) struct WaysOut<N>(Arc<RwLock<Known<N>>>);

impl<N> Clone for WaysOut<N> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<N> Default for WaysOut<N> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<N> WaysOut<N> {
    /// Those of a fault, which `find` finds where they are not known.
    pub(crate) fn of(&self, fault: Fault, find: impl FnOnce() -> Vec<WayOut<N>>) -> Arc<Vec<WayOut<N>>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&fault).cloned();
        known.unwrap_or_else(|| {
            let found = Arc::new(find());
            self.0.write().unwrap_or_else(PoisonError::into_inner).insert(fault, found.clone());
            found
        })
    }
}
