//! Time and randomness, given to everything that watches, publishes, waits or tries again.

use std::hash::{BuildHasher as _, RandomState};
use std::pin::Pin;
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
