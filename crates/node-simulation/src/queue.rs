//! Pods that wait for another try.
//!
//! As in kube-scheduler a pod that was tried waits for a second, and twice as long after each further try, up to ten
//! seconds. A pod that a node refused comes again after that: its owner has made it anew. A pod that no node had room
//! for comes again when something has left a node, or after five minutes; not before its time either.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use topology_admission::Refused;

/// Whether pods that did not run are tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Retry {
    /// Each pod is tried once.
    #[default]
    Never,
    /// After 1 s, doubling to 10 s, and after departures: until they run, or nothing changes any more.
    BackOff,
}

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(10);
/// kube-scheduler tries every pod again after this time, whether anything has changed or not.
const FLUSHED: Duration = Duration::from_mins(5);

/// How long a pod waits after so many tries.
pub(crate) fn back_off(tries: u32) -> Duration {
    let doublings = tries.saturating_sub(1).min(10);
    FIRST.saturating_mul(1 << doublings).min(LONGEST)
}

/// Why a pod did not run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum WhyNot {
    /// A node refused it.
    Refused(Refused),
    /// It was sent to no node, for this reason.
    SentNowhere(&'static str),
}

/// A pod that waits.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Waiting {
    /// How often it was tried.
    pub(crate) tries: u32,
    /// What was the state of the machines at the last try, counted in changes.
    pub(crate) tried_at: u64,
    /// Why it did not run then.
    pub(crate) why: WhyNot,
}

/// All that wait, by number of their arrival.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: BTreeMap<usize, Waiting>,
    due: BTreeSet<(Duration, usize)>,
    /// Those that no node has room for, with the end of their back-off and the time of their flush.
    parked: BTreeMap<usize, (Duration, Duration)>,
}

impl Queue {
    /// A node refused the pod.
    pub(crate) fn back_off(&mut self, pod: usize, waiting: Waiting, now: Duration) {
        self.due.insert((now.saturating_add(back_off(waiting.tries)), pod));
        self.waiting.insert(pod, waiting);
    }

    /// No node has room for it.
    pub(crate) fn park(&mut self, pod: usize, waiting: Waiting, now: Duration) {
        let flushed = now.saturating_add(FLUSHED);
        self.parked.insert(pod, (now.saturating_add(back_off(waiting.tries)), flushed));
        self.due.insert((flushed, pod));
        self.waiting.insert(pod, waiting);
    }

    /// Something has left a node.
    pub(crate) fn departed(&mut self, now: Duration) {
        for (pod, (ready, flushed)) in core::mem::take(&mut self.parked) {
            self.due.remove(&(flushed, pod));
            self.due.insert((ready.max(now), pod));
        }
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// When the next pod is tried.
    pub(crate) fn next(&self) -> Option<Duration> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The pod that is tried next.
    pub(crate) fn pop(&mut self) -> Option<(Duration, usize, Waiting)> {
        let (at, pod) = self.due.pop_first()?;
        self.parked.remove(&pod);
        Some((at, pod, self.waiting.remove(&pod)?))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn seconds(at: u64) -> Duration {
        Duration::from_secs(at)
    }

    #[test]
    fn a_pod_waits_twice_as_long_after_each_try_up_to_ten_seconds() {
        let waits: Vec<u64> = (1..8).map(|tries| back_off(tries).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 10, 10, 10]);
        assert_eq!(back_off(u32::MAX), LONGEST);
    }

    #[test]
    fn a_parked_pod_comes_with_a_departure_and_not_before_its_time() {
        let mut queue = Queue::default();
        let waiting = |tries| Waiting { tries, tried_at: 0, why: WhyNot::SentNowhere("NoRoom") };
        queue.park(1, waiting(4), seconds(100));
        queue.back_off(2, waiting(1), seconds(100));
        assert_eq!(queue.pop(), Some((seconds(101), 2, waiting(1))));
        assert_eq!(queue.next(), Some(seconds(400)), "five minutes");
        queue.departed(seconds(105));
        assert_eq!(queue.pop(), Some((seconds(108), 1, waiting(4))));
        queue.park(1, waiting(5), seconds(108));
        queue.departed(seconds(200));
        assert_eq!(queue.pop(), Some((seconds(200), 1, waiting(5))));
        assert_eq!(queue.pop(), None);
    }
}
