//! Claims of pods: the shapes of published drivers, and their states.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod drivers;
mod states;
mod support;
