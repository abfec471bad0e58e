//! Pods that come when others have made room for them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use node_state::{Record, Source};
use pod_spec::{ContainerKey, Pod, PodUid};
use topology_admission::{Applied, ApplyError, Ledger, Plan as MovePlan};

use super::Owner;
use super::admit::Next;
use super::change::DecidingFiles;
use super::pending::PendingPod;
use super::plan::{OnFailure, Outcome, Plan};
use crate::effect::{Answer, Effect, PodDecision, RequestError};
use crate::event::Ticket;
use crate::pod_move::PodMove;

impl Owner {
    pub(super) fn ask_to_repack(&mut self, ticket: Ticket, pod: Arc<Pod>, plan: Arc<MovePlan>) {
        let pending = PendingPod::new(pod, Source::Request, Some(ticket));
        self.line_up(PendingPod { moves: Some(plan), ..pending });
    }

    /// What is to be done about the pod that is first in line, for which others move; `None`: it waits for an answer.
    pub(super) fn plan_moves(&mut self, plan: &MovePlan, clock: &dyn Fn() -> Duration) -> Option<Next> {
        let first = self.admissions.front_mut()?;
        let applied = plan
            .carry_out(&self.node, &self.ledger, &first.pod, &first.replies, clock)
            .map_err(Refusal::from)
            .and_then(|applied| self.movable(plan).map(|()| applied).map_err(Refusal::Of));
        // The pod is first in line yet: nothing has left it.
        match applied {
            Ok(applied) => {
                let waiting = self.admissions.pop_front()?;
                Some(Next::Plan(Box::new(self.plan_applied(waiting, applied)?)))
            }
            Err(Refusal::Asks(question)) => {
                let first = self.admissions.front_mut()?;
                first.asked = Some(question.clone());
                self.effects.push(Effect::Ask(question));
                None
            }
            Err(Refusal::Of(error)) => {
                let waiting = self.admissions.pop_front()?;
                let answer = waiting.ticket.map(|ticket| Effect::Answer(ticket, Answer::Failed(error)));
                self.effects.extend(answer);
                Some(Next::Left)
            }
        }
    }

    /// Whether all pods that move may. Who made the plan may not have known which ones have lost a part of what they
    /// held.
    fn movable(&self, plan: &MovePlan) -> Result<(), RequestError> {
        let not_moved = |pod: &PodUid, why: &str| Err(RequestError::NotMoved(format!("pod {pod} {why}")));
        plan.moved.iter().try_for_each(|uid| match self.pods.get(uid) {
            None => not_moved(uid, "is not on the node"),
            Some(record) if record.quarantine.is_some() => not_moved(uid, "is quarantined"),
            Some(_) => Ok(()),
        })
    }

    fn plan_applied(&self, waiting: PendingPod, applied: Applied) -> Option<Plan> {
        let Applied { before, attempt, trace, after, created, counted, regrouped } = applied;
        let verdict = attempt.verdict.clone();
        let moved = attempt.moved.clone();
        let with_it = before.commit(attempt).ok()?;
        let after = self.running_again(after, &created);
        let mut records = BTreeMap::new();
        for (at, uid) in (self.arrivals..).zip(&created) {
            let record = match self.pods.get(uid) {
                Some(record) => Record { arrival: at, ..Record::clone(record) },
                None => Record {
                    admitted: self.admitted_at(waiting.began),
                    ..Record::new(waiting.pod.clone(), waiting.source.clone(), at)
                },
            };
            records.insert(uid, record);
        }
        for other in &regrouped {
            if let Some(record) = self.pods.get(&other.pod) {
                records.entry(&other.pod).or_insert_with(|| Record::clone(record));
            }
        }
        let records = records.into_values().map(|record| Arc::new(record.holding(&self.node, &after)));
        let mut outcome = Outcome::new(after.clone());
        outcome.records = records.collect();
        outcome.is_of_several = true;
        let made_room = created.iter().filter_map(|uid| self.pods.get(uid));
        let made_room = made_room.map(|record| PodMove::new(&self.node, &self.ledger, &after, record));
        let decided = Box::new(PodDecision {
            ticket: waiting.ticket,
            made_room: made_room.collect(),
            pod: waiting.pod,
            source: waiting.source,
            verdict,
            trace,
            counted,
            moved,
            before,
            after: with_it,
            worked: Duration::ZERO,
            took: Duration::ZERO,
        });
        let on_failure = waiting.ticket.map_or(OnFailure::Forget, OnFailure::Answer);
        outcome.decided = Some((decided, waiting.began));
        Some(self.plan_of(outcome, DecidingFiles::First, on_failure))
    }

    /// The ledger in which the containers of pods run that moved and are running.
    fn running_again(&self, after: Ledger, moved: &[PodUid]) -> Ledger {
        let records = moved.iter().filter_map(|uid| self.pods.get(uid));
        let running = records.flat_map(|record| {
            record.running.iter().map(|(id, running)| {
                let pod = record.pod.uid.clone();
                (ContainerKey { pod, container: running.container.clone() }, id.clone())
            })
        });
        running.fold(after, |after, (container, id)| after.create(&container, id))
    }
}

/// Why a plan is not carried out now.
enum Refusal {
    /// A plugin has to answer first.
    Asks(device_manager::Question),
    Of(RequestError),
}

impl From<ApplyError> for Refusal {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::NeedsPlugin(question) => Self::Asks(question),
            ApplyError::Stale(stale) => Self::Of(RequestError::StalePlan(stale)),
            other => Self::Of(RequestError::NotMoved(other.to_string())),
        }
    }
}
