//! What users of the device manager can rely on.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail as tests do")]

mod fixture;
mod hints;
mod allocation;
mod failures;
mod keep_whole;
mod life;
mod starts;
mod registration;
mod views;
