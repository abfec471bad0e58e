//! The repair of a folder while no daemon serves it (`topolet state repair`): which files are written, whether that may harm a
//! running pod, and which pods stay quarantined. `repair.rs` makes the plan; `node-agent` writes the files.

use std::collections::{BTreeMap, BTreeSet};

use device_manager::{Inventory, Moment};
use pod_spec::PodUid;
use topology_admission::{Node, RestoreError};

use crate::fault::FaultKind;
use crate::names::PodNames;
use crate::quarantine::{Basis, Left, Quarantine, Quarantined};
use crate::repair::{FileRepair, RepairPlan};

/// A plan with the files that it writes and the pods that it quarantines.
#[derive(Clone, Debug)]
pub struct FolderRepair {
    /// The plan. Its `start.records` are the records that `files` writes.
    pub plan: RepairPlan,
    /// The files to write, in this order; empty: nothing has to be repaired.
    pub files: Vec<FileRepair>,
    /// What this repair quarantines: pods, and damaged files that may have held pods which no other file names.
    pub quarantine: Quarantine,
    /// What earlier repairs quarantined and is still quarantined. A pod can be in `quarantine` too.
    pub earlier: Quarantine,
}

/// Whether a repair is written that quarantines pods or files: such pods may lose part of what they hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Losses {
    /// It is not written.
    Refused,
    /// It is written (`--force`), and these pods are quarantined.
    Accepted,
}

impl FolderRepair {
    /// Works out which files `plan` writes on `node`. `names` lists the pods that run, as far as that is known.
    ///
    /// A pod of `earlier` stays quarantined if its basis is a conflict, or if there is no manifest which shows that it holds
    /// all that it requests.
    ///
    /// # Errors
    /// The state that the plan starts from does not fit the node.
    pub fn of(
        mut plan: RepairPlan,
        node: &Node,
        names: &PodNames,
        mut earlier: Quarantine,
    ) -> Result<Self, RestoreError> {
        earlier.pods.retain(|uid, quarantined| {
            let manifest = names.specs().get(&PodUid::new(uid));
            let is_whole = manifest.is_some_and(|manifest| plan.is_whole(node, manifest));
            quarantined.basis == Basis::Conflict || !is_whole
        });
        let ledger = plan.start.ledger(node, Inventory::new(node.nodes().clone()), Moment::default())?;
        let files = plan.settle(node, &ledger);
        let quarantine = plan.quarantine(names);
        Ok(Self { plan, files, quarantine, earlier })
    }

    /// Whether the repair may be written: it quarantines nothing, or losses are accepted.
    #[must_use]
    pub fn may_be_written(&self, losses: Losses) -> bool {
        let is_harmless = self.quarantine.pods.is_empty() && self.quarantine.lost.is_empty();
        is_harmless || losses == Losses::Accepted
    }

    /// All that is quarantined once the repair is written: by this repair or an earlier one. Of a pod in both this one counts.
    #[must_use]
    pub fn all_quarantined(&self) -> Quarantine {
        let mut all = self.earlier.clone();
        all.lost.extend(self.quarantine.lost.iter().cloned());
        let new = self.quarantine.pods.iter();
        all.pods.extend(new.map(|(uid, quarantined)| (uid.clone(), quarantined.clone())));
        all
    }

    /// Pods that only earlier repairs quarantined, by UID.
    #[must_use]
    pub fn still_quarantined(&self) -> BTreeMap<String, Quarantined> {
        let mut still = self.earlier.pods.clone();
        still.retain(|uid, _| !self.quarantine.pods.contains_key(uid));
        still
    }

    /// Whether nothing is quarantined once the repair is written: every pod then holds what it was granted.
    #[must_use]
    pub fn leaves_nothing_open(&self) -> bool {
        let all = self.all_quarantined();
        all.pods.is_empty() && all.lost.is_empty()
    }
}

impl RepairPlan {
    /// The name of a pod in messages: `NAMESPACE/NAME` of its record, else its name in `names`, else its UID.
    pub fn shown_names<'a>(&'a self, names: &'a PodNames) -> impl Fn(&PodUid) -> String + 'a {
        let recorded = self.start.records.iter().map(|record| &record.pod);
        let recorded: BTreeMap<&PodUid, String> =
            recorded.map(|pod| (&pod.uid, format!("{}/{}", pod.namespace, pod.name))).collect();
        move |uid| recorded.get(uid).cloned().unwrap_or_else(|| names.name(uid))
    }

    /// What the plan quarantines, as the file of quarantined pods stores it. The basis of a pod is [`Basis::NotListed`] if
    /// no list of the pods that run was given and all faults about the pod are unproven holdings; else [`Basis::Conflict`].
    fn quarantine(&self, names: &PodNames) -> Quarantine {
        let in_conflict =
            self.findings.iter().filter(|repair| repair.finding.fault.kind() != FaultKind::Unproven);
        let in_conflict: BTreeSet<&PodUid> = in_conflict.flat_map(|repair| &repair.quarantined).collect();
        let name = self.shown_names(names);
        let entry = |(uid, why): (&PodUid, &String)| {
            let is_unproven = !in_conflict.contains(uid);
            let basis =
                if names.known().is_none() && is_unproven { Basis::NotListed } else { Basis::Conflict };
            let left = if self.start.holds(uid) { Left::Something } else { Left::Nothing };
            let why = why.clone();
            (uid.to_string(), Quarantined { name: name(uid), why, left, basis, backups: Vec::new() })
        };
        Quarantine {
            pods: self.quarantined.iter().map(entry).collect(),
            lost: self.lost.iter().map(|file| file.path().to_owned()).collect(),
        }
    }
}
