//! Changes other than admissions: pods that go, containers that start and exit, plugins.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cpu_manager::{Change as CpuChange, ContainerId, Holdings as CpuHoldings};
use device_manager::Inventory;
use pod_spec::{ContainerKey, PodUid};
use topology_admission::{Ledger, SourcesReady};

use super::{Owner, Plan, Staged};
use crate::effect::{Answer, Effect, FileName, RequestError, WhyEnded, Write, Written};
use crate::event::Ticket;
use node_state::ManifestFile;
use node_state::{Record, Running, Source};

/// A change that is next or waits in line.
#[derive(Debug)]
pub(super) enum Change {
    /// Files that are behind are written.
    Rewrite,
    /// All pods have been heard of: what others hold is free.
    SourcesReady,
    End {
        uid: PodUid,
        ticket: Option<Ticket>,
        why: WhyEnded,
    },
    Started {
        ticket: Ticket,
        container: ContainerKey,
        id: ContainerId,
        cgroup: Option<PathBuf>,
    },
    Exited {
        ticket: Ticket,
        id: ContainerId,
    },
    /// The manifest of a pod of the folder is in this file now.
    File {
        uid: PodUid,
        file: ManifestFile,
    },
    /// These are the devices.
    Inventory(Inventory),
}

impl Change {
    const fn ticket(&self) -> Option<Ticket> {
        match self {
            Self::Rewrite | Self::SourcesReady | Self::File { .. } | Self::Inventory(_) => None,
            Self::End { ticket, .. } => *ticket,
            Self::Started { ticket, .. } | Self::Exited { ticket, .. } => Some(*ticket),
        }
    }
}

impl Owner {
    /// The devices as they are when all changes in line are made.
    pub(super) fn latest_inventory(&self) -> &Inventory {
        let queued = self.changes.iter().rev().find_map(|change| match change {
            Change::Inventory(inventory) => Some(inventory),
            _ => None,
        });
        queued.unwrap_or_else(|| self.ledger.inventory())
    }

    /// Works a change out; `None` if there is nothing to be done, and who asked has been told.
    pub(super) fn plan(&mut self, change: Change) -> Option<Plan> {
        let planned = match &change {
            Change::Rewrite if self.behind.is_empty() => return None,
            Change::Rewrite => Ok((self.ledger.clone(), self.writes(&self.ledger, &[], &self.pods))),
            Change::SourcesReady => {
                let after = self.ledger.with_sources(SourcesReady::Yes).collect();
                let writes = self.writes(&after, &[], &self.pods);
                Ok((after, writes))
            }
            Change::Inventory(inventory) => {
                let after = self.ledger.with_inventory(inventory.clone());
                let writes = self.writes(&after, &[], &self.pods);
                Ok((after, writes))
            }
            Change::End { uid, .. } => self.end(uid),
            Change::Started { container, id, .. } => self.start(container, id, &change),
            Change::Exited { id, .. } => self.exit(id, &change),
            Change::File { .. } => Ok(self.with_record(self.ledger.clone(), self.changed_record(&change))),
        };
        match planned {
            Ok((after, writes)) => {
                let staged = Staged::Change(change);
                Some(Plan { writes, after, staged, worked: Duration::ZERO })
            }
            Err(error) => {
                let ticket = change.ticket()?;
                self.effects.push(Effect::Answer(ticket, Answer::Failed(error)));
                None
            }
        }
    }

    fn end(&self, uid: &PodUid) -> Result<(Ledger, Vec<Write>), RequestError> {
        if !self.pods.contains_key(uid) {
            return Err(RequestError::NoPod(uid.clone()));
        }
        let after = self.ledger.release(uid);
        let own = FileName::Pod(uid.clone());
        let others = self.writes(&after, &[&own], &self.pods);
        let own = Write { file: own, text: None };
        Ok((after, [own].into_iter().chain(others).collect()))
    }

    fn start(
        &self,
        container: &ContainerKey,
        id: &ContainerId,
        change: &Change,
    ) -> Result<(Ledger, Vec<Write>), RequestError> {
        let record =
            self.pods.get(&container.pod).ok_or_else(|| RequestError::NoPod(container.pod.clone()))?;
        if record.pod.container(&container.container).is_none() {
            return Err(RequestError::NoContainer(container.clone()));
        }
        let other = self.pods.values().find(|record| record.running.contains_key(id));
        if other.is_some_and(|other| {
            other.pod.uid != container.pod
                || other.running.get(id).is_some_and(|known| known.container != container.container)
        }) {
            return Err(RequestError::IdTaken(id.clone()));
        }
        let after = self.ledger.create(container, id.clone());
        Ok(self.with_record(after, self.changed_record(change)))
    }

    fn exit(&self, id: &ContainerId, change: &Change) -> Result<(Ledger, Vec<Write>), RequestError> {
        let record = self.changed_record(change).ok_or_else(|| RequestError::NoContainerId(id.clone()))?;
        let after = self.ledger.exit(id);
        Ok(self.with_record(after, Some(record)))
    }

    fn with_record(&self, after: Ledger, record: Option<Record>) -> (Ledger, Vec<Write>) {
        let record = record.map(|record| record.holding(&self.node, &after));
        let own = record.as_ref().map(|record| FileName::Pod(record.pod.uid.clone()));
        let except: Vec<&FileName> = own.iter().collect();
        let mut writes = self.writes(&after, &except, &self.pods);
        let own = own.zip(record).map(|(file, record)| Write { file, text: Some(record.text()) });
        writes.extend(own);
        (after, writes)
    }

    /// The record that a change of a pod gives.
    fn changed_record(&self, change: &Change) -> Option<Record> {
        match change {
            Change::Started { container, id, cgroup, .. } => {
                let mut record = Record::clone(self.pods.get(&container.pod)?);
                let running = Running { container: container.container.clone(), cgroup: cgroup.clone() };
                record.running.insert(id.clone(), running);
                Some(record)
            }
            Change::Exited { id, .. } => {
                let running = self.pods.values().find(|record| record.running.contains_key(id))?;
                let mut record = Record::clone(running);
                record.running.remove(id);
                Some(record)
            }
            Change::File { uid, file } => {
                let mut record = Record::clone(self.pods.get(uid)?);
                record.source = Source::Folder(Some(file.clone()));
                Some(record)
            }
            Change::Rewrite | Change::SourcesReady | Change::End { .. } | Change::Inventory(_) => None,
        }
    }

    pub(super) fn settle_change(&mut self, change: Change, after: Ledger, written: &Written) {
        let error = match (written, &change) {
            // The last three are facts, whatever the disk says.
            (Written::All, _) | (_, Change::Rewrite | Change::SourcesReady | Change::Inventory(_)) => None,
            // The pod's file decides, and it is the first.
            (Written::Failed { done, .. }, Change::End { .. }) if *done > 0 => None,
            (Written::Failed { why, .. }, _) => Some(RequestError::NotStored(why.clone())),
        };
        if let Some(error) = error {
            if let (Change::End { .. }, None) = (&change, change.ticket()) {
                // The folder is not read again for it.
                self.put_off.push(change);
            } else if let Some(ticket) = change.ticket() {
                self.effects.push(Effect::Answer(ticket, Answer::Failed(error)));
            }
            return;
        }
        if let Some(record) = self.changed_record(&change) {
            let record = record.holding(&self.node, &after);
            self.pods.insert(record.pod.uid.clone(), Arc::new(record));
        }
        self.count_released(&after);
        self.ledger = after;
        let ticket = change.ticket();
        match change {
            Change::End { uid, why, .. } => {
                self.pods.remove(&uid);
                self.effects.push(Effect::Ended(uid, why));
            }
            Change::Started { id, .. } => {
                // It was created with what it had then, so that it is written again even if nothing changed.
                self.places.remove(&id);
            }
            Change::Rewrite
            | Change::SourcesReady
            | Change::Inventory(_)
            | Change::Exited { .. }
            | Change::File { .. } => {}
        }
        if let Some(ticket) = ticket {
            self.effects.push(Effect::Answer(ticket, Answer::Done));
        }
    }

    fn count_released(&mut self, after: &Ledger) {
        let changes = self.released(self.ledger.cpus(), after);
        if !changes.is_empty() {
            self.effects.push(Effect::Counted(changes));
        }
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

/// Records by UID.
pub(super) type Records = BTreeMap<PodUid, Arc<Record>>;
