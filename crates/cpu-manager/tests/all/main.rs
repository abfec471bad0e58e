//! The static policy on machines and pods of one line each.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod machines;
mod pods;
mod take;
mod distribute;
mod policy;
mod whole_pods;
mod cache_alignment;
mod keep_whole;
mod reconcile;
mod resize;
mod contract;
mod model;
