//! A NUMA machine as values: [`MachineInfo`] is what was read, unchecked, in the shape in which
//! the kubelet gets it; [`KubeletView`] is what the kubelet makes of that, and what its managers decide on; [`Machine`]
//! is what the hardware is, checked.
//!
//! This crate does not know files, pods or policies.
#![no_std]

extern crate alloc;

mod info;
mod machine;
mod node;
mod synthetic;
mod table;
mod view;

pub use info::{Cache, HugePages, MachineCore, MachineInfo, MachineNode};
pub use machine::{
    CacheKind, Core, CoreKind, CpuCache, CpuLists, DeviceKind, DeviceNode, InvalidMachine, Link, LinkKind,
    Machine, MachineParts, Node, NodeLists, Package, PackageId, Part, PciAddress, PciAddressError, PciDevice,
    PciDistance, Smt, Sriov,
};
pub use node::{NodeId, NodeIds, Nodes, ShowNodes, TooManyNodes};
pub use synthetic::SyntheticError;
pub use table::{CacheId, CoreId, CpuCounts, CpuRow, CpuTable, CpuTableError, SocketId};
pub use view::{KubeletView, NodeMemory, ViewError};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
