//! Pods, and containers about to start, that wait for device plugins which are not back yet.
//!
//! After a restart plugins register again one after the other. A pod that needs one of them is decided on when its plugin
//! has listed devices, or when `devices.deferSeconds` are over; a container that holds devices of one starts then. Whoever
//! asked by a request is answered at once that the pod is deferred; for a pod of an API server the answer waits, as it does
//! for any pod that is being decided on. Requests that wait are not kept over a restart.

use std::path::PathBuf;
use std::sync::Arc;

use cpu_manager::ContainerId;
use device_manager::Moment;
use node_state::Source;
use pod_spec::{ContainerKey, Pod, PodUid};
use topology_admission::Deferral;

use super::{Owner, PendingPod};
use crate::effect::{Answer, Effect};
use crate::event::Ticket;
use crate::snapshot::DeferredPod;

/// Who waits.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    /// With who is to be answered.
    pods: Vec<(Option<Ticket>, Arc<DeferredPod>)>,
    starts: Vec<Start>,
}

/// A container that is about to start.
#[derive(Debug)]
struct Start {
    ticket: Ticket,
    container: ContainerKey,
    id: ContainerId,
    cgroup: Option<PathBuf>,
}

impl Deferred {
    pub(super) fn pods(&self) -> impl Iterator<Item = &(Option<Ticket>, Arc<DeferredPod>)> {
        self.pods.iter()
    }

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

    /// Drops pods that nobody wants any more.
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

impl Owner {
    /// The pod that is first in line waits.
    pub(super) fn defer(&mut self, deferral: Deferral) {
        let Some(mut waiting) = self.admissions.pop_front() else { return };
        if !matches!(waiting.source, Source::Cluster)
            && let Some(ticket) = waiting.ticket.take()
        {
            self.effects.push(Effect::Answer(ticket, Answer::Deferred(deferral.clone())));
        }
        let PendingPod { pod, source, ticket, .. } = waiting;
        let deferred = Arc::new(DeferredPod { pod, source, deferral });
        self.effects.push(Effect::Deferred(deferred.clone()));
        self.deferred.pods.push((ticket, deferred));
    }

    /// Whether a container holds devices of a plugin that is waited for.
    pub(super) fn is_late(&self, container: &ContainerKey) -> bool {
        let mut held = self.ledger.devices().of_container(&container.pod, &container.container);
        held.any(|(resource, _)| self.node.waits_for(&self.ledger, resource, self.now).is_some())
    }

    /// Has those go on who have waited for long enough, or for what is there now; whether that may lead to changes.
    pub(super) fn resume(&mut self, now: Moment) -> bool {
        let waits = |pod: &DeferredPod| {
            let mut late = pod.deferral.resources.iter();
            late.all(|resource| self.node.waits_for(&self.ledger, resource, now).is_some())
        };
        let (still, ready): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.deferred.pods).into_iter().partition(|(_, pod)| waits(pod));
        self.deferred.pods = still;
        // They came before those in line, of whom the first may wait for an answer.
        let at = usize::from(self.admissions.front().is_some_and(|first| first.asked.is_some()));
        for (ticket, pod) in ready.into_iter().rev() {
            self.admissions.insert(at, PendingPod::new(pod.pod.clone(), pod.source.clone(), ticket));
        }
        let (late, ready): (Vec<Start>, Vec<Start>) = std::mem::take(&mut self.deferred.starts)
            .into_iter()
            .partition(|start| self.is_late(&start.container));
        self.deferred.starts = late;
        let is_any = !ready.is_empty();
        for Start { ticket, container, id, cgroup } in ready {
            self.ask_to_start(ticket, container, id, cgroup);
        }
        is_any
    }
}
