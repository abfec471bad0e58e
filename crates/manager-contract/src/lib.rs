//! The laws that every resource manager keeps, as one test suite: a hint can be honoured, release undoes, nothing has
//! two owners, planning is pure.
//!
//! A test implements [`Manager`] for a manager and lets pods come and go with [`check`], which panics with the law that
//! was broken. This crate does not know CPUs, memory, devices or policies.
#![no_std]

extern crate alloc;

mod manager;
mod offers;
mod check;

pub use check::{Visit, Visits, check};
pub use manager::Manager;

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
