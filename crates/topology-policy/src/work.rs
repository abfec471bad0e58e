//! A bound on the search, counted in node sets looked at and never in time.

use numa_bitmask::NodeMask;

/// How many steps one merge may take. No real machine comes near the default of a million.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkLimit(pub u64);

impl Default for WorkLimit {
    fn default() -> Self {
        Self(1_000_000)
    }
}

impl WorkLimit {
    pub(crate) const fn start(self) -> Work {
        Work { left: self.0 }
    }
}

/// What is left of the bound.
#[derive(Debug)]
pub(crate) struct Work {
    left: u64,
}

/// The bound is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Exhausted {
    /// What had been found, if anything.
    pub(crate) best: Option<NodeMask>,
}

impl Work {
    /// Counts one step.
    pub(crate) fn step(&mut self) -> Result<(), Exhausted> {
        self.left = self.left.checked_sub(1).ok_or(Exhausted { best: None })?;
        Ok(())
    }
}
