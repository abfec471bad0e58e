//! The steps of CI with what each took.

use std::time::{Duration, Instant};

use crate::first_minutes::children;

/// The steps, each with its seconds.
pub(super) struct Steps {
    since: Instant,
    /// CPU time of all processes that had ended then.
    cpu: Duration,
    ended: Vec<Step>,
}

struct Step {
    what: &'static str,
    wall: Duration,
    /// Of processes that ended during it, which may have been started before.
    cpu: Duration,
}

impl Steps {
    pub(super) fn begin() -> anyhow::Result<Self> {
        Ok(Self { since: Instant::now(), cpu: children()?.0, ended: Vec::new() })
    }

    pub(super) fn end(&mut self, what: &'static str) -> anyhow::Result<()> {
        let cpu = children()?.0;
        self.ended.push(Step { what, wall: self.since.elapsed(), cpu: cpu.saturating_sub(self.cpu) });
        (self.since, self.cpu) = (Instant::now(), cpu);
        Ok(())
    }

    pub(super) fn print(&self) {
        eprintln!("\nseconds of the steps before the tests, and of CPU time of what ended in each:");
        for Step { what, wall, cpu } in &self.ended {
            eprintln!("{:>6} {:>6} {what}", wall.as_secs(), cpu.as_secs());
        }
    }
}
