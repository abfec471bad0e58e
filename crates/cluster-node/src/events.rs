//! Events on pods, which `kubectl describe pod` shows.

use std::fmt;

use k8s_openapi::api::core::v1::ObjectReference;
pub use kube::runtime::events::EventType;
use kube::runtime::events::{Event, Recorder, Reporter as Controller};

use crate::connection::Cluster;
use crate::error::ClusterError;
use crate::pace::EventPace;

/// The longest text of an event, in bytes; an API server refuses a longer one.
const LONGEST: usize = 1024;
/// Who reports, as `kubectl describe` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reporter {
    /// What topolet alone has to say.
    Topolet,
    /// What a kubelet says in the same words.
    Kubelet,
}

impl Reporter {
    const fn name(self) -> &'static str {
        match self {
            Self::Topolet => "topolet",
            Self::Kubelet => "kubelet",
        }
    }
}

/// Writes events on pods: equal ones within six minutes become one with a count, and floods are cut
/// ([`EventPace`]).
pub struct EventRecorder {
    cluster: Cluster,
    recorder: Recorder,
    pace: EventPace,
}

impl fmt::Debug for EventRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventRecorder").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

/// A pod by its names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodReference {
    /// Its namespace.
    pub namespace: String,
    /// Its name in it.
    pub name: String,
    /// Which pod of that name.
    pub uid: String,
}

impl Cluster {
    /// Events on pods of the node of that name.
    #[must_use]
    pub fn recorder(self, node: &str, reporter: Reporter) -> EventRecorder {
        let controller =
            Controller { controller: reporter.name().to_owned(), instance: Some(node.to_owned()) };
        let recorder = Recorder::new(self.client.clone(), controller);
        let pace = EventPace::new(self.clock.now());
        EventRecorder { cluster: self, recorder, pace }
    }
}

impl EventRecorder {
    /// Writes an event on a pod; whether it was written, and not one too many. A text of more than 1,024 bytes is cut.
    ///
    /// # Errors
    /// The API server cannot be reached, or the right to create or patch events is missing.
    pub fn record(
        &mut self,
        pod: &PodReference,
        kind: EventType,
        reason: &str,
        message: &str,
    ) -> Result<bool, ClusterError> {
        if !self.pace.lets_through(&pod.uid, self.cluster.clock.now()) {
            return Ok(false);
        }
        let event = Event {
            type_: kind,
            reason: reason.to_owned(),
            note: Some(cut(message)),
            action: "Admit".to_owned(),
            secondary: None,
        };
        let on = ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            namespace: Some(pod.namespace.clone()),
            name: Some(pod.name.clone()),
            uid: Some(pod.uid.clone()),
            ..ObjectReference::default()
        };
        self.cluster.wait(self.recorder.publish(&event, &on))?;
        Ok(true)
    }
}

/// At most [`LONGEST`] bytes of it.
fn cut(message: &str) -> String {
    const MORE: &str = "…";
    if message.len() <= LONGEST {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(LONGEST - MORE.len());
    format!("{}{MORE}", &message[..end])
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn long_texts_are_cut_between_letters() {
        assert_eq!(cut("short"), "short");
        let long = cut(&"ö".repeat(600));
        assert!(long.len() <= 1024 && long.ends_with("ö…"), "{}", long.len());
    }
}
