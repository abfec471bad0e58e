#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! - What a kubelet does in place of an answer, and which change avoids it: `crates/kubelet-fates`,
//!   `crates/node-input/src/fates.rs`; the table of its faults: `crates/kubelet-release/src/fault.rs`.
#![no_std]

extern crate alloc;

mod fate;
mod work;
mod kubelet;
mod fates;
mod known;
mod possible;
mod replay;
mod merge;
mod sets;

pub use fate::{Blocker, Crash, Fate};
pub use fates::Fates;
pub use known::{of_configuration, of_pod, of_restart};
pub use kubelet::Kubelet;
pub use work::Work;
