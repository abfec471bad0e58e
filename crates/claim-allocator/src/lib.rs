//! Decides which devices of one node serve the resource claims of a pod, as kube-scheduler v1.37.2 does.
//!
//! [`decide`] gives the allocations that kube-scheduler's structured allocator would write, or its no, or its error with
//! the same text. Where that allocator tries every combination of the devices of one request before it sees that a later
//! one cannot be served, this one counts interchangeable devices: the answer is the same, and [`Allocator::cost`] says how
//! long the other takes for it.
//!
//! This crate does not know other nodes, files or clocks. Expressions of classes and claims are those of `dra-cel`; a caller
//! that asks about many nodes keeps them compiled, as [`Expressions`].
//!
//! # Where things are
//!
//! - How resource claims get devices: `crates/claim-allocator/src/search.rs` says how the search stays short;
//!   `search/walk.rs` is kube-scheduler's order, `search/outlook.rs` what can still end it, `search/classes.rs` which
//!   devices are interchangeable.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod question;
mod implementation;
mod error;
mod expressions;
mod allocator;
mod cost;
mod standing;
mod prepared;
mod attributes;
mod capacity;
mod search;
mod result;

pub use allocator::{Allocator, Decision, WorkLimit, decide};
pub use capacity::CapacityError;
pub use cost::{Cost, Timeout};
pub use error::{AllocateError, ClaimFault, Scope, SelectorFault};
pub use expressions::Expressions;
pub use question::Question;
pub use standing::{Standing, Way};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
