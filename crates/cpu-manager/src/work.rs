//! How long a search among NUMA nodes may take.

use core::cell::Cell;
use core::ops::ControlFlow;

/// How many combinations and subsets are looked at for one request: tenths of a second's worth.
const WORK_LIMIT: u32 = 1 << 20;

/// Steps that may still be made; `None` once more were wanted.
pub(crate) struct Work(Cell<Option<u32>>);

impl Work {
    /// All of them.
    pub(crate) const fn new() -> Self {
        Self(Cell::new(Some(WORK_LIMIT)))
    }

    /// One step, or the end.
    pub(crate) fn spend(&self) -> ControlFlow<()> {
        self.0.set(self.0.get().and_then(|left| left.checked_sub(1)));
        if self.0.get().is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Whether more steps were wanted.
    pub(crate) const fn is_cut(&self) -> bool {
        self.0.get().is_none()
    }
}
