//! What follows once the files of a plan are written: [`Owner::settle`] applies all plans alike.

use std::time::Duration;

use device_manager::Moment;

use super::Owner;
use super::backlog::LeftChange;
use super::plan::{OnFailure, Outcome, Plan};
use crate::effect::{Answer, Effect, RequestError, WriteOutcome};

impl Owner {
    /// Makes a change whose files have been written, or does not make it.
    pub fn settle(&mut self, now: Moment, plan: Plan, written: &WriteOutcome) {
        match written {
            WriteOutcome::All => {
                self.backlog.remove_files(&plan.writes);
                self.backlog.leave(None);
            }
            WriteOutcome::Failed { why, done } => {
                // What was tried may be there or not, and what is there may be of a change that is not made.
                self.backlog.add_files(plan.writes.iter().map(|write| write.file.clone()), why);
                if *done >= plan.finishing {
                    let left = if plan.is_made(written) { LeftChange::Made } else { LeftChange::NotMade };
                    self.backlog.leave(plan.outcome.is_of_several.then_some(left));
                }
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
        let Outcome { after, ended, records, refused, created, effects, decided, is_of_several: _ } = outcome;
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
