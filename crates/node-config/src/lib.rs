//! The kubelet's configuration of its resource managers: what may be set, the defaults, and the checks with the
//! kubelet's texts.
//!
//! It does not know YAML, files, machines or pods: what a check needs of a machine is handed in as plain facts.
#![no_std]

extern crate alloc;

mod topology;
mod boolean;

pub use boolean::parse_bool;
pub use topology::{
    DistanceRows, NodeCountCheck, Scope, TieBreak, TopologyConfig, TopologyConfigError, TopologyFacts,
    TopologyPolicyName,
};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
