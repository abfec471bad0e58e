//! Proposals for configurations: of each kind, on random machines, and as a kubelet starts with them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kinds;
mod proposals;
mod random;
