//! Plugins against a runtime in this process that speaks the wire: no runtime, no root and no Go.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

mod deadlines;
mod events;
mod reconnect;
mod registration;
mod updates;
mod wire;
