//! What the pod resources service of a case has to tell.

use std::sync::{Arc, Mutex, PoisonError};

use device_plugin::{PodResources, PodResourcesQuery, PodResourcesSnapshot};

/// What was put there last.
#[derive(Default)]
pub(super) struct Told(Mutex<Arc<PodResourcesSnapshot>>);

impl Told {
    pub(super) fn tell(&self, snapshot: PodResourcesSnapshot) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
    }
}

impl PodResources for Told {
    fn snapshot(&self, _: PodResourcesQuery) -> Arc<PodResourcesSnapshot> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
