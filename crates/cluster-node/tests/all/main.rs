//! A node's side of a cluster, beside servers that answer well and badly.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod api_server;
mod claims;
mod hostile_server;
mod listening;
mod publisher;
mod world;
