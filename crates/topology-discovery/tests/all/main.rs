//! Machines as they are discovered in trees, archives and captures.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod archives;
mod bad_input;
mod capture;
mod contradictions;
mod cost;
mod cpuinfo;
mod hives;
mod kernel_names;
mod machines;
mod many_nodes;
mod mutations;
mod packing;
mod small;
mod traps;
mod truth;
mod written;
