//! Reads what a Linux machine is: from the kernel's own files of the running machine, of a folder, or of a packed
//! archive, and from what cAdvisor printed of it.
//!
//! One reading gives two answers. [`Discovery::machine`] is the true machine, put together from what the kernel says
//! of siblings, shared caches and nodes. [`Discovery::info`] is what cAdvisor makes of the same files, accidents
//! included, because that is what the kubelet decides on. What is missing or contradicts itself is a [`Problem`] in
//! the answer, with what was assumed instead, and neither a failure nor silence.
//!
//! This crate does not know pods, configurations or policies, and writes no file: what it captures
//! ([`Capture`]) is bytes.
//!
//! # Where things are
//!
//! - Entries of archives as streams: `crates/topology-discovery/src/entries.rs`.
//! - What a driver publishes of a device's place in the machine: `crates/topology-discovery/src/device_attributes.rs`.

mod archive;
mod cadvisor;
mod cadvisor_json;
mod cadvisor_log;
mod capture;
mod device_attributes;
mod directory;
pub mod entries;
#[cfg(feature = "hwloc")]
mod hwloc;
mod kernel;
mod machine;
mod memory;
mod path;
mod problem;
mod read_error;
mod tree;

pub use archive::{ArchiveError, ArchiveNames, PackError, is_archive};
pub use cadvisor::{
    CadvisorError, CadvisorInfo, CpuArchitecture, HugePagesError, ParseUintError, TopologyError,
    read_as_cadvisor,
};
pub use cadvisor_json::{MachineInfoError, machine_info_from_json, machine_info_to_json};
pub use cadvisor_log::{LoggedMachineError, machine_info_from_log, machine_info_to_log};
pub use capture::{Capture, CaptureError};
pub use device_attributes::{
    CpuNodeError, DeviceAttributes, FileFault, InvalidNumaNode, NumaNodeError, NumaNodeList, PciAddress,
    PciAddressError, PcieRootError, PcieRootFault, published_node,
};
#[cfg(feature = "hwloc")]
pub use hwloc::{HwlocError, HwlocSource, read_with_hwloc};
pub use machine::{Discovery, DiscoveryError, read};
pub use memory::MemoryTree;
pub use problem::{Problem, ProblemKind, Substitute, fold};
pub use read_error::ReadError;
/// What the managers take of a machine that was read.
pub use topology_model::KubeletView;
pub use tree::{SysfsTree, TreeError};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
