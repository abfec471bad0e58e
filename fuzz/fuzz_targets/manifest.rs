//! Manifests, kubelet configurations, inventories and podresources answers: whatever the bytes, each reader ends, and
//! what is wrong can be shown.
//!
//! `cargo fuzz run manifest`, with the files below `fixtures/pods`, `fixtures/configs` and `fixtures/devices` as seeds.
#![no_main]

#[path = "../../crates/manifest/tests/all/readers/mod.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::read_everything(bytes));
