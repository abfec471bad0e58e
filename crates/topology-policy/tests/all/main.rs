//! Merges by every policy, beside slow ones.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bad_input;
mod families;
mod plain;
mod product;
mod slow;
mod trace;
