//! The interface to the program that runs scenarios for a page, with the progress and the result of a run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Runs scenarios.
pub trait Simulator: Send + Sync {
    /// The built-in ones by name, with their texts.
    fn scenarios(&self) -> &'static [(&'static str, &'static str)];

    /// Runs a scenario. It reports to `progress`, and ends early once that is cancelled.
    ///
    /// # Errors
    /// It is no scenario, names files, or is too large.
    fn run(&self, scenario: &[u8], progress: &Progress) -> anyhow::Result<Simulated>;
}

/// The result of a scenario.
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
    /// Sets the number of pods of all runs.
    pub fn expect(&self, all: u64) {
        self.all.store(all, Ordering::Relaxed);
    }

    /// Adds pods that have been decided on.
    pub fn add(&self, done: u64) {
        self.done.fetch_add(done, Ordering::Relaxed);
    }

    /// Whether the run has to end.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Asks the run to end.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Pods that have been decided on, and pods of all runs.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.all.load(Ordering::Relaxed))
    }
}
