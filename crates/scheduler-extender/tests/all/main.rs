//! The extender's answers, beside the naive ones and under every interleaving.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod claims_beside_cpus;
mod fixture;
mod histories;
mod interleavings;
mod others;
mod room;
mod same_as_naive;
