//! The plan of a repair: a node that starts again, from any folder.
//!
//! [`StateFolder::plan_repair`] derives a [`Start`] from any folder but one: a state file of an unknown format stops it
//! unless the pods' own files list everything that the state file may hold. A pod's own file proves that the pod is here
//! and lists what it was granted; the plan rewrites a state file that disagrees. Of a pod without such a file, as in a
//! kubelet's folder, the entries of the state files count. The plan keeps every entry of a corrupt state file that can be
//! parsed, and believes it if the checksum or everything else confirms it. A pod that may have lost part of what it was
//! granted is quarantined: it stays recorded with what it still holds alone, until it is deleted.
//!
//! The plan is a value. It reads and writes nothing.
//!
//! # What always holds afterwards
//!
//! - No CPU and no device is held by two pods.
//! - What a container held is still held, unless the machine does not have it any more, the configuration now keeps it
//!   for the system, or another pod holds it too; the pod is then quarantined.
//! - A pod that is known to run and has no pod file holds what it held, or is quarantined.
//! - The files that are written next are such that [`StateFolder::strict`] starts from them.

mod allocations;
mod believed;
mod cpus;
mod damage;
mod devices;
mod doubt;
mod memory;
mod pods;
mod reads;
mod guesses;
mod reasons;
mod remedy;
mod unfinished;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use damage::Doubt;
use kubelet_checkpoint::form_of;
use kubelet_checkpoint::salvage::Rest;
use kubelet_checkpoint::store::StateFile;
use kubelet_release::CheckpointForm;
use pod_spec::{Pod, PodUid};
use reads::Reads;
use reasons::Reasons;
use topology_admission::{Ledger, Node};

pub use remedy::{Assumption, Remedy};

use crate::fault::{Fault, Finding, NamedPod};
use crate::files::{self, UnknownFile};
use crate::folder::StateFolder;
use crate::record::{self, Record};
use crate::start::Start;

/// What is known of the pods that there are, besides their own files.
#[derive(Clone, Debug, Default)]
pub enum PodList {
    /// Only pods that have a file here.
    #[default]
    Recorded,
    /// These too; others are gone.
    Listed(BTreeMap<PodUid, RunningPod>),
    /// Pods that have a file here, and every other pod that a state file lists: pods' files were removed while pods
    /// ran. Such a pod gets a file again, and is quarantined.
    Incomplete,
    /// Every pod that holds something may be running.
    Unknown,
}

/// A pod from a list of the pods that run.
#[derive(Clone, Debug)]
pub struct RunningPod {
    /// For people; empty if it has none.
    pub name: String,
    /// What it requests, if that is known.
    pub manifest: Option<Arc<Pod>>,
    /// Whether an earlier repair has quarantined it.
    pub standing: Standing,
}

/// How a pod is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It has a pod file.
    Recorded,
    /// It is in a list of pods that run.
    Listed,
    /// The same, and an earlier repair has quarantined it: that it does not hold what it requests is known.
    Quarantined,
}

/// A fault, and what the plan does about it.
#[derive(Clone, Debug)]
pub struct Repair {
    /// The fault and its file.
    pub finding: Finding,
    /// What is taken for true without proof; `None`: nothing.
    pub assumption: Option<Assumption>,
    /// What the plan does.
    pub remedy: Remedy,
    /// The pods that are quarantined for it.
    pub quarantined: Vec<PodUid>,
}

/// What becomes of the old contents of a file that is put in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OldContents {
    /// They are kept beside it: no other file may have what they hold.
    Kept,
    /// They are removed: a change that was cut short is completed, and other files have all of them.
    Dropped,
}

/// A file that is to be put in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileRepair {
    /// Its path below the root.
    pub path: PathBuf,
    /// Its new text; `None`: it is only put aside.
    pub text: Option<String>,
    /// What becomes of what is there now.
    pub old: OldContents,
}

/// A start from anything.
#[derive(Clone, Debug, Default)]
pub struct RepairPlan {
    /// What the node goes on with.
    pub start: Start,
    /// What was found, most harmful first; nothing if [`StateFolder::strict`] gives the same start.
    pub findings: Vec<Repair>,
    /// The pods that may not have what they were granted, and why.
    pub quarantined: BTreeMap<PodUid, String>,
    /// The pod of a change that was cut short between two files, if that is all that is different: then nothing was
    /// found, and the files are completed.
    pub unfinished: Option<PodUid>,
    /// Damaged state files that may have had pods which nothing else names. With [`PodList::Unknown`] it is
    /// unknown what these hold, and others may be given it.
    pub lost: BTreeSet<StateFile>,
    /// State files that are to be written anew.
    state: BTreeSet<StateFile>,
    /// Files that are to be put aside: pods' own, and those of what pods were admitted with.
    aside: BTreeSet<PathBuf>,
    /// Pods whose file is to be written.
    records: BTreeSet<PodUid>,
}

impl StateFolder {
    /// What a node goes on with, whatever is there; but for a file of a format that is not known, where pods' own
    /// files do not say all that may be in it.
    ///
    /// # Errors
    /// There is such a file.
    pub fn plan_repair(&self, node: &Node, runs: &PodList) -> Result<RepairPlan, UnknownFile> {
        if self.pods.is_empty() || !matches!(runs, PodList::Recorded) {
            self.known()?;
        }
        Ok(self.plan(node, runs))
    }

    /// The same where the formats of all files are known.
    pub(crate) fn plan(&self, node: &Node, runs: &PodList) -> RepairPlan {
        let reads = Reads::of(self, files::pod_level(node));
        let (pods, quarantined, result) = (BTreeMap::new(), BTreeMap::new(), RepairPlan::default());
        let mut work = Work { node, found: self, runs, reads, pods, next_arrival: 0, quarantined, result };
        work.pods();
        work.guess();
        work.result.lost = work.lost();
        work.cpus();
        work.memory();
        work.devices();
        work.allocations();
        work.forms();
        work.result.unfinished = work.unfinished();
        work.finish()
    }
}

impl RepairPlan {
    /// Brings the records in line with `ledger`, with which the node starts, and gives the files to be written, in
    /// this order.
    #[must_use]
    pub fn settle(&mut self, node: &Node, ledger: &Ledger) -> Vec<FileRepair> {
        let old = if self.unfinished.is_some() { OldContents::Dropped } else { OldContents::Kept };
        let state = self.state.iter().map(|file| FileRepair {
            path: PathBuf::from(file.path()),
            text: Some(files::text(*file, node, ledger)),
            old,
        });
        let mut mended: Vec<FileRepair> = state.collect();
        let mut written = BTreeSet::new();
        for record in &mut self.start.records {
            let now = record.clone().holding(node, ledger);
            let is_other = record.grants.is_some() && record.grants != now.grants;
            if is_other || self.records.contains(&record.pod.uid) {
                let path = record::path(&record.pod.uid);
                mended.push(FileRepair { path: path.clone(), text: Some(now.text()), old });
                written.insert(path);
                *record = now;
            }
        }
        let aside = self.aside.iter().filter(|path| !written.contains(*path));
        mended.extend(aside.map(|path| FileRepair {
            path: path.clone(),
            text: None,
            old: OldContents::Kept,
        }));
        mended
    }
}

/// A pod that is here, or may be.
struct Known {
    record: Option<Record>,
    /// Its name for people.
    shown: String,
    /// Those that came earlier keep what two hold.
    arrival: u64,
    /// What it requests, if that is known.
    manifest: Option<Arc<Pod>>,
    standing: Standing,
}

struct Work<'a> {
    node: &'a Node,
    found: &'a StateFolder,
    runs: &'a PodList,
    reads: Reads,
    pods: BTreeMap<PodUid, Known>,
    /// Above that of every pod with a record.
    next_arrival: u64,
    /// Why pods are quarantined.
    quarantined: BTreeMap<PodUid, Reasons>,
    result: RepairPlan,
}

impl Work<'_> {
    /// Files of another release's form are written in that of the node's. Those that are written anyway are too.
    fn forms(&mut self) {
        let rules = self.node.kubelet_rules();
        for file in [StateFile::Cpu, StateFile::Memory] {
            let contents = self.found.state_file(file).filter(|_| !self.result.state.contains(&file));
            let form = contents.and_then(form_of);
            let is_embedded = |form| form == CheckpointForm::Embedded;
            if form.is_some_and(|form| is_embedded(form) != is_embedded(rules.checkpoints)) {
                self.add(file, Fault::OtherForm(rules.version.release()), None, Remedy::Rewrite, &[]);
            }
        }
    }

    fn add(
        &mut self,
        file: StateFile,
        fault: Fault,
        assumption: Option<Assumption>,
        remedy: Remedy,
        pods: &[&PodUid],
    ) {
        self.result.state.insert(file);
        self.add_at(PathBuf::from(file.path()), fault, assumption, remedy, pods);
    }

    fn add_at(
        &mut self,
        file: PathBuf,
        fault: Fault,
        assumption: Option<Assumption>,
        remedy: Remedy,
        pods: &[&PodUid],
    ) {
        if !pods.is_empty() {
            let found: Arc<str> = fault.to_string().into();
            for pod in pods {
                self.quarantined.entry((*pod).clone()).or_default().add(&found);
            }
        }
        let quarantined = pods.iter().map(|pod| (*pod).clone()).collect();
        let finding = Finding { file, fault };
        self.result.findings.push(Repair { finding, assumption, remedy, quarantined });
    }

    /// The pod with its name for people.
    fn named(&self, uid: &PodUid) -> NamedPod {
        let known = self.pods.get(uid).map(|known| known.shown.clone());
        NamedPod { uid: uid.clone(), name: known.unwrap_or_else(|| format!("pod {uid}")) }
    }

    /// The files that may have had pods which nothing else names.
    fn lost(&self) -> BTreeSet<StateFile> {
        let Reads { cpu, memory, device, .. } = &self.reads;
        let is_lost = |doubt: &Option<Doubt>| doubt.as_ref().is_some_and(|doubt| doubt.pods == Rest::Cut);
        let files = [
            (StateFile::Cpu, self.node.cpus().is_some() && self.found.cpu.is_some() && is_lost(&cpu.doubt)),
            (
                StateFile::Memory,
                self.node.memory().is_some() && self.found.memory.is_some() && is_lost(&memory.doubt),
            ),
            (StateFile::Device, self.found.device.is_some() && is_lost(&device.doubt)),
        ];
        let is_unknown = matches!(self.runs, PodList::Unknown | PodList::Incomplete);
        files.into_iter().filter(|(_, is_lost)| is_unknown && *is_lost).map(|(file, _)| file).collect()
    }

    /// Whether the pod may be running.
    fn is_here(&self, pod: &PodUid) -> bool {
        matches!(self.runs, PodList::Unknown | PodList::Incomplete) || self.pods.contains_key(pod)
    }

    /// Those that came first, first; then those of which nothing is known.
    fn rank(&self, pod: &PodUid) -> (u64, PodUid) {
        (self.pods.get(pod).map_or(u64::MAX, |known| known.arrival), pod.clone())
    }

    fn record(&self, pod: &PodUid) -> Option<&Record> {
        self.pods.get(pod)?.record.as_ref()
    }

    fn finish(mut self) -> RepairPlan {
        let mut result = self.result;
        let quarantined = self.quarantined.into_iter();
        result.quarantined = quarantined.map(|(uid, reasons)| (uid, reasons.to_string())).collect();
        for (uid, known) in std::mem::take(&mut self.pods) {
            let Some(mut record) = known.record else { continue };
            if let Some(why) = result.quarantined.get(&uid)
                && record.quarantine.as_ref() != Some(why)
            {
                record.quarantine = Some(why.clone());
                result.records.insert(uid.clone());
            }
            result.start.records.push(record);
        }
        result.start.records.sort_by_key(|record| record.arrival);
        if result.unfinished.is_some() {
            result.findings.clear();
        }
        result.findings.sort_by_key(|repair| repair.finding.fault.kind());
        result
    }
}
