//! Pods and starts of containers that wait for device plugins, in the order in which they came.

use std::path::PathBuf;
use std::sync::Arc;

use cpu_manager::ContainerId;
use node_state::Source;
use pod_spec::{ContainerKey, Pod, PodUid};

use crate::deferred_pod::DeferredPod;
use crate::event::Ticket;

/// Who waits.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    /// With who is to be answered.
    pub(super) pods: Vec<(Option<Ticket>, Arc<DeferredPod>)>,
    pub(super) starts: Vec<Start>,
}

/// A container that is about to start.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) ticket: Ticket,
    pub(super) container: ContainerKey,
    pub(super) id: ContainerId,
    pub(super) cgroup: Option<PathBuf>,
}

/// Whether a pod that waited may be decided on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// One may.
    Given,
    /// None, until the next turn.
    Over,
}

impl Deferred {
    pub(super) fn pod(&self, uid: &PodUid) -> Option<&Pod> {
        self.pods.iter().map(|(_, pod)| &*pod.pod).find(|pod| pod.uid == *uid)
    }

    pub(super) fn source_of(&self, uid: &PodUid) -> Option<Source> {
        self.pods.iter().find(|(_, pod)| pod.pod.uid == *uid).map(|(_, pod)| pod.source.clone())
    }

    /// Removes a pod, with who is to be answered.
    pub(super) fn remove(&mut self, uid: &PodUid) -> Option<(Option<Ticket>, Arc<Pod>)> {
        let at = self.pods.iter().position(|(_, pod)| pod.pod.uid == *uid)?;
        let (ticket, pod) = self.pods.remove(at);
        Some((ticket, pod.pod.clone()))
    }

    /// Drops the pods that `keeps` does not keep.
    pub(super) fn retain_pods(&mut self, mut keeps: impl FnMut(&mut Source, &Pod) -> bool) {
        self.pods.retain_mut(|(_, deferred)| {
            let mut source = deferred.source.clone();
            let is_kept = keeps(&mut source, &deferred.pod);
            if source != deferred.source {
                Arc::make_mut(deferred).source = source;
            }
            is_kept
        });
    }

    pub(super) fn start(
        &mut self,
        ticket: Ticket,
        container: ContainerKey,
        id: ContainerId,
        cgroup: Option<PathBuf>,
    ) {
        self.starts.push(Start { ticket, container, id, cgroup });
    }
}
