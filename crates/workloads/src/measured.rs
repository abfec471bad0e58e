//! How long work takes.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::prepared::Prepared;

/// How long something is repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// Long enough to see that it works.
    Glance,
    /// A fifth of a second.
    Quick,
    /// A second.
    Thorough,
}

impl Effort {
    /// How long that is.
    #[must_use]
    pub const fn duration(self) -> Duration {
        match self {
            Self::Glance => Duration::from_millis(1),
            Self::Quick => Duration::from_millis(200),
            Self::Thorough => Duration::from_secs(1),
        }
    }
}

/// What came out.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Measured {
    /// The median of short runs, each of many repetitions, in nanoseconds for one.
    #[serde(rename = "ns_per_op")]
    pub nanoseconds: f64,
}

/// A run is at least so long, so that reading the clock does not count.
const RUN: Duration = Duration::from_micros(50);

impl Prepared {
    /// Repeats it and measures.
    #[must_use]
    pub fn measure(&self, effort: Effort) -> Measured {
        self.once();
        let started = Instant::now();
        self.once();
        let first = started.elapsed().max(Duration::from_nanos(20));
        let many = u32::try_from(RUN.as_nanos() / first.as_nanos()).unwrap_or(u32::MAX).max(1);
        let mut runs = Vec::new();
        let begun = Instant::now();
        while runs.is_empty() || begun.elapsed() < effort.duration() {
            let started = Instant::now();
            for _ in 0..many {
                self.once();
            }
            runs.push(started.elapsed().as_secs_f64() * 1e9 / f64::from(many));
        }
        runs.sort_by(f64::total_cmp);
        Measured { nanoseconds: runs[runs.len() / 2] }
    }
}
