//! Lines of the log that a client can cause: some at once, then few, and how many were left out.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// So many lines at once.
const BURST: u32 = 100;
/// Then one in such a time.
const EACH: Duration = Duration::from_millis(100);

/// Bounds one kind of line.
#[derive(Debug)]
pub struct Pace(Mutex<State>);

#[derive(Debug)]
struct State {
    /// When the next line would be due if no burst were allowed; past: lines are saved up.
    due: Option<Instant>,
    left_out: u64,
}

/// What becomes of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    /// It is written, with how many were left out before it.
    Written {
        /// So many lines.
        left_out: u64,
    },
    /// It is counted alone.
    LeftOut,
}

impl Default for Pace {
    fn default() -> Self {
        Self::new()
    }
}

impl Pace {
    /// Nothing has been written.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(State { due: None, left_out: 0 }))
    }

    /// Whether the line that is due `now` is written.
    pub fn line(&self, now: Instant) -> Line {
        let mut state = self.0.lock();
        let due = state.due.map_or(now, |due| due.max(now));
        if due.saturating_duration_since(now) >= EACH * BURST {
            state.left_out += 1;
            return Line::LeftOut;
        }
        state.due = Some(due + EACH);
        Line::Written { left_out: std::mem::take(&mut state.left_out) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{BURST, EACH, Line, Pace};

    #[test]
    fn a_flood_is_some_lines_and_a_number() {
        let (pace, now) = (Pace::new(), Instant::now());
        for _ in 0..BURST {
            assert_eq!(pace.line(now), Line::Written { left_out: 0 });
        }
        for _ in 0..5000 {
            assert_eq!(pace.line(now), Line::LeftOut);
        }
        assert_eq!(pace.line(now + EACH), Line::Written { left_out: 5000 });
        assert_eq!(pace.line(now + EACH), Line::LeftOut);
        assert_eq!(pace.line(now + EACH * 2), Line::Written { left_out: 1 });
    }
}
