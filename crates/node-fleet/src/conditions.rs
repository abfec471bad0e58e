//! What does not work. What fails for one node fails for many: the log says it once a minute, and once when it is over.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Between two lines about the same work.
const SAID_AGAIN: Duration = Duration::from_mins(1);
/// Work that has not failed for this time works again. Each is tried more often.
const QUIET: Duration = Duration::from_secs(30);

/// What is done for nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Work {
    /// Their objects are made, or found.
    Registration,
    /// Their Leases are renewed.
    Leases,
    /// Their statuses are sent.
    NodeStatuses,
    /// What schedulers read of them is written.
    Publication,
    /// Statuses of their pods are sent, and objects removed.
    PodStatuses,
    /// Their pods are heard of.
    Pods,
}

impl Work {
    const fn failed(self) -> &'static str {
        match self {
            Self::Registration => "nodes are not registered",
            Self::Leases => "Leases of nodes are not renewed",
            Self::NodeStatuses => "statuses of nodes are not sent",
            Self::Publication => "what schedulers read is not written",
            Self::PodStatuses => "the API server is not told of pods",
            Self::Pods => "pods are not heard of",
        }
    }
}

/// What has failed lately.
#[derive(Debug, Default)]
pub(crate) struct Troubles(Mutex<BTreeMap<Work, Trouble>>);

#[derive(Clone, Copy, Debug)]
struct Trouble {
    said: Instant,
    last: Instant,
}

impl Troubles {
    /// It has failed. Whether the log has a line.
    pub(crate) fn fails(&self, work: Work, why: &str, now: Instant) -> bool {
        let mut troubles = self.0.lock();
        let known = troubles.get(&work).copied();
        let is_said = known.is_none_or(|known| now.duration_since(known.said) >= SAID_AGAIN);
        let said = known.filter(|_| !is_said).map_or(now, |known| known.said);
        troubles.insert(work, Trouble { said, last: now });
        if is_said {
            tracing::warn!("{}: {why}", work.failed());
        }
        is_said
    }

    /// Says what is over.
    pub(crate) fn tidy(&self, now: Instant) {
        self.0.lock().retain(|work, trouble| {
            let lasts = now.duration_since(trouble.last) < QUIET;
            if !lasts {
                tracing::info!("no longer: {}", work.failed());
            }
            lasts
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_for_a_thousand_nodes_is_said_once_a_minute() {
        let (troubles, began) = (Troubles::default(), Instant::now());
        let mut said = 0;
        for second in 0..90 {
            let now = began + Duration::from_secs(second);
            for node in 0..1000 {
                said += usize::from(troubles.fails(Work::Publication, &format!("node-{node}"), now));
            }
            troubles.tidy(now);
        }
        assert_eq!(said, 2);
        assert!(
            troubles.fails(Work::Leases, "late", began + Duration::from_secs(89)),
            "that is another fault"
        );
        troubles.tidy(began + Duration::from_mins(2));
        assert!(troubles.fails(Work::Publication, "again", began + Duration::from_secs(121)), "it was over");
    }
}
