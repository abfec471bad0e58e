//! The static policy of the memory manager, beside a slow one and the contract of managers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bad_input;
mod bound;
mod contract;
mod cut;
mod model;
mod pods;
mod policy;
mod slow;
mod within;
