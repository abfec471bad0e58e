#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;

mod fate;
mod work;
mod known;
mod possible;
mod replay;
mod merge;
mod sets;

pub use fate::{Blocker, Crash, Fate};
pub use known::{Fates, Kubelet, of_configuration, of_pod, of_restart};
pub use work::Work;
