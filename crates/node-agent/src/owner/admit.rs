//! Pods that come.

use std::sync::Arc;
use std::time::Duration;

use device_manager::Moment;
use memory_manager::Moved;
use pod_spec::PodUid;
use topology_admission::{Counted, Detail, Ledger, Trace, Verdict};

use super::{Owner, Plan, Staged, Waiting};
use crate::effect::{Answer, Decided, Effect, FileName, RequestError, WhyEnded, Write, Written};
use crate::snapshot::RefusedPod;
use node_state::Record;

/// An admission or refusal, worked out and not yet made.
#[derive(Debug)]
pub(super) struct Admission {
    waiting: Waiting,
    verdict: Verdict,
    trace: Trace,
    counted: Counted,
    moved: Vec<Moved>,
    /// Pods whose memory moves.
    regrouped: Vec<Arc<Record>>,
    /// If it is admitted.
    record: Option<Arc<Record>>,
}

impl Admission {
    /// Pods that go so that this one can come.
    fn preempted(&self) -> &[PodUid] {
        match &self.verdict {
            Verdict::Admitted(placement) => &placement.preempted,
            Verdict::Refused(_) | Verdict::NeedsPlugin(_) => &[],
        }
    }
}

impl Owner {
    pub(super) fn plan_admission(&mut self, clock: &dyn Fn() -> Moment) -> Option<Plan> {
        self.turn_away_twins();
        let first = self.admissions.front_mut()?;
        if first.asked.is_some() {
            return None;
        }
        first.began.get_or_insert_with(clock);
        let clock = || clock().0;
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
        let (verdict, mut counted) = (attempt.verdict.clone(), attempt.counted.clone());
        let booked = attempt.after.cpus().cloned();
        let moved = attempt.moved.clone();
        // Made against this very ledger just now, so it is not stale.
        let after = self.ledger.commit(attempt).ok()?;
        // What a refused pod had been given has been counted, and is free again.
        counted.cpus.extend(self.released(booked.as_ref(), &after));
        let waiting = self.admissions.pop_front()?;
        let is_admitted = matches!(verdict, Verdict::Admitted(_));
        let record =
            is_admitted.then(|| Record::new(waiting.pod.clone(), waiting.source.clone(), self.arrivals));
        let record = record.map(|record| Arc::new(record.holding(&self.node, &after)));
        let regrouped = moved.iter().filter_map(|moved| self.pods.get(&moved.pod));
        // Pods that go do not come back with a new file.
        let goes = |uid: &PodUid| match &verdict {
            Verdict::Admitted(placement) => placement.preempted.contains(uid),
            Verdict::Refused(_) | Verdict::NeedsPlugin(_) => true,
        };
        let regrouped = regrouped
            .filter(|record| !goes(&record.pod.uid))
            .map(|record| Arc::new(Record::clone(record).holding(&self.node, &after)))
            .collect();
        let admission = Box::new(Admission { waiting, verdict, trace, counted, moved, regrouped, record });
        let writes = self.writes_of(&admission, &after);
        Some(Plan { writes, after, staged: Staged::Admission(admission), worked: Duration::ZERO })
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
                None => self.postponed.push(waiting),
            }
        }
    }

    /// Pods that go lose their files first; the file of the pod that comes is the last.
    fn writes_of(&self, admission: &Admission, after: &Ledger) -> Vec<Write> {
        let gone = admission.preempted().iter().map(|uid| FileName::Pod(uid.clone()));
        let own = FileName::Pod(admission.waiting.pod.uid.clone());
        let gone: Vec<FileName> = gone.collect();
        let regrouped = admission.regrouped.iter();
        let regrouped: Vec<Write> = regrouped
            .map(|record| Write { file: FileName::Pod(record.pod.uid.clone()), text: Some(record.text()) })
            .collect();
        let except = gone.iter().chain([&own]).chain(regrouped.iter().map(|write| &write.file));
        let except: Vec<&FileName> = except.collect();
        let others = self.writes(after, &except, &self.pods);
        let own = admission.record.as_ref().map(|record| Write { file: own, text: Some(record.text()) });
        let gone = gone.into_iter().map(|file| Write { file, text: None });
        gone.chain(others).chain(regrouped).chain(own).collect()
    }

    pub(super) fn settle_admission(
        &mut self,
        (now, worked): (Moment, Duration),
        admission: Admission,
        after: Ledger,
        written: &Written,
    ) {
        let preempted = admission.preempted().to_vec();
        let Admission { waiting, verdict, trace, counted, moved, regrouped, record } = admission;
        match (&verdict, written) {
            (Verdict::Admitted(_), Written::Failed { why, .. }) => {
                self.not_stored(waiting, why);
                return;
            }
            (Verdict::Refused(refused), _) => self.remember_refused(RefusedPod {
                pod: waiting.pod.clone(),
                source: waiting.source.clone(),
                reason: refused.reason.clone(),
                message: refused.message.clone(),
            }),
            (Verdict::Admitted(_) | Verdict::NeedsPlugin(_), _) => {}
        }
        let before = std::mem::replace(&mut self.ledger, after);
        if let Some(record) = record {
            self.arrivals += 1;
            self.forget_refused(&waiting.pod.uid);
            self.pods.insert(waiting.pod.uid.clone(), record);
        }
        for record in regrouped {
            self.pods.insert(record.pod.uid.clone(), record);
        }
        for uid in preempted {
            self.pods.remove(&uid);
            let why = WhyEnded::Preempted(waiting.pod.uid.clone());
            self.effects.push(Effect::Ended(uid, why));
        }
        self.effects.push(Effect::Decided(Box::new(Decided {
            ticket: waiting.ticket,
            pod: waiting.pod,
            source: waiting.source,
            verdict,
            trace,
            counted,
            moved,
            before,
            after: self.ledger.clone(),
            worked,
            took: now.0.saturating_sub(waiting.began.unwrap_or(now).0),
        })));
    }

    /// Who asked can ask again; what is in the folder is tried again with the next timer.
    fn not_stored(&mut self, waiting: Waiting, why: &str) {
        if let Some(ticket) = waiting.ticket {
            let error = RequestError::NotStored(why.to_owned());
            self.effects.push(Effect::Answer(ticket, Answer::Failed(error)));
        } else {
            self.postponed.push(Waiting::new(waiting.pod, waiting.source, None));
        }
    }
}
