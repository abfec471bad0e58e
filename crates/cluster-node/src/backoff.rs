//! The pause between two tries.

use std::time::Duration;

/// The pause after a failure, which doubles with each.
///
/// As of client-go's backoff, a pause is drawn from the upper half of what it has grown to, so that many nodes do not try
/// again at once. The randomness is given, and no clock is looked at.
///
/// ```
/// use std::time::Duration;
///
/// use cluster_node::Backoff;
///
/// let mut backoff = Backoff::up_to(Duration::from_secs(3));
/// let pauses = [u64::MAX, 0, u64::MAX, u64::MAX].map(|random| backoff.pause(random).as_millis());
/// assert_eq!(pauses, [500, 500, 2000, 3000]);
/// backoff.reset();
/// assert_eq!(backoff.pause(0), Duration::from_millis(250));
/// assert_eq!(Backoff::up_to(Duration::from_millis(100)).pause(u64::MAX), Duration::from_millis(100));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(500);

    /// Half a second at first, and no longer than this.
    #[must_use]
    pub const fn up_to(longest: Duration) -> Self {
        let mut backoff = Self { next: longest, longest };
        backoff.reset();
        backoff
    }

    /// How long to wait after one more failure. Any value of `random` is as likely as any other.
    pub fn pause(&mut self, random: u64) -> Duration {
        let half = self.next / 2;
        self.next = (self.next * 2).min(self.longest);
        let share = u32::try_from(random >> 32).unwrap_or(u32::MAX);
        half + half.mul_f64(f64::from(share) / f64::from(u32::MAX))
    }

    /// It has worked: the next pause is the first again.
    pub const fn reset(&mut self) {
        let is_short = self.longest.as_nanos() < Self::FIRST.as_nanos();
        self.next = if is_short { self.longest } else { Self::FIRST };
    }
}
