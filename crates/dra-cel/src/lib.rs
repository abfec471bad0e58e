//! The expression language (CEL) of device selectors in Kubernetes' Dynamic Resource Allocation.
//!
//! A [`Program`] is compiled once in an [`Environment`] and evaluated on many devices, each a [`DeviceVariable`] that
//! was built once: it sees one variable, `device`.
//! Functions, types, errors and costs are those of Kubernetes v1.37.2.
//!
//! This crate does not know claims, classes, slices or pools, nor which devices are free.
#![no_std]
#![expect(
    clippy::match_same_arms,
    clippy::single_match_else,
    reason = "an arm is a rule of its own, and stays with its kind"
)]

extern crate alloc;

mod environment;
mod device;
mod program;
mod fault;
mod syntax;
mod checker;
mod plan;
mod evaluate;
mod estimate;
mod value;
mod functions;

pub use device::{DeviceFault, DeviceVariable};
pub use environment::{Environment, Purpose, Written};
pub use fault::{CompileError, EvaluationError};
pub use program::{Evaluation, Program, Reads};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
