//! How many questions are answered: a bucket of tokens, as the kubelet has it.

use std::time::Instant;

/// Tokens that come back each second.
const PER_SECOND: f64 = 100.0;
/// Tokens that there can be.
const BURST: f64 = 10.0;

/// A full bucket at first.
#[derive(Debug)]
pub(super) struct Bucket {
    tokens: f64,
    since: Instant,
}

impl Bucket {
    pub(super) const fn new(now: Instant) -> Self {
        Self { tokens: BURST, since: now }
    }

    /// Whether there is a token; then it is taken.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.since).as_secs_f64();
        self.since = self.since.max(now);
        self.tokens = passed.mul_add(PER_SECOND, self.tokens).min(BURST);
        let is_left = self.tokens >= 1.0;
        if is_left {
            self.tokens -= 1.0;
        }
        is_left
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn ten_at_once_and_then_a_hundred_a_second() {
        let start = Instant::now();
        let mut bucket = Bucket::new(start);
        let mut taken = |at: Duration, tries| (0..tries).filter(|_| bucket.take(start + at)).count();
        assert_eq!(taken(Duration::ZERO, 1000), 10);
        assert_eq!(taken(Duration::from_millis(9), 1000), 0);
        assert_eq!(taken(Duration::from_millis(35), 1000), 3);
        assert_eq!(taken(Duration::from_mins(1), 1000), 10, "no more than there is room for");
    }
}
