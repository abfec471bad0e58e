//! Covers of node sets, beside the slow search.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod best_fit;
mod oracle;
