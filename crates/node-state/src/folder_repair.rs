//! A repair of a folder that no program serves: what is written, whether that harms a pod, and which pods stay
//! quarantined.

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
    /// The plan, whose records are those that are written.
    pub plan: RepairPlan,
    /// The files that are put in order, in this order; none: the folder is in order.
    pub files: Vec<FileRepair>,
    /// What this repair quarantines: pods by UID, and files whose pods nothing names.
    pub quarantine: Quarantine,
    /// What earlier repairs have quarantined and still is, whether this one does too or not.
    pub earlier: Quarantine,
}

/// Whether a repair may cost running pods something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Losses {
    /// It is not written then.
    Refused,
    /// It is written all the same, and such pods are quarantined.
    Accepted,
}

impl FolderRepair {
    /// Works out the files of `plan` on `node`, on which the pods of `names` run as far as that is known. Of `earlier`
    /// quarantined pods those stay that are in conflict, and those whose manifest does not show that they hold all of
    /// what they request.
    ///
    /// # Errors
    /// What the plan starts from does not fit the node.
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

    /// Whether the repair may be written: it harms no running pod, or losses are accepted.
    #[must_use]
    pub fn may_be_written(&self, losses: Losses) -> bool {
        let is_harmless = self.quarantine.pods.is_empty() && self.quarantine.lost.is_empty();
        is_harmless || losses == Losses::Accepted
    }

    /// All that is quarantined once the repair is written.
    #[must_use]
    pub fn all_quarantined(&self) -> Quarantine {
        let mut all = self.earlier.clone();
        all.lost.extend(self.quarantine.lost.iter().cloned());
        let new = self.quarantine.pods.iter();
        all.pods.extend(new.map(|(uid, quarantined)| (uid.clone(), quarantined.clone())));
        all
    }

    /// Pods that earlier repairs have quarantined and this one does not, by UID.
    #[must_use]
    pub fn still_quarantined(&self) -> BTreeMap<String, Quarantined> {
        let mut still = self.earlier.pods.clone();
        still.retain(|uid, _| !self.quarantine.pods.contains_key(uid));
        still
    }

    /// Whether every pod holds what it was granted once the repair is written, as far as this and earlier repairs know.
    #[must_use]
    pub fn leaves_nothing_open(&self) -> bool {
        let all = self.all_quarantined();
        all.pods.is_empty() && all.lost.is_empty()
    }
}

impl RepairPlan {
    /// What pods of the plan are called: `NAMESPACE/NAME` by their own files, else as `names` has them, else their UIDs.
    pub fn shown_names<'a>(&'a self, names: &'a PodNames) -> impl Fn(&PodUid) -> String + 'a {
        let recorded = self.start.records.iter().map(|record| &record.pod);
        let recorded: BTreeMap<&PodUid, String> =
            recorded.map(|pod| (&pod.uid, format!("{}/{}", pod.namespace, pod.name))).collect();
        move |uid| recorded.get(uid).cloned().unwrap_or_else(|| names.name(uid))
    }

    /// What the plan quarantines, as its file keeps it. A pod is there for want of a list alone if no fault but an unproven
    /// holding is about it.
    fn quarantine(&self, names: &PodNames) -> Quarantine {
        let in_conflict =
            self.findings.iter().filter(|repair| repair.finding.fault.kind() != FaultKind::Unproven);
        let in_conflict: BTreeSet<&PodUid> = in_conflict.flat_map(|repair| &repair.quarantined).collect();
        let name = self.shown_names(names);
        let kept = |(uid, why): (&PodUid, &String)| {
            let is_unproven = !in_conflict.contains(uid);
            let basis =
                if names.known().is_none() && is_unproven { Basis::NotListed } else { Basis::Conflict };
            let left = if self.start.holds(uid) { Left::Something } else { Left::Nothing };
            let why = why.clone();
            (uid.to_string(), Quarantined { name: name(uid), why, left, basis, backups: Vec::new() })
        };
        Quarantine {
            pods: self.quarantined.iter().map(kept).collect(),
            lost: self.lost.iter().map(|file| file.path().to_owned()).collect(),
        }
    }
}
