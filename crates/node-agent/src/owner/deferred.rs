//! Pods, and containers about to start, that wait for device plugins which are not back yet.
//!
//! After a restart plugins register again one after the other. A pod that needs one of them is decided on when
//! its plugin has listed devices, or when `devices.deferSeconds` are over; a container that holds devices of
//! one starts then. A request is answered at once: the pod is deferred. For a pod of an API server the answer
//! waits, as it does for any pod that is being decided on. Requests that wait are not kept over a restart.
//!
//! Pods are decided on in the order in which they came, one in each turn. While they wait they hold nothing, so that pods
//! which come between two turns may get what they would have got.

use std::sync::Arc;

use device_manager::Moment;
use node_state::Source;
use pod_spec::{ContainerKey, Pod};
use topology_admission::Deferral;

use super::Owner;
use super::pending::PendingPod;
use super::waiting::{Start, Turn};
use crate::deferred_pod::DeferredPod;
use crate::effect::{Answer, Effect};

impl Owner {
    /// The pods that wait for plugins, in order. One that has its turn is among them until it is decided on.
    pub(super) fn deferred_pods(&self) -> impl Iterator<Item = &Arc<DeferredPod>> {
        let has_turn = self.admissions.iter().filter_map(|waiting| waiting.deferred.as_ref());
        has_turn.chain(self.deferred.pods.iter().map(|(_, pod)| pod))
    }

    /// The pods that have not been decided on and do not wait for plugins.
    pub(super) fn undecided(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.admissions.iter().filter(|waiting| waiting.deferred.is_none()).map(|waiting| &waiting.pod)
    }

    /// How many pods other than the first in line wait for plugins.
    pub(super) fn others_deferred(&self) -> usize {
        let first = self.admissions.front().filter(|first| first.deferred.is_some());
        self.deferred_pods().count() - usize::from(first.is_some())
    }

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

    /// Whether a pod has waited for long enough, or for what is there now, and no pod is in line before it: it is decided
    /// on at the next [`Event::Turn`](crate::Event::Turn).
    #[must_use]
    pub fn has_turn(&self, now: Moment) -> bool {
        self.admissions.is_empty() && self.next_ready(now).is_some()
    }

    /// Puts the first pod that need not wait any more in line, if it is a pod's turn; whether there is one.
    pub(super) fn take_turn(&mut self, now: Moment) -> bool {
        if self.turn == Turn::Over || !self.admissions.is_empty() {
            return false;
        }
        self.turn = Turn::Over;
        let Some(at) = self.next_ready(now) else { return false };
        let (ticket, deferred) = self.deferred.pods.remove(at);
        let pending = PendingPod::new(deferred.pod.clone(), deferred.source.clone(), ticket);
        self.admissions.push_back(PendingPod { deferred: Some(deferred), ..pending });
        true
    }

    /// The place of the first pod that need not wait any more.
    fn next_ready(&self, now: Moment) -> Option<usize> {
        self.deferred.pods.iter().position(|(_, pod)| {
            let mut late = pod.deferral.resources.iter();
            !late.all(|resource| self.node.waits_for(&self.ledger, resource, now).is_some())
        })
    }

    /// Has containers start whose plugins are there now, or have been waited for for long enough; whether that may lead to
    /// changes.
    pub(super) fn resume_starts(&mut self) -> bool {
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
