//! The fewest NUMA nodes that have enough: set covering on machines of up to 64 nodes.
//!
//! Two questions, both NP-hard in general and easy on real machines, where most nodes are alike:
//!
//! - [`Cover`]: several conditions with fixed amounts. Is a node set enough, what is the size of the smallest that is
//!   ([`fewest`]), and which of that size has the lowest number ([`smallest`])? [`meet`] is the search
//!   below them, for callers that combine conditions of several resources.
//! - [`Coverage`]: one resource, whose amount is not yet known. How much can the best set of each size have? It is
//!   worked out once, when the supply changes, and looked up for each request.
//!
//! And one within nodes, [`best_fit`]: which groups (caches, switches) something is taken from, so that whole ones stay
//! whole.
//!
//! A search counts the states that it visits in [`Steps`] and never looks at a clock. If its steps run out, a
//! [`Solution::Cut`] holds a set that is enough, though a smaller one may exist.
//!
//! This crate does not know hints, policies, names of resources or machines.
#![no_std]

extern crate alloc;

mod cover;
mod row;
mod meet;
mod lowest;
mod coverage;
mod best_fit;
mod solution;
mod steps;

pub use best_fit::{Group, GroupState, Need, best_fit};
pub use cover::{Bounds, Cover, fewest, smallest};
pub use coverage::Coverage;
pub use lowest::lowest;
pub use meet::{Rows, may_meet, meet};
pub use row::Row;
pub use solution::Solution;
pub use steps::{OutOfSteps, Steps};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
