//! Scenarios that are run for a page: what runs them, how far a run is, and what came of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Who runs scenarios.
pub trait Simulator: Send + Sync {
    /// The built-in ones by name, with their texts.
    fn scenarios(&self) -> &'static [(&'static str, &'static str)];

    /// Runs a scenario. `progress` learns how far it is, and says whether to go on.
    ///
    /// # Errors
    /// It is no scenario, names files, or is too large.
    fn run(&self, scenario: &[u8], progress: &Progress) -> anyhow::Result<Simulated>;
}

/// What came of a scenario.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// As the command line prints it.
    pub text: String,
    /// The charts, as an SVG picture.
    pub charts: String,
}

/// How far a run is. It is cancelled from another thread.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    all: AtomicU64,
    is_cancelled: AtomicBool,
}

impl Progress {
    /// So many pods have to be decided on.
    pub fn expect(&self, all: u64) {
        self.all.store(all, Ordering::Relaxed);
    }

    /// So many more have been.
    pub fn add(&self, done: u64) {
        self.done.fetch_add(done, Ordering::Relaxed);
    }

    /// Whether nobody wants the outcome any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Nobody does from now on.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// How many pods of how many.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.all.load(Ordering::Relaxed))
    }
}
