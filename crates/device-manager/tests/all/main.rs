//! What users of the device manager can rely on.

#![expect(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod fixture;
mod contract;
mod hints;
mod allocation;
mod failures;
mod keep_whole;
mod life;
mod starts;
mod registration;
mod views;
