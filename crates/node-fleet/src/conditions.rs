//! Which work for nodes fails. What fails for one node fails for many, so the conditions are those of the fleet.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use conditions::{Change, Conditions, State};
use parking_lot::Mutex;

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
            Self::PodStatuses => "statuses of pods are not sent",
            Self::Pods => "pods are not watched",
        }
    }
}

/// What works, and what has failed lately. The log has one line per transition.
#[derive(Debug, Default)]
pub(crate) struct FleetConditions(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    conditions: Conditions<Work>,
    /// When each failed last.
    failed: BTreeMap<Work, Instant>,
}

impl FleetConditions {
    /// It has failed. Whether the log has a line.
    pub(crate) fn fails(&self, work: Work, why: &str, now: Instant) -> bool {
        let mut table = self.0.lock();
        table.failed.insert(work, now);
        let state = State::failed("CallFailed", format!("{}: {why}", work.failed()));
        // What fails for one node fails for many, each with a message of that node.
        let is_new = table.conditions.set(work, (), state, since_1970()) == Change::Status;
        if is_new {
            tracing::warn!("{}: {why}", work.failed());
        }
        is_new
    }

    /// Work that has not failed for a while works.
    pub(crate) fn tidy(&self, now: Instant) {
        let Table { conditions, failed } = &mut *self.0.lock();
        failed.retain(|work, last| {
            let lasts = now.duration_since(*last) < QUIET;
            if !lasts && conditions.set(*work, (), State::Works, since_1970()).is_some() {
                tracing::info!("no longer: {}", work.failed());
            }
            lasts
        });
    }
}

/// By the clock on the wall.
fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_for_a_thousand_nodes_is_one_line() {
        let (conditions, began) = (FleetConditions::default(), Instant::now());
        let mut lines = 0;
        for second in 0..90 {
            let now = began + Duration::from_secs(second);
            for node in 0..1000 {
                lines += usize::from(conditions.fails(Work::Publication, &format!("node-{node}"), now));
            }
            conditions.tidy(now);
        }
        assert_eq!(lines, 1);
        assert!(
            conditions.fails(Work::Leases, "late", began + Duration::from_secs(89)),
            "that is another fault"
        );
        conditions.tidy(began + Duration::from_mins(2));
        assert!(
            conditions.fails(Work::Publication, "again", began + Duration::from_secs(121)),
            "it was over"
        );
    }
}
