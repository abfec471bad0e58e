//! Time and randomness, given to everything that watches, publishes, waits or tries again.

use std::hash::{BuildHasher as _, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The end of a pause.
pub type Pause = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A clock, pauses by it, and randomness. Tests and simulations implement it.
pub trait Clock: Send + Sync {
    /// The moment.
    fn now(&self) -> Instant;

    /// The time since 1970 on the wall.
    fn since_1970(&self) -> Duration;

    /// A number, any as likely as any other.
    fn random(&self) -> u64;

    /// Ends after a time; inside the runtime of a [`Cluster`](crate::Cluster).
    fn pause(&self, length: Duration) -> Pause;

    /// Lets a time pass.
    fn sleep(&self, length: Duration);
}

/// The clock of the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[expect(clippy::disallowed_methods, reason = "all others get it from here")]
impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn since_1970(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    fn random(&self) -> u64 {
        // Its keys come from the system, and are others with each call.
        RandomState::new().hash_one(())
    }

    fn pause(&self, length: Duration) -> Pause {
        Box::pin(tokio::time::sleep(length))
    }

    fn sleep(&self, length: Duration) {
        thread::sleep(length);
    }
}

/// A clock that moves when it is waited for: for tests and simulations. Of random pauses it takes the longest.
#[derive(Clone, Debug)]
pub struct HandClock {
    start: Instant,
    /// In nanoseconds.
    passed: Arc<AtomicU64>,
}

impl Default for HandClock {
    fn default() -> Self {
        Self::new()
    }
}

impl HandClock {
    /// No time has passed.
    #[must_use]
    pub fn new() -> Self {
        Self { start: SystemClock.now(), passed: Arc::default() }
    }

    /// The time that has passed since it was made.
    #[must_use]
    pub fn passed(&self) -> Duration {
        Duration::from_nanos(self.passed.load(Ordering::Acquire))
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "the runtime's clock jumps where it is paused")]
impl Clock for HandClock {
    fn now(&self) -> Instant {
        self.start + self.passed()
    }

    /// Some hundred thousand hours, and what has passed.
    fn since_1970(&self) -> Duration {
        Duration::from_hours(500_000) + self.passed()
    }

    fn random(&self) -> u64 {
        u64::MAX
    }

    /// Ends when the runtime's clock has come so far, which jumps where it is paused and has nothing else to do.
    fn pause(&self, length: Duration) -> Pause {
        let (passed, until) = (self.passed.clone(), nanoseconds(self.passed() + length));
        Box::pin(async move {
            tokio::time::sleep(length).await;
            passed.fetch_max(until, Ordering::AcqRel);
        })
    }

    fn sleep(&self, length: Duration) {
        self.passed.fetch_add(nanoseconds(length), Ordering::AcqRel);
    }
}
