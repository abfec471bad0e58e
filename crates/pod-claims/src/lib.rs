//! What becomes of a pod's claims of devices on a node, as kube-scheduler v1.37.2 decides it.
//!
//! [`ClaimLedger`] has the cluster's objects and decides on pods one after the other: it collects the claims of a pod in
//! kube-scheduler's order ([`PodClaim`]), finds out what keeps kube-scheduler from looking for devices ([`Obstacle`]), asks
//! the allocator, and keeps what a pod is given ([`ClaimLedger::hold`]). What is found is a [`ClaimsDecision`].
//!
//! This crate does not know YAML, the managers of a kubelet, other nodes, or what a decision is shown as.
#![no_std]

extern crate alloc;

mod objects;
mod ledger;
mod asked;
mod found;
mod decision;
mod extended;

pub use asked::{ClaimState, Obstacle, PodClaim};
pub use decision::{ClaimsDecision, DecidedAs, Missing, Outcome};
pub use extended::without_resources;
pub use ledger::ClaimLedger;
pub use objects::ClusterObjects;

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
