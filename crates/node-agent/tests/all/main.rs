//! The agent of a node: its owner, its files, its start after a crash.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod backups;
mod common;
mod crashes;
mod cut_short;
mod deferred;
mod folder_repair;
mod moves;
mod owner;
mod repair;
mod resize;
mod starting;
mod truth;
