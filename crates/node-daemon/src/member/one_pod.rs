//! A pod that is bound to the node: what the API server has of it, what the node has, and what is under way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster_node::PodReference;
use kubelet_status::{
    Containers, Draft, Exit, Hold, Known, Life, PodObject, Refusal, RunningContainer, Simulated, Stage, Step,
};
use node_agent::Answer;
use node_state::Record;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use topology_admission::Ledger;

use super::Backoff;
use super::given::Reported;
use crate::api_server::ContainerReports;
use crate::owner::Told;

/// The longest pause until something about a pod is tried again.
const PAUSE: Duration = Duration::from_secs(30);

/// A pod that is bound to the node.
pub(super) struct OnePod {
    /// `None`: the API server has it no more.
    pub(super) object: Option<PodObject>,
    verdict: Verdict,
    pub(super) asking: Asking,
    /// What is on disk of it, as of the last look.
    record: Option<Arc<Record>>,
    exits: BTreeMap<String, Exit>,
    draft: Option<Draft>,
    /// Whether its containers have been told to end.
    pub(super) told_to_stop: Stopping,
    /// What is to be done, as of the last look.
    pub(super) step: Step,
    pub(super) attention: Attention,
    backoff: Backoff,
    /// Nothing is tried before.
    not_before: Option<Instant>,
    /// What the log says of it.
    pub(super) said: Option<String>,
}

/// Whether a pod has to be looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Attention {
    Needed,
    NotNeeded,
}

/// Whether the containers of a pod have been told to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stopping {
    NotTold,
    Told,
}

/// What was decided on a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Verdict {
    Undecided,
    Refused(Refusal),
    Preempted,
    Admitted,
}

/// What the owner was asked.
pub(super) enum Asking {
    Nothing,
    Admission(oneshot::Receiver<Told>),
    Release(oneshot::Receiver<Told>),
}

/// What the owner has answered.
pub(super) enum Answered {
    /// Nothing, or not yet.
    Nothing,
    /// The pod is refused; the second text says why and what would fit, and may be empty.
    Refused(Refusal, String),
    /// Something else, as it should.
    Done,
    /// It cannot be done now.
    Failed(String),
    /// The owner has stopped.
    Stopped,
}

/// What all pods of the node have in common.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) addresses: &'a [String],
    pub(super) containers: ContainerReports,
    pub(super) reported: Reported,
    pub(super) ledger: &'a Ledger,
    /// RFC 3339, in whole seconds.
    pub(super) time: &'a str,
}

impl OnePod {
    pub(super) const fn new(object: Option<PodObject>) -> Self {
        Self {
            object,
            verdict: Verdict::Undecided,
            asking: Asking::Nothing,
            record: None,
            exits: BTreeMap::new(),
            draft: None,
            told_to_stop: Stopping::NotTold,
            step: Step::Wait,
            attention: Attention::Needed,
            backoff: Backoff::up_to(PAUSE),
            not_before: None,
            said: None,
        }
    }

    /// The API server has it so, unless it had it so before what is known.
    pub(super) fn is(&mut self, object: PodObject) {
        if self.object.as_ref().is_none_or(|known| !object.is_older_than(known)) {
            self.object = Some(object);
            self.attention = Attention::Needed;
        }
    }

    pub(super) fn is_gone(&mut self) {
        self.object = None;
        self.attention = Attention::Needed;
    }

    pub(super) fn exited(&mut self, container: &str, exit: Exit) {
        self.exits.insert(container.to_owned(), exit);
        self.attention = Attention::Needed;
    }

    pub(super) fn is_preempted(&mut self) {
        self.verdict = Verdict::Preempted;
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
        let told = match &mut self.asking {
            Asking::Nothing => return Answered::Nothing,
            Asking::Admission(answer) | Asking::Release(answer) => match answer.try_recv() {
                Err(TryRecvError::Empty) => return Answered::Nothing,
                Err(TryRecvError::Closed) => return Answered::Stopped,
                Ok(told) => told,
            },
        };
        let was_release = matches!(self.asking, Asking::Release(_));
        self.asking = Asking::Nothing;
        self.attention = Attention::Needed;
        match told {
            Told::Decided(report) => match report.refusal() {
                None => {
                    self.verdict = Verdict::Admitted;
                    Answered::Done
                }
                Some(refused) => {
                    let refusal =
                        Refusal { reason: refused.reason.to_string(), message: refused.message.clone() };
                    self.verdict = Verdict::Refused(refusal.clone());
                    Answered::Refused(refusal, refused.in_one_line())
                }
            },
            // A pod that is not there need not be released.
            Told::Answer(Answer::Failed(node_agent::RequestError::NoPod(_))) if was_release => Answered::Done,
            Told::Answer(Answer::Failed(error)) => Answered::Failed(error.to_string()),
            Told::Answer(Answer::Done | Answer::Unchanged) => Answered::Done,
        }
    }

    /// Something about it is tried again later.
    pub(super) fn pause(&mut self, now: Instant) {
        self.not_before = Some(now + self.backoff.pause());
        self.attention = Attention::Needed;
    }

    /// What was tried has worked.
    pub(super) fn goes_on(&mut self) {
        self.backoff.reset();
        self.not_before = None;
        self.said = None;
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

    /// Looks at it with what is on disk now, and works out what is to be done.
    pub(super) fn look(&mut self, record: Option<&Arc<Record>>, around: Surroundings<'_>) {
        self.record = record.cloned();
        self.attention = Attention::NotNeeded;
        let stage = self.object.as_ref().map(PodObject::stage);
        let hold = match (&self.asking, record) {
            (Asking::Admission(_), _) => Hold::Asked,
            (Asking::Release(_), _) => Hold::Releasing,
            (Asking::Nothing, Some(_)) => Hold::Holds,
            (Asking::Nothing, None) => Hold::Nothing,
        };
        let known = self.known(record, around);
        self.step = Step::next(stage, hold, known);
    }

    /// What is known of it, with its draft brought up to date.
    fn known(&mut self, record: Option<&Arc<Record>>, around: Surroundings<'_>) -> Known {
        let Some(object) = self.object.clone() else { return Known::Undecided };
        if record.is_some() && self.verdict == Verdict::Undecided {
            self.verdict = Verdict::Admitted;
        }
        let was_over = self.draft.as_ref().is_some_and(Draft::is_terminal);
        match (&self.verdict, record) {
            (Verdict::Refused(refusal), _) => {
                self.draft(&object, &Life::Refused(refusal.clone()), around);
                Known::Ended
            }
            (Verdict::Preempted, _) => {
                self.draft(&object, &Life::Preempted, around);
                Known::Ended
            }
            (Verdict::Admitted, Some(record)) => {
                let containers = self.containers(record, around, &object);
                let runs = !containers.running.is_empty();
                self.draft(&object, &Life::Admitted(containers), around);
                match () {
                    () if self.draft.as_ref().is_some_and(Draft::is_terminal) => Known::Over,
                    () if runs => Known::Runs,
                    () => Known::Rests,
                }
            }
            (Verdict::Admitted, None) if was_over || object.stage() != Stage::Active => {
                self.is_over(&object, around)
            }
            // It is never admitted: its containers have ended already, or have never run.
            (Verdict::Undecided, None) if object.stage() == Stage::Deleted => self.is_over(&object, around),
            // Its containers ran, and nobody knows what has become of them.
            (Verdict::Undecided, None)
                if object.stage() == Stage::Active && object.has_run() && object.never_restarts() =>
            {
                self.draft(&object, &Life::Over(Containers::default()), around);
                Known::Over
            }
            (Verdict::Undecided | Verdict::Admitted, _) => {
                self.verdict = Verdict::Undecided;
                Known::Undecided
            }
        }
    }

    /// Nothing of it runs any more.
    fn is_over(&mut self, object: &PodObject, around: Surroundings<'_>) -> Known {
        let has_run = self.verdict == Verdict::Admitted || object.has_run();
        let simulated = match around.containers {
            ContainerReports::Simulated if has_run => Simulated::Ended,
            ContainerReports::Simulated | ContainerReports::Awaited => Simulated::No,
        };
        let containers = Containers { exits: self.exits.clone(), simulated, ..Containers::default() };
        self.draft(object, &Life::Over(containers), around);
        Known::Over
    }

    fn draft(&mut self, object: &PodObject, life: &Life, around: Surroundings<'_>) {
        let before = self.draft.take().unwrap_or_else(|| Draft::of(object));
        self.draft = Some(before.next(object, life, around.addresses, around.time));
    }

    fn containers(&self, record: &Record, around: Surroundings<'_>, object: &PodObject) -> Containers {
        let running = record.running.iter().map(|(id, running)| {
            (running.container.as_str().to_owned(), RunningContainer { id: id.to_string() })
        });
        let running: BTreeMap<_, _> = running.collect();
        let simulated = match around.containers {
            // One that a runtime reports all the same is no simulated one.
            ContainerReports::Simulated if running.is_empty() => match object.stage() {
                Stage::Active => Simulated::Running,
                Stage::Deleted | Stage::Ended => Simulated::Ended,
            },
            ContainerReports::Simulated | ContainerReports::Awaited => Simulated::No,
        };
        let given = around.reported.given(record, around.ledger);
        Containers { running, exits: self.exits.clone(), simulated, given }
    }

    /// The names of its containers that run, by what is on disk.
    pub(super) fn running(&self) -> Vec<String> {
        let running = self.record.iter().flat_map(|record| record.running.values());
        running.map(|running| running.container.as_str().to_owned()).collect()
    }

    /// What the API server has to be told of its status; `None`: nothing.
    pub(super) fn patch(&self) -> Option<Value> {
        let is_told = match self.step {
            // An object goes only once it says that its pod has ended: others may wait for that.
            Step::Report | Step::Stop | Step::Finalise => true,
            Step::Admit | Step::Release | Step::Forget | Step::Wait => false,
        };
        self.draft.as_ref().filter(|_| is_told)?.patch(self.object.as_ref()?)
    }
}
