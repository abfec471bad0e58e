//! The owner: the only one who changes the ledger.
//!
//! [`Owner::handle`] takes an event in; [`Owner::next`] gives the next change that follows from it, worked out and not
//! yet made: a [`Plan`] with files to be written. When they are, [`Owner::settle`] makes the change and gives out what
//! it entails. So nothing is answered that a power cut could undo, and a full disk refuses instead of losing.
//!
//! # Order of files
//!
//! Four files cannot change at once, so a pod's own file decides. A pod comes: the state files, then its file. A pod
//! goes: its file, then the state files. What the state files have of a pod without a file was never given to it, or
//! is free again, and goes with the next collection.
//!
//! # Pods wait in line
//!
//! Pods are decided on one after the other. While one waits for a plugin, containers start and exit and pods go, and
//! when the answer is there it is looked at anew.

mod admit;
mod answers;
mod listed;
mod changes;
mod places;
mod start;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use cpu_manager::ContainerId;
use device_manager::{Endpoint, Life, Moment, Question, Replies};
use kubelet_checkpoint::store::StateFile;
use pod_spec::{Pod, PodUid};
use topology_admission::{Ledger, Node, SourcesReady};

use crate::effect::{Answer, Effect, FileName, Place, RequestError, WhyEnded, Write, Written};
use crate::event::{Event, PluginEvent, Request, Ticket};
use crate::known::known;
use crate::snapshot::{RefusedPod, Snapshot};
use admit::Admission;
use changes::{Change, Records};
use node_state::files;
use node_state::{Record, Source};
use start::Starting;

/// So many refused pods of requests are remembered.
const REFUSED: usize = 1000;

/// The owner of a node's ledger.
#[derive(Debug)]
pub struct Owner {
    node: Arc<Node>,
    ledger: Ledger,
    pods: Records,
    refused: BTreeMap<PodUid, Arc<RefusedPod>>,
    /// UIDs of refused pods of requests, oldest first.
    refused_order: VecDeque<PodUid>,
    changes: VecDeque<Change>,
    admissions: VecDeque<Waiting>,
    /// Pods of the folder that could not be stored; tried again with the next timer.
    postponed: Vec<Waiting>,
    /// Changes that could not be stored, likewise.
    put_off: Vec<Change>,
    arrivals: u64,
    /// Files that may not be what they should be, and why.
    behind: BTreeSet<FileName>,
    why_behind: String,
    /// Containers whose plugins have not all answered.
    starting: Vec<Starting>,
    places: BTreeMap<ContainerId, Place>,
    effects: Vec<Effect>,
}

/// A pod that has not been decided on.
#[derive(Clone, Debug)]
struct Waiting {
    pod: Arc<Pod>,
    source: Source,
    ticket: Option<Ticket>,
    /// When it was first looked at.
    began: Option<Moment>,
    replies: Replies,
    asked: Option<Question>,
}

/// The next change, worked out and not yet made.
#[must_use]
#[derive(Debug)]
pub struct Plan {
    writes: Vec<Write>,
    after: Ledger,
    staged: Staged,
    worked: Duration,
}

#[derive(Debug)]
enum Staged {
    Admission(Box<Admission>),
    Change(Change),
}

impl Plan {
    /// The files to be written, in this order.
    #[must_use]
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// The plan with the time that it took to work it out, which is told with the decision.
    pub fn worked(self, worked: Duration) -> Self {
        Self { worked, ..self }
    }
}

impl Owner {
    /// The owner of a node with what was found there. `ledger` has the pods of `records` and, until the watched folder
    /// has been read for the first time, no ready sources.
    #[must_use]
    pub fn new(node: Arc<Node>, ledger: &Ledger, records: impl IntoIterator<Item = Record>) -> Self {
        let pods: Records =
            records.into_iter().map(|record| (record.pod.uid.clone(), Arc::new(record))).collect();
        let arrivals = pods.values().map(|record| record.arrival + 1).max().unwrap_or(0);
        let mut owner = Self {
            node,
            ledger: ledger.with_sources(SourcesReady::No),
            pods,
            refused: BTreeMap::new(),
            refused_order: VecDeque::new(),
            changes: VecDeque::new(),
            admissions: VecDeque::new(),
            postponed: Vec::new(),
            put_off: Vec::new(),
            arrivals,
            behind: BTreeSet::new(),
            why_behind: String::new(),
            starting: Vec::new(),
            places: BTreeMap::new(),
            effects: Vec::new(),
        };
        // Files of an empty node are written at once, as a kubelet does.
        owner.behind.extend(StateFile::ALL.map(FileName::State));
        owner.changes.push_back(Change::Rewrite);
        owner.place_all();
        owner
    }

    /// The node.
    #[must_use]
    pub const fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// The ledger.
    #[must_use]
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The pods that run.
    pub fn pods(&self) -> impl Iterator<Item = &Record> {
        self.pods.values().map(AsRef::as_ref)
    }

    /// Everything, for those who look.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            ledger: self.ledger.clone(),
            pods: self.pods.clone(),
            refused: self.refused.clone(),
            waiting: self.admissions.iter().map(|waiting| waiting.pod.clone()).collect(),
            places: self.enforcements(),
            behind: (!self.behind.is_empty()).then(|| self.why_behind.clone()),
        }
    }

    /// Takes an event in. What follows comes from [`Owner::next`] and [`Owner::take_effects`].
    pub fn handle(&mut self, now: Moment, event: Event) {
        match event {
            Event::Request(ticket, Request::Admit(pod)) => self.ask_to_admit(ticket, pod),
            Event::Request(ticket, Request::Delete(uid)) => self.ask_to_delete(ticket, &uid),
            Event::Request(ticket, Request::Started { container, id, cgroup }) => {
                self.ask_to_start(ticket, container, id, cgroup);
            }
            Event::Request(ticket, Request::Exited(id)) => {
                self.changes.push_back(Change::Exited { ticket, id });
            }
            Event::Listed(listing) => self.listed(&listing),
            Event::Plugin(event) => self.plugin(now, event),
            Event::Replied(question, reply) => {
                self.told_of_start(&question, &reply);
                if let Some(first) = self.admissions.front_mut()
                    && first.asked.as_ref() == Some(&question)
                {
                    first.asked = None;
                    let reply = answers::within_budget(&self.ledger, &first.replies, &question, reply);
                    first.replies.insert(question, reply);
                }
            }
            Event::FilesLost { why } => {
                self.behind.extend(StateFile::ALL.map(FileName::State));
                self.behind.extend(self.pods.keys().cloned().map(FileName::Pod));
                self.why_behind = why;
                self.changes.push_back(Change::Rewrite);
            }
            Event::Timer => {
                self.changes.extend(std::mem::take(&mut self.put_off));
                self.admissions.extend(std::mem::take(&mut self.postponed));
                let mut inventory = self.latest_inventory().clone();
                if !inventory.capacity(now).forgotten.is_empty() {
                    self.changes.push_back(Change::Inventory(inventory));
                }
                if !self.behind.is_empty() {
                    self.changes.push_back(Change::Rewrite);
                }
            }
        }
    }

    /// The next change; `None` if there is none, or all wait for a plugin. It is to be settled before the next is
    /// asked for.
    pub fn next(&mut self, now: Moment) -> Option<Plan> {
        self.next_timed(&|| now)
    }

    /// The same by a clock, with which decisions are measured.
    pub fn next_timed(&mut self, clock: &dyn Fn() -> Moment) -> Option<Plan> {
        while let Some(change) = self.changes.pop_front() {
            if let Some(plan) = self.plan(change) {
                return Some(plan);
            }
        }
        self.plan_admission(clock)
    }

    /// What is to be done that has come up since the last time.
    #[must_use]
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Makes a change whose files have been written, or does not make it.
    pub fn settle(&mut self, now: Moment, plan: Plan, written: &Written) {
        match written {
            Written::All => {
                for write in &plan.writes {
                    self.behind.remove(&write.file);
                }
            }
            Written::Failed { why, .. } => {
                // What was tried may be there or not, and what is there may be of a change that is not made.
                self.behind.extend(plan.writes.iter().map(|write| write.file.clone()));
                self.why_behind.clone_from(why);
                self.effects.push(Effect::NotWritten(why.clone()));
            }
        }
        match plan.staged {
            Staged::Admission(admission) => {
                let times = (now, plan.worked);
                self.settle_admission(times, *admission, plan.after, written);
            }
            Staged::Change(change) => self.settle_change(change, plan.after, written),
        }
        self.place_all();
    }

    fn ask_to_admit(&mut self, ticket: Ticket, pod: Arc<Pod>) {
        let running = self.pods.values().map(AsRef::as_ref);
        let waiting = self.admissions.iter().map(|waiting| waiting.pod.as_ref());
        let Some(answer) = known(running, waiting, &pod) else {
            self.admissions.push_back(Waiting::new(pod, Source::Request, Some(ticket)));
            return;
        };
        self.effects.push(Effect::Answer(ticket, answer));
    }

    fn ask_to_delete(&mut self, ticket: Ticket, uid: &PodUid) {
        let shown = |pod: &Pod| format!("{}/{}", pod.namespace, pod.name);
        let in_folder =
            |source: &Source, pod: &Pod| source.is_folder().then(|| RequestError::InFolder(shown(pod)));
        let refused = if let Some(record) = self.pods.get(uid) {
            let refused = in_folder(&record.source, &record.pod);
            if refused.is_none() {
                self.changes.push_back(Change::End {
                    uid: uid.clone(),
                    ticket: Some(ticket),
                    why: WhyEnded::Deleted,
                });
                return;
            }
            refused
        } else if let Some(at) = self.admissions.iter().position(|waiting| waiting.pod.uid == *uid) {
            let refused = in_folder(&self.admissions[at].source, &self.admissions[at].pod);
            if refused.is_none()
                && let Some(waiting) = self.admissions.remove(at)
                && let Some(asked) = waiting.ticket
            {
                let error = RequestError::DeletedMeanwhile(shown(&waiting.pod));
                self.effects.push(Effect::Answer(asked, Answer::Failed(error)));
            }
            refused
        } else if let Some(pod) = self.refused.get(uid) {
            let refused = in_folder(&pod.source, &pod.pod);
            if refused.is_none() {
                self.forget_refused(uid);
            }
            refused
        } else {
            Some(RequestError::NoPod(uid.clone()))
        };
        let answer = refused.map_or(Answer::Done, Answer::Failed);
        self.effects.push(Effect::Answer(ticket, answer));
    }

    fn plugin(&mut self, now: Moment, event: PluginEvent) {
        // What is queued before it changes the inventory too.
        let mut inventory = self.latest_inventory().clone();
        match event {
            PluginEvent::Registered(resource, options) => {
                let endpoint = Endpoint::Plugin { options: Some(options), life: Life::Running };
                inventory.set_endpoint(&resource, endpoint);
            }
            PluginEvent::Listed(resource, devices) => {
                inventory.list(&resource, devices);
            }
            PluginEvent::ListRefused(resource, why) => {
                inventory.refuse_list(&resource, why);
            }
            PluginEvent::Gone(resource) => inventory.disconnect(&resource, now),
        }
        self.changes.push_back(Change::Inventory(inventory));
    }

    fn remember_refused(&mut self, pod: RefusedPod) {
        let uid = pod.pod.uid.clone();
        if pod.source == Source::Request {
            self.refused_order.push_back(uid.clone());
        }
        self.refused.insert(uid, Arc::new(pod));
        while self.refused_order.len() > REFUSED {
            if let Some(oldest) = self.refused_order.pop_front() {
                self.refused.remove(&oldest);
            }
        }
    }

    fn forget_refused(&mut self, uid: &PodUid) {
        self.refused.remove(uid);
        self.refused_order.retain(|other| other != uid);
    }

    /// The state files that `after` changes, and what is behind, as the node is with `after` and `pods`.
    fn writes(&self, after: &Ledger, except: &[&FileName], pods: &Records) -> Vec<Write> {
        let changed = StateFile::ALL.into_iter().filter(|file| !files::is_same(*file, &self.ledger, after));
        let mut names: BTreeSet<FileName> = changed.map(FileName::State).collect();
        names.extend(self.behind.iter().cloned());
        let names = names.into_iter().filter(|name| !except.contains(&name));
        let write = |file: FileName| {
            let text = match &file {
                FileName::State(file) => Some(files::text(*file, &self.node, after)),
                FileName::Pod(uid) => pods.get(uid).map(|record| record.text()),
            };
            Write { file, text }
        };
        names.map(write).collect()
    }
}

impl Waiting {
    fn new(pod: Arc<Pod>, source: Source, ticket: Option<Ticket>) -> Self {
        Self { pod, source, ticket, began: None, replies: Replies::new(), asked: None }
    }
}
