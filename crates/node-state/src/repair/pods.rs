//! The pods' own files: which pods are here.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use k8s_quantity::{Format, Quantity};
use kubelet_checkpoint::store::StateFile;
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceList, ResourceName, Role};
use topology_admission::Node;

use super::{Assumption, Known, PodList, Remedy, RunningPod, Standing, Work};
use crate::fault::{Fault, Holding};
use crate::record::{self, Record, Source};

/// What containers ask for.
type Containers = BTreeMap<ContainerName, ResourceList>;

impl Work<'_> {
    pub(super) fn pods(&mut self) {
        let rules = self.node.pod_rules();
        let mut damaged = Vec::new();
        for (path, text) in &self.found.pods {
            match Record::read(&path.display().to_string(), text, rules) {
                Ok(record) => {
                    let uid = record.pod.uid.clone();
                    if record::path(&uid) == *path {
                        self.know(record);
                    } else {
                        damaged.push((path, Some(record), Fault::MisnamedPod(uid)));
                    }
                }
                Err(error) => damaged.push((path, None, Fault::UnreadablePod(Arc::new(error)))),
            }
        }
        for (path, other, fault) in damaged {
            match other {
                Some(record) => self.misplaced(path, record, fault),
                None => self.damaged(path, fault),
            }
        }
        if matches!(self.runs, PodList::Incomplete) {
            self.removed();
        }
        if let PodList::Listed(names) = self.runs {
            for (uid, RunningPod { name, manifest, standing }) in names {
                let shown = if name.is_empty() { format!("pod {uid}") } else { name.clone() };
                let known =
                    Known { record: None, shown, arrival: u64::MAX, manifest: None, standing: *standing };
                let known = self.pods.entry(uid.clone()).or_insert(known);
                known.manifest =
                    known.manifest.take().or_else(|| manifest.as_ref().map(|pod| seen(self.node, pod)));
            }
        }
    }

    /// Pods that state files list and whose own files were removed.
    fn removed(&mut self) {
        let listed = StateFile::ALL.into_iter().flat_map(|file| self.reads.named(file).keys());
        let listed = listed.filter(|pod| !self.pods.contains_key(*pod)).cloned();
        let listed: BTreeSet<PodUid> = listed.collect();
        for uid in listed {
            let Some(record) = self.unread(&uid) else { continue };
            self.know(record);
            if let Some(known) = self.pods.get_mut(&uid) {
                // It was made up of what state files say.
                known.manifest = None;
            }
            self.result.records.insert(uid.clone());
            let (path, pod) = (record::path(&uid), self.named(&uid));
            let assumption = Some(Assumption::PodRuns);
            self.add_at(path, Fault::RemovedPod(pod), assumption, Remedy::RecordAnew, &[&uid]);
        }
    }

    fn know(&mut self, record: Record) {
        let shown = format!("{}/{}", record.pod.namespace, record.pod.name);
        let uid = record.pod.uid.clone();
        let manifest = Some(seen(self.node, &record.pod));
        let (arrival, standing) = (record.arrival, Standing::Recorded);
        self.next_arrival = self.next_arrival.max(arrival.saturating_add(1));
        self.pods.insert(uid, Known { shown, arrival, manifest, standing, record: Some(record) });
    }

    /// A whole file under a name that is not its own.
    fn misplaced(&mut self, path: &Path, record: Record, fault: Fault) {
        let uid = record.pod.uid.clone();
        self.result.aside.insert(path.to_path_buf());
        let remedy = if self.pods.contains_key(&uid) {
            Remedy::PutAsideDuplicate
        } else {
            self.know(record);
            self.result.records.insert(uid);
            Remedy::RenameToPod
        };
        self.add_at(path.to_path_buf(), fault, None, remedy, &[]);
    }

    /// A pod whose file cannot be read is here all the same.
    fn damaged(&mut self, path: &Path, fault: Fault) {
        self.result.aside.insert(path.to_path_buf());
        let uid = path.file_stem().and_then(|stem| stem.to_str()).map(PodUid::new);
        let uid = uid.filter(|uid| record::path(uid) == *path);
        let Some(uid) = uid.filter(|uid| !self.pods.contains_key(uid)) else {
            self.add_at(path.to_path_buf(), fault, None, Remedy::PutAsideNoPod, &[]);
            return;
        };
        let read = self.as_far_as_read(path, &uid);
        let is_read = read.is_some();
        let assumption = if is_read { Assumption::ManifestIsTrue } else { Assumption::PodRuns };
        let Some(record) = read.or_else(|| self.unread(&uid)) else {
            self.add_at(path.to_path_buf(), fault, None, Remedy::PutAsideNoPod, &[]);
            return;
        };
        self.know(record);
        if !is_read && let Some(known) = self.pods.get_mut(&uid) {
            // It was made up of what state files say.
            known.manifest = None;
        }
        self.result.records.insert(uid.clone());
        self.add_at(path.to_path_buf(), fault, Some(assumption), Remedy::RecordAnew, &[&uid]);
    }

    /// A file that was changed, if it is still the pod's.
    fn as_far_as_read(&self, path: &Path, uid: &PodUid) -> Option<Record> {
        let (_, text) = self.found.pods.iter().find(|(other, _)| other == path)?;
        let rules = self.node.pod_rules();
        let read = Record::read_unchecked(&path.display().to_string(), text, rules).ok()?;
        // The recorded source may be wrong. A request is safe: such a pod stays until a client deletes it.
        let source = Source::Request;
        (read.pod.uid == *uid).then_some(Record { grants: None, source, arrival: self.next_arrival, ..read })
    }

    /// A pod of which nothing but the UID is known, and what state files have of it; `None` if no manifest can be
    /// written of it.
    fn unread(&self, uid: &PodUid) -> Option<Record> {
        let mut holding = Containers::new();
        for (name, resource, amount) in self.said_of(uid) {
            let amount = Quantity::from_units(i64::try_from(amount).unwrap_or(i64::MAX), Format::BinarySi);
            holding.entry(name).or_default().insert(resource, amount);
        }
        let bare = holding.keys().map(|name| (name.clone(), ResourceList::new())).collect();
        let nothing = Containers::from([(ContainerName::new("unknown"), ResourceList::new())]);
        // Names in a damaged file may be such as no manifest has.
        let tried = [holding, bare, nothing].into_iter().filter(|containers| !containers.is_empty());
        tried.map(|containers| self.standing_in(uid, containers)).find(|record| {
            let rules = self.node.pod_rules();
            Record::read("", record.text().as_bytes(), rules).is_ok_and(|read| read.pod.uid == *uid)
        })
    }

    fn standing_in(&self, uid: &PodUid, containers: Containers) -> Record {
        let containers = containers.into_iter().map(|(name, amounts)| Container {
            name,
            role: Role::App,
            requests: amounts.clone(),
            limits: amounts,
        });
        // The UID of a pod without one is its namespace and name.
        let (namespace, name) = uid.as_str().split_once('_').unwrap_or(("unknown", uid.as_str()));
        let mut pod = Pod::new(namespace, name, containers.collect());
        pod.uid = uid.clone();
        Record::new(Arc::new(pod), Source::Request, self.next_arrival)
    }

    /// What state files have of a pod, in amounts.
    fn said_of(&self, uid: &PodUid) -> Vec<(ContainerName, ResourceName, u64)> {
        let mut said = Vec::new();
        let cpus = self.reads.cpu.state.iter().filter_map(|state| state.containers.get(uid));
        for (name, cpus) in cpus.flatten() {
            said.push((name.clone(), ResourceName::new("cpu"), cpus.len() as u64));
        }
        let memory = self.reads.memory.state.iter().filter_map(|state| state.entries.get(uid)?.as_ref());
        for (name, blocks) in memory.flatten() {
            for block in blocks.iter().flatten() {
                said.push((name.clone(), block.resource.clone(), block.size));
            }
        }
        for (name, resource, held) in self.reads.devices.of_pod(uid) {
            said.push((name.clone(), resource.clone(), held.devices().len() as u64));
        }
        said
    }

    /// Pods of a state file that are not here: what they held is free.
    pub(super) fn gone(&mut self, file: StateFile, gone: Vec<(PodUid, Holding)>) {
        for (pod, held) in gone {
            self.add(file, Fault::PodGone { pod, held }, None, Remedy::Release, &[]);
        }
    }
}

/// The pod as the node's managers see it.
fn seen(node: &Node, pod: &Arc<Pod>) -> Arc<Pod> {
    match node.with_chosen(pod) {
        Cow::Owned(chosen) => Arc::new(chosen),
        Cow::Borrowed(_) => Arc::clone(pod),
    }
}
