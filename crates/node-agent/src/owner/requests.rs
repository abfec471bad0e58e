//! Requests to admit and to delete pods.

use std::sync::Arc;

use node_state::Source;
use pod_spec::{Pod, PodUid};

use super::Owner;
use super::change::Change;
use super::pending::PendingPod;
use crate::effect::{Answer, Effect, EndReason, RequestError};
use crate::event::Ticket;
use crate::known::known;

impl Owner {
    pub(super) fn ask_to_admit(&mut self, ticket: Ticket, pod: Arc<Pod>, source: Source) {
        self.line_up(PendingPod::new(pod, source, Some(ticket)));
    }

    /// Puts a pod at the end of the line, or answers at once who asks for it.
    pub(super) fn line_up(&mut self, pending: PendingPod) {
        let running = self.pods.values().map(AsRef::as_ref);
        let waiting = self.undecided().map(AsRef::as_ref);
        let deferred = self.deferred_pods().map(AsRef::as_ref);
        match (known(running, waiting, deferred, &pending.pod), pending.ticket) {
            (None, _) => {
                // What was decided on it before does not hold any more.
                self.refused.remove(&pending.pod.uid);
                self.admissions.push_back(pending);
            }
            (Some(answer), Some(ticket)) => self.effects.push(Effect::Answer(ticket, answer)),
            (Some(_), None) => {}
        }
    }

    pub(super) fn ask_to_delete(&mut self, ticket: Ticket, uid: &PodUid) {
        let shown = |pod: &Pod| format!("{}/{}", pod.namespace, pod.name);
        let in_folder =
            |source: &Source, pod: &Pod| source.is_folder().then(|| RequestError::InFolder(shown(pod)));
        let refused = if let Some(record) = self.pods.get(uid) {
            let refused = in_folder(&record.source, &record.pod);
            if refused.is_none() {
                self.changes.push_back(Change::End {
                    uid: uid.clone(),
                    ticket: Some(ticket),
                    why: EndReason::Deleted,
                });
                return;
            }
            refused
        } else if let Some(at) = self.admissions.iter().position(|waiting| waiting.pod.uid == *uid) {
            let refused = in_folder(&self.admissions[at].source, &self.admissions[at].pod);
            if refused.is_none()
                && let Some(waiting) = self.admissions.remove(at)
                && let Some(asked) = waiting.ticket
            {
                let error = RequestError::DeletedMeanwhile(shown(&waiting.pod));
                self.effects.push(Effect::Answer(asked, Answer::Failed(error)));
            }
            refused
        } else if let Some(source) = self.deferred.source_of(uid) {
            let refused = self.deferred.pod(uid).and_then(|pod| in_folder(&source, pod));
            if refused.is_none()
                && let Some((Some(asked), pod)) = self.deferred.remove(uid)
            {
                let error = RequestError::DeletedMeanwhile(shown(&pod));
                self.effects.push(Effect::Answer(asked, Answer::Failed(error)));
            }
            refused
        } else if let Some(pod) = self.refused.get(uid) {
            let refused = in_folder(&pod.source, &pod.pod);
            if refused.is_none() {
                self.refused.remove(uid);
            }
            refused
        } else {
            Some(RequestError::NoPod(uid.clone()))
        };
        let answer = refused.map_or(Answer::Done, Answer::Failed);
        self.effects.push(Effect::Answer(ticket, answer));
    }
}
