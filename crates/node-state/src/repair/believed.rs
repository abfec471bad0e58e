//! What is believed of who holds what: of each pod what its own file says, else what the state file does.

use std::collections::BTreeMap;

use kubelet_checkpoint::store::StateFile;
use pod_spec::PodUid;

use super::{Remedy, Work};
use crate::fault::{Fault, Holding};
use crate::grants::Grants;

impl Work<'_> {
    /// What pods' own files say of one kind of thing.
    pub(super) fn granted<T>(&self, kind: impl Fn(&Grants) -> Option<T>) -> BTreeMap<PodUid, T> {
        let records = self.pods.iter().filter_map(|(uid, known)| Some((uid, known.record.as_ref()?)));
        records.filter_map(|(uid, record)| Some((uid.clone(), kind(record.grants.as_ref()?)?))).collect()
    }

    /// What is believed of pods that are here and hold something. The file's other pods become findings, and so
    /// does each disagreement. `file_says` is `None` where there is no file to disagree with.
    pub(super) fn believed<T: Default + PartialEq>(
        &mut self,
        file: StateFile,
        file_says: Option<BTreeMap<PodUid, T>>,
        granted: BTreeMap<PodUid, T>,
        shown: impl Fn(&T) -> Holding,
    ) -> BTreeMap<PodUid, T> {
        let is_there = file_says.is_some();
        let mut held = file_says.unwrap_or_default();
        let gone: Vec<(PodUid, Holding)> = held
            .iter()
            .filter(|(pod, _)| !self.is_here(pod))
            .map(|(pod, theirs)| (pod.clone(), shown(theirs)))
            .collect();
        held.retain(|pod, _| self.is_here(pod));
        self.gone(file, gone);
        for (pod, own) in granted {
            let other = held.remove(&pod).unwrap_or_default();
            if is_there && other != own {
                let (pod, stored, own) = (self.named(&pod), shown(&other), shown(&own));
                let fault = Fault::Disagreement { pod, stored, own };
                self.add(file, fault, None, Remedy::PodFileCounts, &[]);
            }
            if own != T::default() {
                held.insert(pod, own);
            }
        }
        held
    }
}
