#![doc = include_str!("../README.md")]
//!
//! # How a machine is laid out
//!
//! Machines nest differently: a package has several NUMA nodes or a NUMA node has several packages, an L3 cache spans
//! nodes or is a part of one. So the tree and the picture follow the CPU sets themselves: a part lies in the smallest
//! part that has all its CPUs, and parts with equal CPU sets are drawn as one place. NUMA nodes without CPUs stand
//! beside the node that they are nearest to, PCI devices beside the node that the kernel names for them.
#![no_std]

extern crate alloc;

mod summary;
mod table;
mod shares;
mod reserved;
mod nest;
mod labels;
mod tree;
pub mod svg;

pub use reserved::Reserved;
pub use shares::{MemoryShare, Owner, PodIndex, PodShare, Shares};
pub use summary::{CacheSummary, DeviceCount, DeviceGroup, MachineSummary, NodeSummary, PageCount};
pub use tree::tree;
