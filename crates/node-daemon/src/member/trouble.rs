//! What is wrong between the node and its API server: said once in the log, and in `/readyz` for as long as it lasts.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// What does not work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Work {
    /// The node is registered.
    Registration,
    /// Its status is sent.
    NodeStatus,
    /// Its Lease is renewed.
    Lease,
    /// Its pods are heard of.
    Pods,
    /// Their statuses are sent.
    PodStatuses,
    /// Their objects are deleted.
    PodDeletions,
    /// Events are written.
    Events,
}

impl Work {
    const fn failed(self) -> &'static str {
        match self {
            Self::Registration => "the node is not registered",
            Self::NodeStatus => "the node's status is not sent",
            Self::Lease => "the node's Lease is not renewed",
            Self::Pods => "pods are not heard of",
            Self::PodStatuses => "statuses of pods are not sent",
            Self::PodDeletions => "objects of deleted pods are not removed",
            Self::Events => "events are not written",
        }
    }
}

/// What does not work now.
#[derive(Default)]
pub(crate) struct Troubles(Mutex<BTreeMap<Work, Trouble>>);

/// Why something does not work.
struct Trouble {
    why: String,
    /// Whether anything has failed: what has just begun is no fault.
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Begun,
    Failed,
}

impl Troubles {
    /// It does not work. The log has a line, unless that is known.
    pub(crate) fn fails(&self, work: Work, why: &str) {
        let trouble = Trouble { why: why.to_owned(), state: State::Failed };
        let before = self.0.lock().insert(work, trouble);
        if before.as_ref().map(|before| gist(&before.why)) != Some(gist(why)) {
            tracing::warn!("{}: {why}", work.failed());
        }
    }

    /// It has not been done yet, and nothing has failed.
    pub(crate) fn is_open(&self, work: Work, why: &str) {
        self.0.lock().insert(work, Trouble { why: why.to_owned(), state: State::Begun });
    }

    /// It works.
    pub(crate) fn works(&self, work: Work) {
        if self.0.lock().remove(&work).is_some_and(|trouble| trouble.state == State::Failed) {
            tracing::info!("no longer: {}", work.failed());
        }
    }

    /// Why the node is not a member as it should be; `None`: it is.
    pub(crate) fn why_not_ready(&self) -> Option<String> {
        let troubles = self.0.lock();
        // What an API server says of one call it says of others too.
        let mut all: Vec<String> = Vec::new();
        for (work, Trouble { why, .. }) in troubles.iter() {
            match all.iter_mut().find(|told| told.ends_with(&format!(": {why}"))) {
                Some(told) => *told = format!("{}, {told}", work.failed()),
                None => all.push(format!("{}: {why}", work.failed())),
            }
        }
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// A sentence without the object that it is about: who lacks a right lacks it for all objects.
fn gist(why: &str) -> &str {
    match why.split_once(" is forbidden: ") {
        Some((_, right)) => right.split(" in the namespace ").next().unwrap_or(right),
        None => why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_that_is_missing_is_one_whatever_it_is_missing_for() {
        let text = |pod: &str, right: &str| {
            format!(
                "a right is missing: pods \"{pod}\" is forbidden: User \"n\" cannot {right} in the namespace \"{pod}\""
            )
        };
        let (patch, other) = (text("a", "patch"), text("b", "patch"));
        assert_eq!(gist(&patch), gist(&other));
        assert_ne!(gist(&patch), gist(&text("a", "delete")));
    }

    #[test]
    fn one_cause_is_said_once() {
        let troubles = Troubles::default();
        assert_eq!(troubles.why_not_ready(), None);
        troubles.fails(Work::Lease, "x cannot be reached");
        troubles.fails(Work::Pods, "x cannot be reached");
        troubles.fails(Work::Events, "a right is missing");
        assert_eq!(
            troubles.why_not_ready().as_deref(),
            Some(
                "pods are not heard of, the node's Lease is not renewed: x cannot be reached; events are not written: a \
                 right is missing"
            )
        );
        for work in [Work::Lease, Work::Pods, Work::Events] {
            troubles.works(work);
        }
        assert_eq!(troubles.why_not_ready(), None);
    }
}
