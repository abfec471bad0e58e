//! Where the devices of running containers' claims are, as the thread that looks at claims found last.

use std::collections::BTreeMap;
use std::sync::Arc;

use admission_report::ContainerClaim;
use arc_swap::ArcSwap;
use pod_spec::ContainerKey;

/// The claims of each container that runs; without a kubelet that is watched, of none.
#[derive(Clone, Default)]
pub struct RunningClaims(Arc<ArcSwap<BTreeMap<ContainerKey, Vec<ContainerClaim>>>>);

impl RunningClaims {
    /// The claims of all containers that have some.
    #[must_use]
    pub fn all(&self) -> Arc<BTreeMap<ContainerKey, Vec<ContainerClaim>>> {
        self.0.load_full()
    }

    /// The claims of a container.
    #[must_use]
    pub fn of(&self, container: &ContainerKey) -> Vec<ContainerClaim> {
        self.0.load().get(container).cloned().unwrap_or_default()
    }

    /// Replaces what readers get: for the thread that looks at claims.
    pub fn publish(&self, found: BTreeMap<ContainerKey, Vec<ContainerClaim>>) {
        self.0.store(Arc::new(found));
    }
}
