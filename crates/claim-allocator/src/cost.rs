//! What a question costs kube-scheduler: the calls of its inner search, and the time that these take.

use core::time::Duration;

/// What a call of the inner search takes at least, and for each device of the node, which it may look at; in nanoseconds. The
/// measured times on idle cores lie above this line (`docs/claims.md`), with answers of expressions remembered.
const FAST: u128 = 700;
const FAST_PER_DEVICE: u128 = 50;

/// What a call takes at most: measured on busy cores, in nanoseconds.
const SLOW: u128 = 50_000;

/// kube-scheduler's limit for one pod and node, in nanoseconds.
const LIMIT: u128 = 10_000_000_000;

/// What kube-scheduler does to find its answer on one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    steps: u128,
    devices: usize,
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
    /// Of so many calls on a node with so many devices.
    pub(crate) const fn new(steps: u128, devices: usize) -> Self {
        Self { steps, devices }
    }

    /// Calls of the inner search until the first solution or error, or until everything was tried.
    #[must_use]
    pub const fn steps(self) -> u128 {
        self.steps
    }

    /// How long that takes on a fast machine.
    #[must_use]
    pub fn shortest(self) -> Duration {
        duration(self.fast())
    }

    /// How long that takes on a slow machine.
    #[must_use]
    pub fn longest(self) -> Duration {
        duration(self.slow())
    }

    /// Whether that is too long.
    #[must_use]
    pub const fn timeout(self) -> Timeout {
        if self.slow() <= LIMIT {
            Timeout::Within
        } else if self.fast() <= LIMIT {
            Timeout::May
        } else {
            Timeout::Will
        }
    }

    const fn fast(self) -> u128 {
        #[expect(clippy::as_conversions, reason = "const, and never cut off")]
        let devices = self.devices as u128;
        self.steps.saturating_mul(FAST + FAST_PER_DEVICE * devices)
    }

    const fn slow(self) -> u128 {
        self.steps.saturating_mul(SLOW)
    }
}

/// To the microsecond; beyond what a duration holds, the longest there is.
fn duration(nanoseconds: u128) -> Duration {
    u64::try_from(nanoseconds / 1000).map_or(Duration::MAX, Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_a_range_and_more_calls_are_never_less_likely_to_run_out_of_it() {
        for (steps, devices, shortest, longest, timeout) in [
            (0, 100, Duration::ZERO, Duration::ZERO, Timeout::Within),
            (80_000, 100, Duration::from_millis(456), Duration::from_secs(4), Timeout::Within),
            (200_001, 100, Duration::from_micros(1_140_005), Duration::from_micros(10_000_050), Timeout::May),
            (
                2_000_001,
                100,
                Duration::from_micros(11_400_005),
                Duration::from_micros(100_000_050),
                Timeout::Will,
            ),
            (
                2_000_001,
                16,
                Duration::from_micros(3_000_001),
                Duration::from_micros(100_000_050),
                Timeout::May,
            ),
            (u128::MAX, 1, Duration::MAX, Duration::MAX, Timeout::Will),
        ] {
            let cost = Cost::new(steps, devices);
            assert_eq!(
                (cost.shortest(), cost.longest(), cost.timeout()),
                (shortest, longest, timeout),
                "{steps} calls, {devices} devices"
            );
        }
    }
}
