//! Decides on a pod's claims of devices on a node as kube-scheduler v1.37.2 does.
//!
//! [`ClaimLedger`] has the cluster's objects and decides on pods one after the other: it collects the claims of a pod in
//! kube-scheduler's order ([`PodClaim`]), checks whether kube-scheduler would search for devices ([`Obstacle`]), asks the
//! allocator, and reserves the devices ([`ClaimLedger::hold`]). The result is a [`ClaimsDecision`].
//!
//! [`ClaimLedger::decide_changed`] answers for a pod with other claims, such as those that a [`ClaimChange`] makes.
//!
//! All claims of a pod get devices or none does. Where requests of a claim contradict each other, such as two that one
//! constraint cannot serve together, the allocator goes back from the later request to other devices of the earlier one; if no
//! choice serves both, the outcome is [`Outcome::DoesNotFit`] (`crates/claim-allocator/src/search/walk.rs`).
//!
//! This crate does not know YAML, the managers of a kubelet, other nodes, or how a decision is shown.
#![no_std]

extern crate alloc;

mod objects;
mod ledger;
mod claim;
mod lookup;
mod decision;
mod extended;
mod change;

pub use change::ClaimChange;
pub use claim::{ClaimState, Obstacle, PodClaim};
pub use claim_allocator::Expressions;
pub use decision::{ClaimsDecision, DecidedAs, Missing, Outcome};
pub use extended::without_resources;
pub use ledger::ClaimLedger;
pub use objects::ClusterObjects;

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
