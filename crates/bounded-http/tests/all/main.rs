//! Certificates, and shares of the connections.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod certificates;
mod shares;
