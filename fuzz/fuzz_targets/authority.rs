//! Connections of gRPC clients: whatever the bytes, rewriting them stays within bounds, does not depend on how they
//! come, and leaves header blocks that mean the same by themselves.
//!
//! `cargo fuzz run authority`. What holds is in `crates/device-plugin/tests/all/support/rewriting.rs`, where tests use it too.
#![no_main]

#[path = "../../crates/device-plugin/tests/all/support/rewriting.rs"]
mod rewriting;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    rewriting::check(bytes);
    // Most bytes are no beginning of a connection.
    rewriting::check(&[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", bytes].concat());
});
