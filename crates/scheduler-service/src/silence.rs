//! Whether kube-scheduler asks at all. Where it cannot, such as for a wrong certificate, it schedules without the extender
//! (`ignorable: true`) or not at all, and says so in its own log alone.

use std::time::{Duration, Instant};

/// Without a question for so long something may be wrong.
const LONG: Duration = Duration::from_mins(5);

/// Evidence that kube-scheduler does not ask.
#[derive(Debug)]
pub(crate) struct Silence {
    /// The last question, or the start.
    asked: Instant,
    /// Pods that were bound since without a question.
    bound: u64,
    /// Those of all times.
    all_bound: u64,
}

impl Silence {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { asked: now, bound: 0, all_bound: 0 }
    }

    /// A question has come.
    pub(crate) const fn asked(&mut self, now: Instant) {
        (self.asked, self.bound) = (now, 0);
    }

    /// A pod was bound without a question about it.
    pub(crate) const fn bound_unasked(&mut self) {
        self.bound += 1;
        self.all_bound += 1;
    }

    pub(crate) const fn all_bound_unasked(&self) -> u64 {
        self.all_bound
    }

    /// What is wrong. Pods have been waiting for a scheduler since these times.
    pub(crate) fn why(&self, waiting: impl Iterator<Item = Instant>, now: Instant) -> Option<String> {
        let since = |at| now.saturating_duration_since(at);
        let silent = since(self.asked);
        let waiting = waiting.filter(|at| since(*at) >= LONG).count();
        if silent < LONG || (waiting == 0 && self.bound == 0) {
            return None;
        }
        let minutes = silent.as_secs() / 60;
        let bound = self.bound;
        Some(format!(
            "kube-scheduler has not asked for {minutes} min; {waiting} pods wait for a node, and {bound} were bound without a \
             question: compare urlPrefix and tlsConfig of its extender with the address and certificates here"
        ))
    }
}

#[cfg(test)]
mod tests {
    use cluster_node::{Clock as _, SystemClock};

    use super::*;

    #[test]
    fn silence_is_wrong_while_pods_wait_or_are_bound() {
        let start = SystemClock.now();
        let after = |minutes| start + Duration::from_mins(minutes);
        let mut silence = Silence::new(start);
        let why = |silence: &Silence, waiting: &[u64], now| {
            silence.why(waiting.iter().map(|minutes| after(*minutes)), after(now)).unwrap_or_default()
        };
        assert_eq!(why(&silence, &[], 60), "", "there is nothing to ask about");
        assert_eq!(why(&silence, &[0], 4), "", "it may be busy");
        assert_eq!(why(&silence, &[58], 60), "", "it has come only now");
        assert!(
            why(&silence, &[1, 2, 58], 60).contains("for 60 min; 2 pods wait for a node, and 0 were bound")
        );
        silence.bound_unasked();
        assert!(why(&silence, &[], 5).contains("for 5 min; 0 pods wait for a node, and 1 were bound"));
        silence.asked(after(6));
        assert_eq!(why(&silence, &[1], 10), "");
        assert_eq!(silence.all_bound_unasked(), 1);
    }
}
