//! Checkpoints of the kubelet: read, written, damaged and salvaged.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod claims;
mod crashes;
mod damage;
mod embedded;
mod pods;
mod round_trip;
mod salvage;
mod unknown_format;
mod upstream;
