//! Device plugins over their sockets: well behaved, broken, and real ones.

#![expect(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod authority;
mod found;
mod metrics;
mod plugins;
mod pod_resources;
#[path = "support/real.rs"]
mod real;
mod real_plugins;
#[path = "support/rewriting.rs"]
mod rewriting;
mod several;
mod support;
mod wire;
