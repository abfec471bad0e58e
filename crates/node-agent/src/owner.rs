//! The owner: the only one who changes the ledger.
//!
//! [`Owner::handle`] takes an event in; [`Owner::next`] gives the next change that follows from it, worked out and not
//! yet made: a [`Plan`] with files to be written. When they are, [`Owner::settle`] makes the change and gives out what
//! it entails. So nothing is answered that a power cut could undo, and a full disk refuses instead of losing.
//!
//! # Order of files
//!
//! Four files cannot change at once, so a pod's own file decides. A pod comes: the state files, then its file. A pod
//! goes: its file, then the state files. Pods that one pod preempts go like that one after the other, before it comes.
//! What the state files have of a pod without a file was never given to it, or is free again, and goes with the next
//! collection. A crash leaves one such pod at most.
//!
//! Where several pods move so that another one fits, one more file decides: all new texts are written to it first, and it
//! is removed when they are in their files. A start that finds it completes the change. While it is there nothing else is
//! written, since a start would put its texts over newer ones.
//!
//! # Pods wait in line
//!
//! Pods are decided on one after the other. While one waits for a plugin, containers start and exit and pods go, and
//! when the answer is there it is looked at anew.
//!
//! Pods that waited for a device plugin which is back are many at once. One of them is decided on in each turn, and who
//! gives the turns ([`Event::Turn`]) takes in what others ask for in between.

mod plan;
mod writes;
mod settle;
mod pending;
mod admit;
mod moves;
mod waiting;
mod deferred;
mod answers;
mod requests;
mod refused;
mod listed;
mod change;
mod changes;
mod resize;
mod backlog;
mod order;
mod places;
mod start;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cpu_manager::ContainerId;
use device_manager::{Endpoint, Life, Moment};
use kubelet_checkpoint::store::{StateFile, StoreError};
use node_state::moves::ChangedFile;
use node_state::{FileRepair, Record, Source, record};
use pod_spec::{PodUid, ResourceName};
use topology_admission::{Ledger, Node, SourcesReady};

use crate::effect::{Effect, FileName};
use crate::enforcement::Pinning;
use crate::event::{Event, PluginEvent, Request};
use crate::snapshot::Snapshot;
use crate::unfinished::NotWritten;
use backlog::{Backlog, LeftChange};
use change::Change;
pub use order::in_order;
use pending::{PendingPod, PendingStart};
pub use plan::Plan;
use refused::RefusedPods;
use waiting::{Deferred, Turn};

/// Records by UID.
type Records = BTreeMap<PodUid, Arc<Record>>;

/// The owner of a node's ledger.
#[derive(Debug)]
pub struct Owner {
    node: Arc<Node>,
    ledger: Ledger,
    pods: Records,
    refused: RefusedPods,
    changes: VecDeque<Change>,
    admissions: VecDeque<PendingPod>,
    /// Pods and starts of containers that wait for device plugins.
    deferred: Deferred,
    /// Whether a pod that waited may be decided on.
    turn: Turn,
    /// When something happened last.
    now: Moment,
    backlog: Backlog,
    /// The number of the next pod that comes.
    arrivals: u64,
    /// The time since 1970 at moment zero, by the clock on the wall.
    epoch: Option<Duration>,
    /// Containers whose plugins have not all answered.
    starting: Vec<PendingStart>,
    places: BTreeMap<ContainerId, Pinning>,
    effects: Vec<Effect>,
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
            refused: RefusedPods::default(),
            changes: VecDeque::new(),
            admissions: VecDeque::new(),
            deferred: Deferred::default(),
            turn: Turn::Over,
            now: Moment::default(),
            backlog: Backlog::default(),
            arrivals,
            epoch: None,
            starting: Vec::new(),
            places: BTreeMap::new(),
            effects: Vec::new(),
        };
        // Files of an empty node are written at once, as a kubelet does.
        owner.backlog.add_files(StateFile::ALL.map(FileName::State), "");
        owner.changes.push_back(Change::Rewrite);
        owner.place_all();
        owner
    }

    /// The same, which notes when pods are admitted: `epoch` is the time since 1970 at moment zero, by the clock on the
    /// wall. Nothing is decided by it.
    #[must_use]
    pub const fn dated(mut self, epoch: Duration) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// The owner that starts after a change of several pods that is not in all its files: these are written before any
    /// other, as soon as the disk takes them.
    #[must_use]
    pub fn behind(self, left: &NotWritten) -> Self {
        let files = left.change.iter().map(|new| match &new.file {
            ChangedFile::State(file) => FileName::State(*file),
            ChangedFile::Pod(uid) => FileName::Pod(uid.clone()),
        });
        self.with_files_left(files, &left.why)
    }

    /// The owner that starts after a change of one pod that was cut short and that the disk does not complete, as `why`
    /// says: `repairs`, the files with which it is complete, are written before any other, as soon as the disk takes
    /// them. Another change before them would leave two pods in which files differ, and no start tells what they held.
    #[must_use]
    pub fn uncompleted(self, repairs: &[FileRepair], why: &StoreError) -> Self {
        let states = StateFile::ALL.into_iter().filter(|file| is_repaired(repairs, Path::new(file.path())));
        let pods = self.pods.keys().filter(|uid| is_repaired(repairs, &record::path(uid)));
        let files: Vec<FileName> =
            states.map(FileName::State).chain(pods.cloned().map(FileName::Pod)).collect();
        self.with_files_left(files, why)
    }

    /// The owner after a change that was made and is not in these files.
    fn with_files_left(mut self, files: impl IntoIterator<Item = FileName>, why: &StoreError) -> Self {
        self.backlog.add_files(files, &why.to_string());
        self.backlog.leave(Some(LeftChange::Made));
        self
    }

    /// The node with its machine, configuration and managers.
    #[must_use]
    pub const fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Everything that is allocated, as of the last settled change.
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
            refused: self.refused.all().clone(),
            waiting: self.undecided().cloned().collect(),
            deferred: self.deferred_pods().cloned().collect(),
            at: self.now,
            places: self.enforcements(),
            behind: self.backlog.why().map(str::to_owned),
        }
    }

    /// Takes an event in. What follows comes from [`Owner::next`] and [`Owner::take_effects`].
    pub fn handle(&mut self, now: Moment, event: Event) {
        self.now = now;
        match event {
            Event::Request(ticket, Request::Admit(pod)) => self.ask_to_admit(ticket, pod, Source::Request),
            Event::Request(ticket, Request::AdmitBound(pod)) => {
                self.ask_to_admit(ticket, pod, Source::Cluster);
            }
            Event::Request(ticket, Request::Repack { pod, plan }) => self.ask_to_repack(ticket, pod, plan),
            Event::Request(ticket, Request::Delete(uid)) => self.ask_to_delete(ticket, &uid),
            Event::Request(ticket, Request::Resize(uid, sizes)) => {
                self.changes.push_back(Change::Resize { uid, sizes, ticket });
            }
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
                let own = self.pods.keys().cloned().map(FileName::Pod);
                self.backlog.add_files(StateFile::ALL.map(FileName::State).into_iter().chain(own), &why);
                self.changes.push_back(Change::Rewrite);
            }
            Event::Turn => self.turn = Turn::Given,
            Event::Timer => {
                self.turn = Turn::Given;
                let (changes, pods) = self.backlog.take();
                self.changes.extend(changes);
                self.admissions.extend(pods);
                let mut inventory = self.latest_inventory().clone();
                let forgets = !inventory.capacity(now).forgotten.is_empty();
                let held: BTreeSet<&ResourceName> =
                    self.ledger.devices().iter().map(|(_, _, resource, _)| resource).collect();
                let drops = inventory.drop_forgotten(|resource| held.contains(resource));
                if forgets || drops {
                    self.changes.push_back(Change::Inventory(inventory));
                }
                if self.backlog.why().is_some() {
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
        loop {
            while let Some(change) = self.changes.pop_front() {
                if let Some(plan) = self.plan(change) {
                    return Some(plan);
                }
            }
            // What has been waited for may be there now.
            if self.resume_starts() {
                continue;
            }
            let plan = self.plan_admission(clock);
            if plan.is_some() || !self.take_turn(clock()) {
                return plan;
            }
        }
    }

    /// What is to be done that has come up since the last time.
    #[must_use]
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
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
}

fn is_repaired(repairs: &[FileRepair], path: &Path) -> bool {
    repairs.iter().any(|repair| repair.path == path)
}
