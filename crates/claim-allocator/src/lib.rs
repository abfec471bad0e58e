//! Decides which devices of one node serve the resource claims of a pod, as kube-scheduler v1.37.2 does.
//!
//! [`decide`] gives the allocations that kube-scheduler's structured allocator would write, or its no, or its error with
//! the same text. Where that allocator tries every combination of the devices of one request before it sees that a later
//! one cannot be served, this one counts interchangeable devices: the answer is the same, and [`Allocator::cost`] says how
//! long the other takes for it.
//!
//! This crate does not know other nodes, files, clocks or the language of selectors: its caller brings [`Selectors`].
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod question;
mod implementation;
mod error;
mod selectors;
mod allocator;
mod cost;
mod prepared;
mod attributes;
mod capacity;
mod search;
mod result;

pub use allocator::{Allocator, Decision, WorkLimit, decide};
pub use capacity::CapacityError;
pub use cost::{Cost, Timeout};
pub use error::{AllocateError, ClaimFault, Scope, SelectorFault};
pub use question::Question;
pub use selectors::{SelectorError, Selectors};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
