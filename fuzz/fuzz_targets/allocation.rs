//! Claims on small nodes: a decision is never a panic; what it allocates is a solution, where it says no there is none, and
//! a smaller budget gives the same answer or is cut.
//!
//! The bytes draw the node and the claims. `cargo xtask fuzz allocation`.
#![no_main]

#[path = "../../crates/claim-allocator/tests/small/mod.rs"]
mod small;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = small::check(bytes);
});
