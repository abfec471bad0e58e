//! Recorded answers of kubelets, and what is promised of them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod claim_faults;
mod dra;
mod promises;
mod recorded;
