//! Simulated nodes, their capacity and what they run at most.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod at_most;
mod capacity;
mod claims;
mod runs;
