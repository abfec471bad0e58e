//! Nodes put together from files: devices, claims and what is imagined.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod anonymise;
mod claims_aligned;
mod claims_and_cpus;
mod diagnosed_faults;
mod imagined;
mod public_layouts;
mod published;
