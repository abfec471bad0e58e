//! The files of a plan: what a change writes, and in which order.

use std::collections::BTreeSet;
use std::time::Duration;

use kubelet_checkpoint::store::StateFile;
use node_state::files;
use node_state::moves::{self, ChangedFile, NewText};
use pod_spec::PodUid;
use topology_admission::Ledger;

use super::Owner;
use super::backlog::LeftChange;
use super::change::DecidingFiles;
use super::plan::{OnFailure, Outcome, Plan};
use crate::effect::{FileName, Write};

impl Owner {
    /// The plan of a change, with the files that it writes.
    pub(super) fn plan_of(&self, outcome: Outcome, decided_by: DecidingFiles, on_failure: OnFailure) -> Plan {
        let mut writes = self.finishing();
        let finishing = writes.len();
        let own = self.writes(&outcome);
        if outcome.is_of_several {
            writes.push(Write { file: FileName::Moves, text: Some(moves_text(&own)) });
            writes.extend(own);
            writes.push(Write { file: FileName::Moves, text: None });
        } else {
            writes.extend(own);
        }
        Plan { writes, finishing, outcome, decided_by, on_failure, worked: Duration::ZERO }
    }

    /// What has to be written before anything else, since a change of several pods may be found by a start yet: its files
    /// if it was made, as they are by now; then nothing is left of it.
    fn finishing(&self) -> Vec<Write> {
        let gone = Write { file: FileName::Moves, text: None };
        match self.backlog.left() {
            None => Vec::new(),
            Some(LeftChange::NotMade) => vec![gone],
            Some(LeftChange::Made) => {
                let behind = self.backlog.files().map(|file| self.write_of(file, &self.ledger));
                behind.chain([gone]).collect()
            }
        }
    }

    /// The files of a change. Pods that go are the first, one after the other: the own file of each, then the state files
    /// without it. What else changes in the state files is next, and whatever is behind. Pods' own files are last. So a
    /// crash between any two files leaves the state files ahead of the pods' own in one pod at most.
    fn writes(&self, Outcome { after, ended, records, .. }: &Outcome) -> Vec<Write> {
        let own_file = |uid: &PodUid| FileName::Pod(uid.clone());
        let mut writes = Vec::new();
        let mut before = self.ledger.clone();
        for (uid, _) in ended {
            let without = before.release(uid);
            writes.push(Write { file: own_file(uid), text: None });
            writes.extend(changed(&before, &without).map(|file| self.state_write(file, &without)));
            before = without;
        }
        let is_own = |file: &FileName| {
            let FileName::Pod(uid) = file else { return false };
            ended.iter().any(|(gone, _)| gone == uid) || records.iter().any(|record| record.pod.uid == *uid)
        };
        let behind = self.backlog.files().filter(|file| !is_own(file)).cloned();
        let files: BTreeSet<FileName> = behind.chain(changed(&before, after).map(FileName::State)).collect();
        writes.extend(files.iter().map(|file| self.write_of(file, after)));
        let own =
            records.iter().map(|record| Write { file: own_file(&record.pod.uid), text: Some(record.text()) });
        writes.extend(own);
        writes
    }

    /// A file as it is to be, of a pod as it is now.
    fn write_of(&self, file: &FileName, ledger: &Ledger) -> Write {
        match file {
            FileName::State(file) => self.state_write(*file, ledger),
            FileName::Pod(uid) => {
                Write { file: file.clone(), text: self.pods.get(uid).map(|record| record.text()) }
            }
            FileName::Moves => Write { file: file.clone(), text: None },
        }
    }

    fn state_write(&self, file: StateFile, ledger: &Ledger) -> Write {
        Write { file: FileName::State(file), text: Some(files::text(file, &self.node, ledger)) }
    }
}

/// The file with a change of several pods.
fn moves_text(writes: &[Write]) -> String {
    let each = writes.iter().filter_map(|Write { file, text }| {
        let file = match file {
            FileName::State(file) => ChangedFile::State(*file),
            FileName::Pod(uid) => ChangedFile::Pod(uid.clone()),
            FileName::Moves => return None,
        };
        Some(NewText { file, text: text.clone() })
    });
    moves::text(&each.collect::<Vec<_>>())
}

/// The state files that differ between two ledgers.
fn changed<'l>(before: &'l Ledger, after: &'l Ledger) -> impl Iterator<Item = StateFile> + use<'l> {
    StateFile::ALL.into_iter().filter(|file| !files::is_same(*file, before, after))
}
