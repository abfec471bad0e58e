//! State folders: audited, repaired and read after a restart.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod audit;
mod folder_repair;
mod forms;
mod growth;
mod records;
mod restart;
mod state_fixtures;
