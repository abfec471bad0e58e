//! What has become of a pod on its node, from the decision on it to its end.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;

use serde_json::Value;

use crate::container::{Containers, Exit, Simulated};
use crate::draft::{Draft, Life, Refusal};
use crate::object::{PodObject, Stage};
use crate::step::{Known, Step};

/// What has become of a pod, and its status as drafted from that.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct History {
    verdict: Verdict,
    exits: BTreeMap<String, Exit>,
    draft: Option<Draft>,
}

/// What was decided on a pod.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Verdict {
    /// Nothing yet.
    #[default]
    Undecided,
    /// It never runs.
    Refused(Refusal),
    /// It was ended for a more important pod.
    Preempted,
    /// It runs, or did.
    Admitted,
}

/// What all pods of a node have in common.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Addresses of the node, the first before all.
    pub addresses: &'a [String],
    /// Who starts containers.
    pub containers: ContainerReports,
    /// RFC 3339, in whole seconds.
    pub time: &'a str,
}

/// Who starts the containers of pods, and says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ContainerReports {
    /// A runtime, which reports each start and end.
    #[default]
    Awaited,
    /// No runtime: containers of an admitted pod count as running, and end when it is deleted.
    Simulated,
}

impl ContainerReports {
    /// What it means for the containers of an admitted pod of which no runtime reports any.
    #[must_use]
    pub const fn of_admitted(self, stage: Stage) -> Simulated {
        match (self, stage) {
            (Self::Awaited, _) => Simulated::No,
            (Self::Simulated, Stage::Active) => Simulated::Running,
            (Self::Simulated, Stage::Deleted | Stage::Ended) => Simulated::Ended,
        }
    }
}

impl History {
    /// The pod has been decided on, or ended for another.
    pub fn decided(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    /// A container has ended.
    pub fn exited(&mut self, container: &str, exit: Exit) {
        self.exits.insert(container.to_owned(), exit);
    }

    /// Why the pod was refused; `None`: it was not.
    #[must_use]
    pub const fn refusal(&self) -> Option<&Refusal> {
        match &self.verdict {
            Verdict::Refused(refusal) => Some(refusal),
            Verdict::Undecided | Verdict::Preempted | Verdict::Admitted => None,
        }
    }

    /// How its containers ended that have ended last.
    #[must_use]
    pub const fn exits(&self) -> &BTreeMap<String, Exit> {
        &self.exits
    }

    /// What is known of the pod, with its draft brought up to date. `held` are its containers if the ledger has the pod.
    pub fn known(
        &mut self,
        object: Option<&PodObject>,
        held: Option<Containers>,
        around: Surroundings<'_>,
    ) -> Known {
        let Some(object) = object else { return Known::Undecided };
        if held.is_some() && self.verdict == Verdict::Undecided {
            self.verdict = Verdict::Admitted;
        }
        let was_over = self.draft.as_ref().is_some_and(Draft::is_terminal);
        match (&self.verdict, held) {
            (Verdict::Refused(refusal), _) => {
                self.draft(object, &Life::Refused(refusal.clone()), around);
                Known::Ended
            }
            (Verdict::Preempted, _) => {
                self.draft(object, &Life::Preempted, around);
                Known::Ended
            }
            (Verdict::Admitted, Some(containers)) => {
                let runs = !containers.running.is_empty();
                self.draft(object, &Life::Admitted(containers), around);
                match () {
                    () if self.draft.as_ref().is_some_and(Draft::is_terminal) => Known::Over,
                    () if runs => Known::Runs,
                    () => Known::Rests,
                }
            }
            (Verdict::Admitted, None) if was_over || object.stage() != Stage::Active => {
                self.is_over(object, around)
            }
            // It is never admitted: its containers have ended already, or have never run.
            (Verdict::Undecided, None) if object.stage() == Stage::Deleted => self.is_over(object, around),
            // Its containers ran, and their end was not reported.
            (Verdict::Undecided, None)
                if object.stage() == Stage::Active && object.has_run() && object.never_restarts() =>
            {
                self.draft(object, &Life::Over(Containers::default()), around);
                Known::Over
            }
            (Verdict::Undecided | Verdict::Admitted, _) => {
                self.verdict = Verdict::Undecided;
                Known::Undecided
            }
        }
    }

    /// The patch of its status for the API server when `step` is next; `None`: nothing is to be written.
    #[must_use]
    pub fn patch(&self, object: &PodObject, step: Step) -> Option<Value> {
        let is_told = match step {
            // An object goes only once it says that its pod has ended: others may wait for that.
            Step::Report | Step::Stop | Step::Finalise => true,
            Step::Admit | Step::Release | Step::Forget | Step::Wait => false,
        };
        self.draft.as_ref().filter(|_| is_told)?.patch(object)
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
}
