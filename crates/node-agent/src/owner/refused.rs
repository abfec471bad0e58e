//! Refused pods that are remembered.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use pod_spec::PodUid;

use crate::snapshot::RefusedPod;

/// So many refused pods that are not from the folder are remembered.
const LARGEST: usize = 1000;

/// Refused pods by UID: all of the folder, and the newest of others.
#[derive(Debug, Default)]
pub(super) struct RefusedPods {
    pods: BTreeMap<PodUid, Arc<RefusedPod>>,
    /// UIDs of refused pods that are not from the folder, oldest first.
    order: VecDeque<PodUid>,
}

impl RefusedPods {
    pub(super) const fn all(&self) -> &BTreeMap<PodUid, Arc<RefusedPod>> {
        &self.pods
    }

    pub(super) fn get(&self, uid: &PodUid) -> Option<&RefusedPod> {
        self.pods.get(uid).map(AsRef::as_ref)
    }

    /// Adds one, and forgets the oldest that is not from the folder if there are too many.
    pub(super) fn insert(&mut self, pod: RefusedPod) {
        let uid = pod.pod.uid.clone();
        if !pod.source.is_folder() {
            self.order.push_back(uid.clone());
        }
        self.pods.insert(uid, Arc::new(pod));
        while self.order.len() > LARGEST {
            if let Some(oldest) = self.order.pop_front() {
                self.pods.remove(&oldest);
            }
        }
    }

    pub(super) fn remove(&mut self, uid: &PodUid) {
        self.pods.remove(uid);
        self.order.retain(|other| other != uid);
    }

    pub(super) fn retain(&mut self, mut keeps: impl FnMut(&mut Arc<RefusedPod>) -> bool) {
        self.pods.retain(|_, refused| keeps(refused));
    }
}
