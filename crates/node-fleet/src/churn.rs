//! Pods that only their node knows: they come at a steady pace, and the oldest goes when there is no room.

use std::time::{Duration, Instant};

use pod_spec::{Pod, PodUid};

use crate::fleet_node::{FleetNode, Outcome};
use crate::kind::Kind;

/// When the next pods come.
pub(crate) struct Pace {
    began: Instant,
    a_second: f64,
    /// How many have come to each node.
    come: u64,
}

impl Pace {
    pub(crate) const fn new(a_second: f64, now: Instant) -> Self {
        Self { began: now, a_second, come: 0 }
    }

    /// How many pods come to each node `now`. What is behind by more than a second is not made up for.
    pub(crate) fn due(&mut self, now: Instant) -> u64 {
        let since = now.duration_since(self.began).as_secs_f64();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count that is never negative"
        )]
        let all = (since * self.a_second) as u64;
        let due = all.saturating_sub(self.come);
        self.come = all;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count that is never negative"
        )]
        let most = self.a_second.ceil() as u64;
        due.min(most.max(1))
    }

    /// When to look again.
    pub(crate) fn next(&self) -> Duration {
        Duration::from_secs_f64((1.0 / self.a_second).clamp(0.001, 1.0))
    }
}

impl FleetNode {
    /// One more pod comes: the kinds take turns.
    pub(crate) fn churn(&mut self, kinds: &[Pod], kind: &Kind) {
        let at = usize::try_from(self.churned % kinds.len().max(1) as u64).unwrap_or_default();
        let Some(pod) = kinds.get(at) else { return };
        let name = format!("{}-{}", pod.name, self.churned);
        let uid = PodUid::new(&format!("{}-{name}", self.name));
        let pod = Pod { uid: uid.clone(), name, ..pod.clone() };
        self.churned += 1;
        match self.decide(&pod, kind) {
            Outcome::Admitted(placement) => {
                for victim in &placement.preempted {
                    self.ledger = self.ledger.release(victim);
                    self.churning.retain(|own| own != victim);
                }
                self.churning.push_back(uid);
            }
            Outcome::Refused(_) => {
                if let Some(oldest) = self.churning.pop_front() {
                    self.ledger = self.ledger.release(&oldest);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_come_as_are_asked_for_and_no_backlog_is_made_up_for() {
        let began = Instant::now();
        let mut pace = Pace::new(5.0, began);
        let after = |milliseconds| began + Duration::from_millis(milliseconds);
        assert_eq!(pace.due(after(100)), 0);
        assert_eq!(pace.due(after(200)), 1);
        assert_eq!(pace.due(after(1000)), 4);
        assert_eq!(pace.due(after(60_000)), 5);
        assert_eq!(pace.due(after(60_200)), 1);
    }
}
