//! A pod that is bound to the node: its object at the API server, its record on disk, and the request that is under way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster_node::{Backoff, Clock, PodReference};
use conditions::{Condition, State};
use kubelet_status::{
    Containers, Exit, History, Hold, PodObject, Refusal, Reported, RunningContainer, Simulated, Step,
    Surroundings, Verdict,
};
use node_agent::Answer;
use node_state::Record;
use node_view::OwnerReply;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use topology_admission::Ledger;

/// The longest pause until something about a pod is tried again.
const PAUSE: Duration = Duration::from_secs(30);

/// A pod that is bound to the node.
pub(super) struct BoundPod {
    /// `None`: the object is deleted.
    pub(super) object: Option<PodObject>,
    history: History,
    pub(super) asking: Asking,
    /// Its record on disk when the step was decided.
    record: Option<Arc<Record>>,
    /// Whether the event was sent that its containers have to stop.
    pub(super) stop_notice: StopNotice,
    /// What is to be done next.
    pub(super) step: Step,
    pub(super) attention: Attention,
    backoff: Backoff,
    /// When the next try is due.
    not_before: Option<Instant>,
    /// Whether the last try has worked.
    progress: Condition,
}

/// Whether the next step has to be decided again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Attention {
    Needed,
    NotNeeded,
}

/// Whether the event was sent that the containers of a pod have to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StopNotice {
    NotSent,
    Sent,
}

/// The request to the owner that is under way.
pub(super) enum Asking {
    Nothing,
    Admission(oneshot::Receiver<OwnerReply>),
    Release(oneshot::Receiver<OwnerReply>),
}

/// The owner's reply.
pub(super) enum Answered {
    /// No request is under way, or it has no reply yet.
    Nothing,
    /// The pod is refused; the second text says why and what would fit, and may be empty.
    Refused(Refusal, String),
    /// The pod is admitted or released.
    Done,
    /// The request failed and is tried again later.
    Failed(String),
    /// The owner has stopped.
    Stopped,
}

/// The node at the moment of a decision.
#[derive(Clone, Copy)]
pub(super) struct NodeNow<'a> {
    pub(super) around: Surroundings<'a>,
    pub(super) reported: Reported,
    pub(super) ledger: &'a Ledger,
}

impl BoundPod {
    pub(super) fn new(object: Option<PodObject>, clock: &dyn Clock) -> Self {
        Self {
            object,
            history: History::default(),
            asking: Asking::Nothing,
            record: None,
            stop_notice: StopNotice::NotSent,
            step: Step::Wait,
            attention: Attention::Needed,
            backoff: Backoff::up_to(PAUSE),
            not_before: None,
            progress: Condition::new(State::pending("it has just been bound"), clock.since_1970()),
        }
    }

    /// Takes a version of the object from the API server, unless it is older than the known one.
    pub(super) fn updated(&mut self, object: PodObject) {
        if self.object.as_ref().is_none_or(|known| !object.is_older_than(known)) {
            self.object = Some(object);
            self.attention = Attention::Needed;
        }
    }

    pub(super) fn removed(&mut self) {
        self.object = None;
        self.attention = Attention::Needed;
    }

    pub(super) fn exited(&mut self, container: &str, exit: Exit) {
        self.history.exited(container, exit);
        self.attention = Attention::Needed;
    }

    pub(super) fn preempted(&mut self) {
        self.history.decided(Verdict::Preempted);
        self.attention = Attention::Needed;
    }

    pub(super) fn reference(&self) -> Option<PodReference> {
        let object = self.object.as_ref()?;
        Some(PodReference {
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            uid: object.uid().to_owned(),
        })
    }

    /// Takes the owner's answer, if it has come.
    pub(super) fn take_answer(&mut self) -> Answered {
        let reply = match &mut self.asking {
            Asking::Nothing => return Answered::Nothing,
            Asking::Admission(answer) | Asking::Release(answer) => match answer.try_recv() {
                Err(TryRecvError::Empty) => return Answered::Nothing,
                Err(TryRecvError::Closed) => return Answered::Stopped,
                Ok(reply) => reply,
            },
        };
        let was_release = matches!(self.asking, Asking::Release(_));
        self.asking = Asking::Nothing;
        self.attention = Attention::Needed;
        match reply {
            OwnerReply::Decided(report) | OwnerReply::Moved(report, _) => match report.refusal() {
                None => {
                    self.history.decided(Verdict::Admitted);
                    Answered::Done
                }
                Some(refused) => {
                    let refusal =
                        Refusal { reason: refused.reason.to_string(), message: refused.message.clone() };
                    self.history.decided(Verdict::Refused(refusal.clone()));
                    Answered::Refused(refusal, refused.in_one_line())
                }
            },
            // A pod that is not there need not be released.
            OwnerReply::Answer(Answer::Failed(node_agent::RequestError::NoPod(_))) if was_release => {
                Answered::Done
            }
            OwnerReply::Answer(Answer::Failed(error)) => Answered::Failed(error.to_string()),
            // It waits for device plugins after a request of a user; it is asked about again after a pause.
            OwnerReply::Answer(Answer::Deferred(deferral)) => Answered::Failed(deferral.to_string()),
            OwnerReply::Answer(Answer::Done | Answer::Unchanged | Answer::Resized { .. }) => Answered::Done,
        }
    }

    /// Waits before the next try.
    pub(super) fn pause(&mut self, clock: &dyn Clock) {
        self.not_before = Some(clock.now() + self.backoff.pause(clock.random()));
        self.attention = Attention::Needed;
    }

    /// A try has failed, and is repeated later; returns whether this reason is new.
    pub(super) fn failed(&mut self, why: &str, clock: &dyn Clock) -> bool {
        self.pause(clock);
        self.progress.set(State::failed("TriedAgain", why), clock.since_1970()).is_some()
    }

    /// A try has succeeded.
    pub(super) fn succeeded(&mut self, clock: &dyn Clock) {
        self.backoff.reset();
        self.not_before = None;
        // The failure was logged; success needs no line.
        let _ = self.progress.set(State::Works, clock.since_1970());
    }

    pub(super) fn is_paused(&self, now: Instant) -> bool {
        self.not_before.is_some_and(|at| at > now)
    }

    pub(super) fn is_record(&self, record: Option<&Arc<Record>>) -> bool {
        match (&self.record, record) {
            (None, None) => true,
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            _ => false,
        }
    }

    /// Decides on the next step from the object and the record on disk.
    pub(super) fn decide_step(&mut self, record: Option<&Arc<Record>>, node: NodeNow<'_>) {
        self.record = record.cloned();
        self.attention = Attention::NotNeeded;
        let stage = self.object.as_ref().map(PodObject::stage);
        let hold = match (&self.asking, record) {
            (Asking::Admission(_), _) => Hold::Asked,
            (Asking::Release(_), _) => Hold::Releasing,
            (Asking::Nothing, Some(_)) => Hold::Holds,
            (Asking::Nothing, None) => Hold::Nothing,
        };
        let held =
            record.zip(self.object.as_ref()).map(|(record, object)| self.containers(record, node, object));
        let known = self.history.known(self.object.as_ref(), held, node.around);
        self.step = Step::next(stage, hold, known);
    }

    fn containers(&self, record: &Record, node: NodeNow<'_>, object: &PodObject) -> Containers {
        let running = record.running.iter().map(|(id, running)| {
            (running.container.as_str().to_owned(), RunningContainer { id: id.to_string() })
        });
        let running: BTreeMap<_, _> = running.collect();
        // A container that a runtime reports is not simulated.
        let simulated = if running.is_empty() {
            node.around.containers.of_admitted(object.stage())
        } else {
            Simulated::No
        };
        let given = node.reported.given(&record.pod, node.ledger);
        Containers { running, exits: self.history.exits().clone(), simulated, given }
    }

    /// The names of its running containers, by its record on disk.
    pub(super) fn running(&self) -> Vec<String> {
        let running = self.record.iter().flat_map(|record| record.running.values());
        running.map(|running| running.container.as_str().to_owned()).collect()
    }

    /// The patch of its status; `None`: the API server has the status already.
    pub(super) fn patch(&self) -> Option<Value> {
        self.history.patch(self.object.as_ref()?, self.step)
    }
}
