//! Errors in resource slices, device classes, claims, templates and taint rules, and warnings about objects that do not do what
//! their writer meant.
//!
//! [`ClaimAdvice`] checks one object beside all others of the cluster. Errors are those for which an API server of
//! Kubernetes v1.37.2 refuses the object, in its words. Warnings are about what it accepts: an attribute that no driver
//! publishes, a selector that selects nothing, more devices than a claim can have, a pool that cannot be allocated from, and
//! an order of requests with which kube-scheduler's search exceeds its time limit.
//!
//! [`ForbiddenPair`] is two programs that give out the same CPUs or devices of a node: the CPU driver beside a static CPU manager, or
//! a device class beside a device plugin of the same extended resource.
//!
//! This crate does not know files, lines in them, pods, or how findings are shown.
#![no_std]

extern crate alloc;

mod findings;
mod advice;
mod devices;
mod selectors;
mod requests;
mod pools;
mod search;
mod pairs;

pub use advice::ClaimAdvice;
pub use findings::{Findings, Warning};
pub use pairs::{CpuManager, ForbiddenPair};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
