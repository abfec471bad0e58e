//! Sets of CPUs and partitions, in folders that stand for the kernel's.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kernel;
mod partition;
