//! The work that this project's speed is measured on, and our side of it.
//!
//! [`catalogue`] has what must be reached, [`growth`] the curves. [`Work`] is a description that the kubelet's own code, or
//! kube-scheduler's for claims, is given as a line of JSON; [`Prepared`] is the same with our code, ready to run again and again.
//!
//! This crate does not know what the kubelet needs for it, and draws nothing.

mod work;
mod machines;
mod pods;
mod claims;
mod catalogue;
mod growth;
mod described;
mod prepared;
mod measured;

pub use catalogue::{Row, Target, catalogue, hot_paths, row};
pub use claims::ClaimsWork;
pub use described::{described, described_claims};
pub use growth::{Curve, Point, claim_growth, growth};
pub use measured::{Effort, Measured};
pub use prepared::{Prepared, allocator_steps};
pub use work::{DeviceList, ListedDevice, Merge, NodeWork, Task, Work, WorkHint};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
