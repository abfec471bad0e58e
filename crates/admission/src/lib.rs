#![doc = include_str!("../README.md")]
//!
//! # The way of a pod
//!
//! [`Node::attempt`] does the kubelet's steps on a copy of the [`Ledger`]: for each unit (container or pod, by
//! scope) the managers answer, the policy merges, and if it admits, the managers allocate near the merged node
//! set: CPUs, then providers of your own. The outcome is an [`Attempt`]: a verdict and the
//! ledger as those steps left it. Nothing has happened yet; [`Ledger::commit`] makes it so, all at once.
#![no_std]

extern crate alloc;

mod compat;
mod node;
mod ledger;
mod attempt;
mod refusal;
mod trace;

pub use attempt::{Attempt, Placed, Placement, Verdict};
pub use compat::{Compat, RefusedPod};
pub use ledger::{Ledger, Stale, Version};
pub use node::{Node, NodeSetup};
pub use refusal::{Cause, Reason, Refused};
pub use trace::{Amounts, Cell, ResourceTrace, Trace, UnitName, UnitTrace};
