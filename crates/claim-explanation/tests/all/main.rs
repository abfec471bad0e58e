//! Explanations of refused claims: of small nodes beside brute force, of published drivers, and the changes tried.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../../../claim-allocator/tests/small/brute.rs"]
mod brute;
mod changes;
#[path = "../../../claim-allocator/tests/small/drawn.rs"]
#[allow(dead_code, reason = "the tests of claim-allocator use all of it")]
mod drawn;
mod drivers;
#[path = "../../../claim-allocator/tests/small/rule.rs"]
mod rule;
mod small_nodes;
