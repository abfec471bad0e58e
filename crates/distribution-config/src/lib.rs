//! What Kubernetes distributions set in their kubelets' configuration, whatever their users write.
//!
//! A [`Distribution`] is a table: fields, the releases of the kubelet that they were read for, and the public source
//! ([`Facts`]). [`Base`] is the table on a machine, with a user's fields over it. What the node alone can work out
//! is a [`Reservation`] that says what is missing. [`StateFiles`] says which of the kubelet's state files it deletes, and when.
//!
//! This crate does not know files, YAML, TOML or the kinds of documents, nor what is wrong with a configuration.
#![no_std]

extern crate alloc;

mod distribution;
mod base;
mod reservation;
mod amazon;
mod tables;
mod openshift;
mod instance;
mod state_files;

pub use amazon::{memory_for_pods, milli_cpus_of_kubelet};
pub use base::Base;
pub use distribution::{Distribution, Facts, NoDistribution};
pub use instance::InstanceType;
pub use reservation::Reservation;
pub use state_files::{Removal, Rollout, StateFiles};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
