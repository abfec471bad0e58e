//! An Event about a pod, of `v1` or `events.k8s.io/v1`.

use crate::node::Field;

/// What an Event says of a pod.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodEvent {
    /// Namespace of the pod.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID; empty where the event does not name it.
    pub uid: String,
    /// One word.
    pub reason: String,
    /// The same for people.
    pub message: String,
    /// The node whose kubelet wrote it; empty where it is not named.
    pub host: String,
    /// When it was seen last, as it is written; empty where no time is.
    pub last_seen: String,
}

impl PodEvent {
    /// Of an object that is an Event; `None`: it is about no pod.
    pub(crate) fn read(event: &Field<'_>) -> Option<Self> {
        let text = |path: &[&str]| {
            let field = event.descend(path).ok().flatten();
            field.and_then(|field| field.written("a text").ok()).unwrap_or_default().to_owned()
        };
        let first = |paths: &[&[&str]]| {
            paths.iter().map(|path| text(path)).find(|text| !text.is_empty()).unwrap_or_default()
        };
        let of = ["involvedObject", "regarding"].into_iter().find(|of| text(&[of, "kind"]) == "Pod")?;
        Some(Self {
            namespace: text(&[of, "namespace"]),
            name: text(&[of, "name"]),
            uid: text(&[of, "uid"]),
            reason: text(&["reason"]),
            message: first(&[&["message"], &["note"]]),
            host: first(&[&["source", "host"], &["reportingInstance"], &["deprecatedSource", "host"]]),
            last_seen: first(&[
                &["lastTimestamp"],
                &["series", "lastObservedTime"],
                &["eventTime"],
                &["deprecatedLastTimestamp"],
                &["firstTimestamp"],
            ]),
        })
    }
}
