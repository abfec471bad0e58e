//! Selectors as they are evaluated, and expressions that are built to cost.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bombs;
mod selectors;
