//! Statuses of pods as a kubelet writes them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod nodes;
mod pods;
