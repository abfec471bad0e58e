//! Changes other than admissions, worked out: pods that go, containers that start and exit, plugins.

use std::sync::Arc;

use cpu_manager::{Change as CpuChange, ContainerId, Holdings as CpuHoldings};
use device_manager::Inventory;
use pod_spec::{ContainerKey, Pod, PodUid};
use topology_admission::{Ledger, SourcesReady};

use super::Owner;
use super::backlog::Deferred;
use super::change::Change;
use super::plan::{OnFailure, Outcome, Plan};
use crate::effect::{Answer, Effect, RequestError};
use node_state::{Record, Running, Source};

impl Owner {
    /// The devices as they are when all changes in line are made.
    pub(super) fn latest_inventory(&self) -> &Inventory {
        let queued = self.changes.iter().rev().find_map(|change| match change {
            Change::Inventory(inventory) => Some(inventory),
            _ => None,
        });
        queued.unwrap_or_else(|| self.ledger.inventory())
    }

    /// Works a change out; `None` if there is nothing to be done, or its client has been answered.
    pub(super) fn plan(&mut self, change: Change) -> Option<Plan> {
        if matches!(change, Change::Rewrite) && self.backlog.why().is_none() {
            return None;
        }
        let ticket = change.ticket();
        match self.outcome(&change) {
            Ok(outcome) => {
                let decided_by = change.decided_by();
                let on_failure = match change {
                    Change::End { .. } => OnFailure::of(ticket, || Deferred::Change(change)),
                    _ => ticket.map_or(OnFailure::Forget, OnFailure::Answer),
                };
                Some(self.plan_of(outcome, decided_by, on_failure))
            }
            Err(error) => {
                self.effects.push(Effect::Answer(ticket?, Answer::Failed(error)));
                None
            }
        }
    }

    fn outcome(&self, change: &Change) -> Result<Outcome, RequestError> {
        let mut outcome = match change {
            Change::Rewrite => Outcome::new(self.ledger.clone()),
            Change::SourcesReady => Outcome::new(self.ledger.with_sources(SourcesReady::Yes).collect()),
            Change::Inventory(inventory) => Outcome::new(self.ledger.with_inventory(inventory.clone())),
            Change::End { uid, why, .. } => {
                self.pods.get(uid).ok_or_else(|| RequestError::NoPod(uid.clone()))?;
                let ended = vec![(uid.clone(), why.clone())];
                Outcome { ended, ..Outcome::new(self.ledger.release(uid)) }
            }
            Change::Resize { uid, sizes, .. } => self.resized(uid, sizes)?,
            Change::Started { container, id, cgroup, .. } => {
                let mut record = self.startable(container, id)?.clone();
                let running = Running { container: container.container.clone(), cgroup: cgroup.clone() };
                record.running.insert(id.clone(), running);
                let outcome = self.changed(self.ledger.create(container, id.clone()), record);
                Outcome { created: Some(id.clone()), ..outcome }
            }
            Change::Exited { id, .. } => {
                let of_container =
                    self.of_container(id).ok_or_else(|| RequestError::NoContainerId(id.clone()))?;
                let mut record = of_container.clone();
                record.running.remove(id);
                self.changed(self.ledger.exit(id), record)
            }
            Change::File { uid, file } => match self.pods.get(uid) {
                Some(record) => {
                    let mut record = Record::clone(record);
                    record.source = Source::Folder(Some(file.clone()));
                    self.changed(self.ledger.clone(), record)
                }
                // It has gone meanwhile.
                None => Outcome::new(self.ledger.clone()),
            },
        };
        let released = self.released(self.ledger.cpus(), &outcome.after);
        if !released.is_empty() {
            outcome.effects.push(Effect::Counted(released));
        }
        let answer = match change {
            Change::Resize { .. } => Answer::Resized {
                before: Box::new(self.ledger.clone()),
                after: Box::new(outcome.after.clone()),
            },
            _ => Answer::Done,
        };
        outcome.effects.extend(change.ticket().map(|ticket| Effect::Answer(ticket, answer)));
        Ok(outcome)
    }

    /// The outcome of a change of one pod's record.
    pub(super) fn changed(&self, after: Ledger, record: Record) -> Outcome {
        let records = vec![Arc::new(record.holding(&self.node, &after))];
        Outcome { records, ..Outcome::new(after) }
    }

    /// The record of the pod whose container has this id.
    fn of_container(&self, id: &ContainerId) -> Option<&Record> {
        self.pods.values().map(AsRef::as_ref).find(|record| record.running.contains_key(id))
    }

    /// The record of a pod that runs; else what it does instead.
    pub(super) fn running(&self, uid: &PodUid) -> Result<&Record, RequestError> {
        let shown = |pod: &Pod| format!("{}/{}", pod.namespace, pod.name);
        if let Some(record) = self.pods.get(uid) {
            return Ok(record);
        }
        if let Some(deferred) = self.deferred_pods().find(|deferred| deferred.pod.uid == *uid) {
            return Err(RequestError::Deferred(shown(&deferred.pod)));
        }
        if let Some(waiting) = self.undecided().find(|waiting| waiting.uid == *uid) {
            return Err(RequestError::Waiting(shown(waiting)));
        }
        match self.refused.get(uid) {
            Some(refused) => Err(RequestError::Refused(shown(&refused.pod))),
            None => Err(RequestError::NoPod(uid.clone())),
        }
    }

    /// The record of the pod of a container that may start under this id.
    fn startable(&self, container: &ContainerKey, id: &ContainerId) -> Result<&Record, RequestError> {
        let record = self.running(&container.pod)?;
        if record.pod.container(&container.container).is_none() {
            return Err(RequestError::NoContainer(container.clone()));
        }
        if self.of_container(id).is_some_and(|other| {
            other.pod.uid != container.pod
                || other.running.get(id).is_some_and(|known| known.container != container.container)
        }) {
            return Err(RequestError::IdTaken(id.clone()));
        }
        Ok(record)
    }

    /// The CPU manager's counters when what is in `before` and not in `after` has gone.
    pub(super) fn released(&self, before: Option<&CpuHoldings>, after: &Ledger) -> Vec<CpuChange> {
        let (Some(policy), Some(before), Some(after)) = (self.node.cpus(), before, after.cpus()) else {
            return Vec::new();
        };
        let collected = before.collect(|pod, container| after.assigned(pod, container).is_some());
        policy.metrics_of_collection(before, &collected)
    }
}
