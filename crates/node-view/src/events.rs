//! Events of the node in the form of Kubernetes' events: the last ones are kept, and readers can wait for the next.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use pod_spec::Pod;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::watch;

use super::clock::Clock;

/// How many events are kept.
const EVENTS: usize = 1000;

/// Reasons of events beside the kubelet's.
pub mod reason {
    /// A pod is admitted.
    pub const ADMITTED: &str = "Admitted";
    /// A pod was moved to make room for another one, while it runs.
    pub const MOVED: &str = "Moved";
    /// A pod was moved, and its containers have to be restarted.
    pub const RESTART_NEEDED: &str = "RestartNeeded";
    /// A pod has ended and holds nothing any more.
    pub const ENDED: &str = "Ended";
    /// A pod runs, and shares CPUs though it requests whole ones.
    pub const NOT_PINNED: &str = "NotPinned";
    /// The devices of a pod's claim lie on other NUMA nodes than the CPUs or memory of a container.
    pub const CLAIM_NOT_ALIGNED: &str = "ClaimNotAligned";
    /// Something is wrong with the node.
    pub const PROBLEM: &str = "Problem";
    /// A problem of the node is solved.
    pub const SOLVED: &str = "Solved";
}

/// One event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeEvent {
    /// One more than that of the event before. The first number of a daemon is the time of its start in microseconds since
    /// 1970, so that a later daemon has higher numbers.
    pub number: u64,
    /// In UTC, by the clock on the wall.
    pub time: String,
    #[serde(rename = "type")]
    #[expect(missing_docs, reason = "a comment is a description in the schema, which names the type")]
    pub kind: Kind,
    /// One word: the kubelet's of a refusal, or one of [`reason`].
    pub reason: String,
    /// `None`: the node.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodName>,
    /// One line.
    pub message: String,
}

/// As in Kubernetes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(rename = "EventType")]
#[expect(missing_docs, reason = "Kubernetes' own words, and a comment is a description in the schema")]
pub enum Kind {
    Normal,
    Warning,
}

impl Kind {
    /// As Kubernetes writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// What a pod is known by.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "a comment is a description in the schema")]
pub struct PodName {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

impl PodName {
    /// `NAMESPACE/NAME`.
    pub fn full(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

impl From<&Pod> for PodName {
    fn from(pod: &Pod) -> Self {
        Self { namespace: pod.namespace.clone(), name: pod.name.clone(), uid: pod.uid.to_string() }
    }
}

/// The last events, with a channel for readers that wait.
pub struct Events {
    clock: Arc<dyn Clock>,
    /// No event has this number or a lower one.
    start: u64,
    kept: Mutex<VecDeque<Arc<NodeEvent>>>,
    /// The number of the newest event.
    newest: watch::Sender<u64>,
}

/// The events after a number.
#[derive(Debug)]
pub struct Unseen {
    /// How many are not kept any more.
    pub lost: u64,
    /// Oldest first.
    pub events: Vec<Arc<NodeEvent>>,
}

impl Events {
    /// No events yet. Numbers begin with the microseconds since 1970, above those of earlier daemons.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let start = u64::try_from(clock.since_1970().as_micros()).unwrap_or(u64::MAX);
        Self::after_number(start, clock)
    }

    fn after_number(start: u64, clock: Arc<dyn Clock>) -> Self {
        Self { clock, start, kept: Mutex::default(), newest: watch::Sender::new(start) }
    }

    /// Adds an event and wakes readers that wait. `pod: None`: it is about the node.
    pub fn add(&self, pod: Option<PodName>, kind: Kind, reason: &str, message: String) {
        let mut kept = self.kept.lock();
        let number = *self.newest.borrow() + 1;
        if kept.len() == EVENTS {
            kept.pop_front();
        }
        let time = self.clock.text();
        kept.push_back(Arc::new(NodeEvent { number, time, kind, reason: reason.to_owned(), pod, message }));
        self.newest.send_replace(number);
    }

    /// The events after this number. A number above the newest one comes from an earlier daemon, before the clock was set back:
    /// then all events that are kept are returned.
    pub fn after(&self, number: u64) -> Unseen {
        let kept = self.kept.lock();
        let number = if number > *self.newest.borrow() { self.start } else { number.max(self.start) };
        let first = kept.front().map_or(number + 1, |first| first.number);
        let events = kept.iter().filter(|event| event.number > number).cloned().collect();
        Unseen { lost: first.saturating_sub(number + 1), events }
    }

    /// The number of the newest event, as a channel that changes with every event.
    pub fn newest(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{EVENTS, Events, Kind, Unseen, reason};
    use crate::clock::SystemClock;

    #[test]
    fn a_reader_that_falls_behind_gets_the_number_of_lost_events() {
        let events = Events::after_number(10, Arc::new(SystemClock));
        let numbers = |unseen: &Unseen| unseen.events.iter().map(|event| event.number).collect::<Vec<_>>();
        for _ in 0..3 {
            events.add(None, Kind::Warning, reason::PROBLEM, String::new());
        }
        assert_eq!(numbers(&events.after(0)), [11, 12, 13]);
        assert_eq!(numbers(&events.after(12)), [13]);
        assert!(events.after(13).events.is_empty());
        assert_eq!(numbers(&events.after(900)), [11, 12, 13]);
        // The last of a daemon that ran before.
        assert_eq!((numbers(&events.after(5)), events.after(5).lost), ([11, 12, 13].to_vec(), 0));
        for _ in 0..EVENTS {
            events.add(None, Kind::Normal, reason::SOLVED, String::new());
        }
        let unseen = events.after(11);
        assert_eq!((unseen.lost, unseen.events.len()), (2, EVENTS));
        assert_eq!(*events.newest().borrow(), 13 + EVENTS as u64);
    }
}
