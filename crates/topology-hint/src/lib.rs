//! Topology hints: what a provider of resources says about the NUMA nodes on which it could serve a request.
//!
//! The kubelet lists every node set that would do, up to 2^n of them for n nodes. Here a provider gives a *rule*
//! instead, a [`Family`]: some node sets accepted exactly, and one part that is closed upwards (what a set can
//! serve, a larger set can). Lists exist too, for interchange and for comparison.
//!
//! This crate does not know policies, managers or machines: node sets are sets of positions. A provider gets the NUMA nodes of
//! the machine, and nothing else of it.
#![no_std]

extern crate alloc;

mod answers;
mod family;
mod answer;
mod hint;
mod provider;

// What signatures name: one dependency is enough for hints and for a provider.
pub use {numa_bitmask, pod_spec, topology_model};

pub use answer::Answer;
pub use answers::{Answers, FamilyBuilder};
pub use family::{Family, Preferred};
pub use hint::{Affinity, ForeignNodes, Hint, ListedHint, Preference};
pub use node_cover::Solution;
pub use provider::{Grant, Held, Provider, Refusal};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
