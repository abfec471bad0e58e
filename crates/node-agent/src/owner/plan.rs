//! A change that is worked out and not yet made: its files, what is so afterwards, and what follows if the files cannot
//! be written. Every kind of change becomes one of these, and [`Owner::settle`] applies all of them alike.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cpu_manager::ContainerId;
use device_manager::Moment;
use kubelet_checkpoint::store::StateFile;
use node_state::{Record, files};
use pod_spec::PodUid;
use topology_admission::Ledger;

use super::Owner;
use super::backlog::Deferred;
use crate::effect::{Answer, Effect, EndReason, FileName, PodDecision, RequestError, Write, WriteOutcome};
use crate::event::Ticket;
use crate::snapshot::RefusedPod;

/// The next change, worked out and not yet made.
#[must_use]
#[derive(Debug)]
pub struct Plan {
    writes: Vec<Write>,
    outcome: Outcome,
    decided_by: DecidingFiles,
    on_failure: OnFailure,
    worked: Duration,
}

/// What is so once a change is made.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) after: Ledger,
    /// Pods that hold nothing any more, in the order in which they go.
    pub(super) ended: Vec<(PodUid, EndReason)>,
    /// Pods that run, with new records; one that comes is the last.
    pub(super) records: Vec<Arc<Record>>,
    pub(super) refused: Option<RefusedPod>,
    /// A container that has just been created.
    pub(super) created: Option<ContainerId>,
    pub(super) effects: Vec<Effect>,
    /// A decision, and when its pod was first looked at.
    pub(super) decided: Option<(Box<PodDecision>, Option<Moment>)>,
}

impl Outcome {
    /// The outcome of a change of the ledger alone.
    pub(super) const fn new(after: Ledger) -> Self {
        Self {
            after,
            ended: Vec::new(),
            records: Vec::new(),
            refused: None,
            created: None,
            effects: Vec::new(),
            decided: None,
        }
    }
}

/// Which files have to be safe for a change to be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DecidingFiles {
    /// None: it is a fact, whatever the disk has.
    None,
    /// The first one: the file of a pod that goes.
    First,
    /// Every one of them: a pod that comes, a container that starts or exits.
    All,
}

/// What follows if a change is not made because its files could not be written.
#[derive(Debug)]
pub(super) enum OnFailure {
    /// The client is answered, and can ask again.
    Answer(Ticket),
    /// It is tried again at the next timer.
    Retry(Deferred),
    /// The next listing of the folder asks for it again.
    Forget,
}

impl OnFailure {
    /// A client is answered; what nobody waits for is tried again.
    pub(super) fn of(ticket: Option<Ticket>, retried: impl FnOnce() -> Deferred) -> Self {
        ticket.map_or_else(|| Self::Retry(retried()), Self::Answer)
    }
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

    fn is_made(&self, written: &WriteOutcome) -> bool {
        match (written, self.decided_by) {
            (WriteOutcome::All, _) | (_, DecidingFiles::None) => true,
            (WriteOutcome::Failed { done, .. }, DecidingFiles::First) => *done > 0,
            (WriteOutcome::Failed { .. }, DecidingFiles::All) => false,
        }
    }
}

impl Owner {
    pub(super) fn plan_of(&self, outcome: Outcome, decided_by: DecidingFiles, on_failure: OnFailure) -> Plan {
        Plan { writes: self.writes(&outcome), outcome, decided_by, on_failure, worked: Duration::ZERO }
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
        writes.extend(files.into_iter().map(|file| match file {
            FileName::State(file) => self.state_write(file, after),
            FileName::Pod(uid) => {
                let text = self.pods.get(&uid).map(|record| record.text());
                Write { file: FileName::Pod(uid), text }
            }
        }));
        let own =
            records.iter().map(|record| Write { file: own_file(&record.pod.uid), text: Some(record.text()) });
        writes.extend(own);
        writes
    }

    fn state_write(&self, file: StateFile, ledger: &Ledger) -> Write {
        Write { file: FileName::State(file), text: Some(files::text(file, &self.node, ledger)) }
    }

    /// Makes a change whose files have been written, or does not make it.
    pub fn settle(&mut self, now: Moment, plan: Plan, written: &WriteOutcome) {
        match written {
            WriteOutcome::All => self.backlog.remove_files(&plan.writes),
            WriteOutcome::Failed { why, .. } => {
                // What was tried may be there or not, and what is there may be of a change that is not made.
                self.backlog.add_files(plan.writes.iter().map(|write| write.file.clone()), why);
                self.effects.push(Effect::NotWritten(why.clone()));
            }
        }
        match written {
            WriteOutcome::Failed { why, .. } if !plan.is_made(written) => match plan.on_failure {
                OnFailure::Answer(ticket) => {
                    let error = RequestError::NotStored(why.clone());
                    self.effects.push(Effect::Answer(ticket, Answer::Failed(error)));
                }
                OnFailure::Retry(deferred) => self.backlog.defer(deferred),
                OnFailure::Forget => {}
            },
            WriteOutcome::All | WriteOutcome::Failed { .. } => self.make(now, plan.outcome, plan.worked),
        }
        self.place_all();
    }

    fn make(&mut self, now: Moment, outcome: Outcome, worked: Duration) {
        let Outcome { after, ended, records, refused, created, effects, decided } = outcome;
        self.ledger = after;
        if let Some(refused) = refused {
            self.refused.insert(refused);
        }
        for record in records {
            self.arrivals = self.arrivals.max(record.arrival + 1);
            self.refused.remove(&record.pod.uid);
            self.pods.insert(record.pod.uid.clone(), record);
        }
        if let Some(id) = created {
            // It was created with what it had then, so that it is written again even if nothing changed.
            self.places.remove(&id);
        }
        for (uid, why) in ended {
            self.pods.remove(&uid);
            self.effects.push(Effect::Ended(uid, why));
        }
        self.effects.extend(effects);
        if let Some((mut decided, began)) = decided {
            decided.worked = worked;
            decided.took = now.0.saturating_sub(began.unwrap_or(now).0);
            self.effects.push(Effect::Decided(decided));
        }
    }
}

/// The state files that differ between two ledgers.
fn changed<'l>(before: &'l Ledger, after: &'l Ledger) -> impl Iterator<Item = StateFile> + use<'l> {
    StateFile::ALL.into_iter().filter(|file| !files::is_same(*file, before, after))
}
