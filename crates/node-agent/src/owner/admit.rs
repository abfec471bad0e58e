//! Pods that come.

use std::sync::Arc;
use std::time::Duration;

use device_manager::Moment;
use pod_spec::PodUid;
use topology_admission::{Detail, Verdict};

use super::Owner;
use super::backlog::Deferred;
use super::change::DecidingFiles;
use super::pending::PendingPod;
use super::plan::{OnFailure, Outcome, Plan};
use crate::effect::{Answer, Effect, EndReason, PodDecision, RequestError};
use crate::snapshot::RefusedPod;
use node_state::Record;

/// The next step for the pod that is first in line.
pub(super) enum Next {
    /// A change.
    Plan(Box<Plan>),
    /// It has left the line, and the next is first.
    Left,
}

impl Owner {
    pub(super) fn plan_admission(&mut self, clock: &dyn Fn() -> Moment) -> Option<Plan> {
        loop {
            match self.plan_first(clock) {
                Some(Next::Plan(plan)) => return Some(*plan),
                Some(Next::Left) => {}
                None => return None,
            }
        }
    }

    /// What is to be done about the pod that is first in line; `None`: there is none, or it waits for an answer.
    fn plan_first(&mut self, clock: &dyn Fn() -> Moment) -> Option<Next> {
        self.turn_away_twins();
        let first = self.admissions.front_mut()?;
        if first.asked.is_some() {
            return None;
        }
        let now = clock();
        first.began.get_or_insert(now);
        let clock = || clock().0;
        if let Some(moves) = first.moves.clone() {
            return self.plan_moves(&moves, &clock);
        }
        let (attempt, trace) = self
            .node
            .admission(&self.ledger, &first.pod)
            .with(&first.replies)
            .timed(&clock)
            .trace(Detail::Short);
        if let Verdict::NeedsPlugin(question) = &attempt.verdict {
            first.asked = Some(question.clone());
            self.effects.push(Effect::Ask(question.clone()));
            return None;
        }
        let mut verdict = attempt.verdict.clone();
        if let Verdict::Refused(refused) = verdict {
            let others = self.others_deferred();
            let first = self.admissions.front()?;
            match self.node.defer(&self.ledger, &first.pod, &first.replies, refused, now, others) {
                Ok(deferral) => {
                    self.defer(deferral);
                    return Some(Next::Left);
                }
                Err(refused) => verdict = Verdict::Refused(*refused),
            }
        }
        let mut counted = attempt.counted.clone();
        let booked = attempt.after.cpus().cloned();
        let moved = attempt.moved.clone();
        let mut after = match self.ledger.commit(attempt) {
            Ok(after) => after,
            Err(stale) => unreachable!("the attempt was made against this very ledger: {stale}"),
        };
        if let Verdict::Admitted(placement) = &verdict {
            // As pods that are deleted do, those that are preempted hold nothing from now on: a restart finds no file
            // of theirs, and would call what the state files still had of them damage.
            for uid in &placement.preempted {
                after = after.release(uid);
            }
        }
        // What a refused pod had been given has been counted, and is free again, as is what preempted pods held.
        counted.cpus.extend(self.released(booked.as_ref(), &after));
        let waiting = self.admissions.pop_front()?;
        let mut outcome = Outcome::new(after.clone());
        let (mut decided_by, mut on_failure) = (DecidingFiles::None, OnFailure::Forget);
        match &verdict {
            Verdict::Admitted(placement) => {
                // Pods that go do not come back with a new file.
                let stays = |uid: &PodUid| !placement.preempted.contains(uid);
                let regrouped = moved.iter().filter_map(|moved| self.pods.get(&moved.pod));
                let regrouped = regrouped
                    .filter(|record| stays(&record.pod.uid))
                    .map(|record| Arc::new(Record::clone(record).holding(&self.node, &after)));
                let mut own = Record::new(waiting.pod.clone(), waiting.source.clone(), self.arrivals);
                own.admitted = self.admitted_at(waiting.began);
                outcome.records = regrouped.chain([Arc::new(own.holding(&self.node, &after))]).collect();
                let by = &waiting.pod.uid;
                let ended = placement.preempted.iter().cloned();
                outcome.ended = ended.map(|uid| (uid, EndReason::Preempted(by.clone()))).collect();
                decided_by = DecidingFiles::All;
                let again = || PendingPod::new(waiting.pod.clone(), waiting.source.clone(), None);
                on_failure = OnFailure::of(waiting.ticket, || Deferred::Pod(again()));
            }
            Verdict::Refused(refused) => {
                outcome.refused = Some(RefusedPod {
                    pod: waiting.pod.clone(),
                    source: waiting.source.clone(),
                    reason: refused.reason.clone(),
                    message: refused.message.clone(),
                });
            }
            Verdict::NeedsPlugin(_) => {}
        }
        let decided = Box::new(PodDecision {
            ticket: waiting.ticket,
            pod: waiting.pod,
            source: waiting.source,
            verdict,
            trace,
            counted,
            moved,
            made_room: Vec::new(),
            before: self.ledger.clone(),
            after,
            worked: Duration::ZERO,
            took: Duration::ZERO,
        });
        outcome.decided = Some((decided, waiting.began));
        Some(Next::Plan(Box::new(self.plan_of(outcome, decided_by, on_failure))))
    }

    /// When a pod is admitted by the clock on the wall, in whole seconds as its file has them.
    pub(super) fn admitted_at(&self, began: Option<Moment>) -> Option<Duration> {
        let (epoch, Moment(since)) = self.epoch.zip(began)?;
        Some(Duration::from_secs((epoch + since).as_secs()))
    }

    /// A pod that is first in line while one of the same UID runs is not decided on: the other is going and could not
    /// yet, or has come from the folder meanwhile.
    fn turn_away_twins(&mut self) {
        while let Some(waiting) = self.admissions.pop_front() {
            if !self.pods.contains_key(&waiting.pod.uid) {
                self.admissions.push_front(waiting);
                return;
            }
            match waiting.ticket {
                Some(ticket) => {
                    let name = format!("{}/{}", waiting.pod.namespace, waiting.pod.name);
                    let error = RequestError::OtherManifest(name);
                    self.effects.push(Effect::Answer(ticket, Answer::Failed(error)));
                }
                None => self.backlog.defer(Deferred::Pod(waiting)),
            }
        }
    }
}
