//! A NUMA machine as values, three times: [`MachineInfo`] is what was read, unchecked, in the shape in which
//! the kubelet gets it; [`KubeletView`] is what the kubelet makes of that, and what its managers decide on;
//! `Machine` is the true, checked topology, for people.
//!
//! This crate does not know files, pods or policies.
#![no_std]

extern crate alloc;

mod info;
mod node;
mod table;

pub use info::{Cache, HugePages, MachineCore, MachineInfo, MachineNode};
pub use node::{NodeId, Nodes, ShowNodes, TooManyNodes};
pub use table::{CacheId, CoreId, CpuCounts, CpuRow, CpuTable, CpuTableError, SocketId};
