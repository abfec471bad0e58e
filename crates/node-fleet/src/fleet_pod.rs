//! A pod that is bound to a node of the fleet.

use std::sync::Arc;
use std::time::Instant;

use cluster_node::PodReference;
use kubelet_status::{Containers, History, Hold, PodObject, Reported, Step, Surroundings};
use pod_spec::Pod;
use topology_admission::Ledger;

use crate::runs::Runs;

/// A pod that is bound to a node of the fleet.
pub(crate) struct FleetPod {
    /// `None`: the API server has it no more.
    pub(crate) object: Option<PodObject>,
    /// What the ledger has of it.
    pub(crate) held: Option<Arc<Pod>>,
    pub(crate) history: History,
    /// Its containers; `None`: it is not admitted.
    runs: Option<Runs>,
    /// What is to be done, as of the last look.
    pub(crate) step: Step,
    pub(crate) sending: Sending,
}

/// Whether a pod is queued for a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sending {
    /// There is nothing to send.
    Idle,
    /// A sender will look at the pod.
    Queued,
}

impl FleetPod {
    pub(crate) fn new(object: PodObject) -> Self {
        Self {
            object: Some(object),
            held: None,
            history: History::default(),
            runs: None,
            step: Step::Wait,
            sending: Sending::Idle,
        }
    }

    /// The API server has it so, unless it had it so before what is known.
    pub(crate) fn is(&mut self, object: PodObject) {
        if self.object.as_ref().is_none_or(|known| !object.is_older_than(known)) {
            self.object = Some(object);
        }
    }

    /// Works out what is to be done. Gives when to look again, if a container starts or ends then.
    pub(crate) fn look(
        &mut self,
        ledger: &Ledger,
        reported: Reported,
        around: Surroundings<'_>,
        now: Instant,
    ) -> Option<Instant> {
        let mut due = None;
        let held = self.held.as_ref().zip(self.object.as_ref()).map(|(pod, object)| {
            let runs = self.runs.get_or_insert_with(|| Runs::start(object, &mut self.history, now));
            due = runs.advance(object, &mut self.history, now);
            Containers {
                running: runs.running(),
                exits: self.history.exits().clone(),
                given: reported.given(pod, ledger),
                ..Containers::default()
            }
        });
        let known = self.history.known(self.object.as_ref(), held, around);
        let hold = if self.held.is_some() { Hold::Holds } else { Hold::Nothing };
        self.step = Step::next(self.object.as_ref().map(PodObject::stage), hold, known);
        due
    }

    /// Whether a status or the deletion of the object has to be sent to the API server.
    pub(crate) fn has_news(&self) -> bool {
        let Some(object) = &self.object else { return false };
        self.step == Step::Finalise || self.history.patch(object, self.step).is_some()
    }

    pub(crate) fn reference(&self) -> Option<PodReference> {
        let object = self.object.as_ref()?;
        Some(PodReference {
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            uid: object.uid().to_owned(),
        })
    }
}
