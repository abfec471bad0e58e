//! The pause between two tries.

use std::time::Duration;

/// The pause after a failure, which doubles with each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(500);

    pub(super) const fn up_to(longest: Duration) -> Self {
        Self { next: Self::FIRST, longest }
    }

    pub(super) fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        pause
    }

    pub(super) const fn reset(&mut self) {
        self.next = Self::FIRST;
    }
}
