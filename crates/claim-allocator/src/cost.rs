//! What a question costs kube-scheduler: the calls of its inner search, and the time that these take.

use core::time::Duration;

/// Calls of the inner search in a second, on a slow and a fast machine: measured on busy cores of one machine, with
/// answers of expressions remembered.
const SLOW: u128 = 20_000;
const FAST: u128 = 90_000;

/// More calls may exceed the limit of 10 s.
const MAY_EXCEED: u128 = 200_000;

/// More calls exceed it.
const WILL_EXCEED: u128 = 2_000_000;

/// What kube-scheduler does to find its answer on one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    steps: u128,
}

/// Whether the search ends before kube-scheduler stops it: `filterTimeout`, 10 s by default for each pod and node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Timeout {
    /// It ends in time.
    Within,
    /// It may exceed the limit of 10 s, which depends on the machine.
    May,
    /// It exceeds the limit of 10 s: the pod fails to be scheduled, on this and all other nodes.
    Will,
}

impl Cost {
    pub(crate) const fn of_steps(steps: u128) -> Self {
        Self { steps }
    }

    /// Calls of the inner search until the first solution or error, or until everything was tried.
    #[must_use]
    pub const fn steps(self) -> u128 {
        self.steps
    }

    /// How long that takes on a fast machine.
    #[must_use]
    pub fn shortest(self) -> Duration {
        time(self.steps, FAST)
    }

    /// How long that takes on a slow machine.
    #[must_use]
    pub fn longest(self) -> Duration {
        time(self.steps, SLOW)
    }

    /// Whether that is too long.
    #[must_use]
    pub const fn timeout(self) -> Timeout {
        if self.steps <= MAY_EXCEED {
            Timeout::Within
        } else if self.steps <= WILL_EXCEED {
            Timeout::May
        } else {
            Timeout::Will
        }
    }
}

/// To the microsecond; beyond what a duration holds, the longest there is.
fn time(steps: u128, rate: u128) -> Duration {
    let micros = steps.saturating_mul(1_000_000) / rate;
    u64::try_from(micros).map_or(Duration::MAX, Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_a_range_and_more_calls_are_never_less_likely_to_run_out_of_it() {
        for (steps, shortest, longest, timeout) in [
            (0, Duration::ZERO, Duration::ZERO, Timeout::Within),
            (90_000, Duration::from_secs(1), Duration::from_millis(4_500), Timeout::Within),
            (200_001, Duration::from_micros(2_222_233), Duration::from_micros(10_000_050), Timeout::May),
            (2_000_001, Duration::from_micros(22_222_233), Duration::from_micros(100_000_050), Timeout::Will),
            (u128::MAX, Duration::MAX, Duration::MAX, Timeout::Will),
        ] {
            let cost = Cost::of_steps(steps);
            assert_eq!(
                (cost.shortest(), cost.longest(), cost.timeout()),
                (shortest, longest, timeout),
                "{steps}"
            );
        }
    }
}
