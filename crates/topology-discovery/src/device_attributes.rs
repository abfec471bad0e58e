//! The standard attributes that drivers of devices publish of a device: `resource.kubernetes.io/numaNode`, `pcieRoot` and
//! `pciBusID`, as the helpers of Kubernetes v1.37.2 for drivers (`k8s.io/dynamic-resource-allocation/deviceattribute`)
//! read them from sysfs.
//!
//! Claims match devices by what the helpers publish, and so their faults are reproduced here:
//!
//! - The list of NUMA nodes goes through a row of distances by position and takes the position for the node's id. Where
//!   ids have gaps, the row has other nodes than it is read for.
//! - The package of a NUMA node is that of one CPU of it, which is drawn at random. Where the CPUs of a node are of several
//!   packages, the list is another in each run: [`NumaNodeList`] has what is always in it and what is sometimes.
//! - A node that is read from a PCI device has no upper limit, one that a driver knows otherwise is at most 1023.
//! - A link with an absolute target is refused, although it leads to the device.

mod address;
mod distances;
mod files;

use cpuset::{AtoiError, go_atoi};
use thiserror::Error;

use crate::path::LinkTarget;
use crate::tree::SysfsTree;
use files::Sysfs;

pub use address::{PciAddress, PciAddressError};
pub use distances::NumaNodeList;
pub use files::FileFault;

/// The NUMA nodes that Linux can have; ids are below it.
const MAX_NODES: i64 = 1024;

/// A sysfs of which the attributes of devices are read.
#[derive(Clone, Debug)]
pub struct DeviceAttributes<'t> {
    sysfs: Sysfs<'t>,
}

/// Why a device has no NUMA node to publish. The texts are the helpers'.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum NumaNodeError {
    /// The device's file cannot be read.
    #[error("failed to read NUMA node for PCI Bus ID {address}: {fault}")]
    Unreadable {
        /// The device.
        address: PciAddress,
        /// What the system says.
        fault: FileFault,
    },
    /// The device's file holds no number.
    #[error("failed to read NUMA node for PCI Bus ID {address}: {error}")]
    NoNumber {
        /// The device.
        address: PciAddress,
        /// What is wrong with it.
        error: AtoiError,
    },
    /// The device belongs to no node, which the kernel writes as -1.
    #[error(
        "PCI device {address} has no NUMA affinity (numa_node={node}); do not publish the numaNode attribute for it"
    )]
    NoAffinity {
        /// The device.
        address: PciAddress,
        /// What the file holds.
        node: i64,
    },
}

/// Why a number is no NUMA node to publish. The texts are the helpers'.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum InvalidNumaNode {
    /// Below 0.
    #[error(
        "invalid NUMA node {0}: do not publish the numaNode attribute for a device with no NUMA affinity"
    )]
    Negative(i64),
    /// Above what Linux can have.
    #[error("invalid NUMA node {0}: exceeds maximum supported ({most})", most = MAX_NODES - 1)]
    TooLarge(i64),
}

/// Why a device has no `pcieRoot` to publish. The texts are the helpers'.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("failed to resolve PCIe Root Complex for PCI Bus ID {address}: {fault}")]
pub struct PcieRootError {
    /// The device.
    pub address: PciAddress,
    /// What is wrong with its link.
    pub fault: PcieRootFault,
}

/// What is wrong with the link of a PCI device.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PcieRootFault {
    /// There is no link. Paths are relative to sysfs's folder, but for the second, which is the system's.
    #[error("failed to read symlink for PCI Bus ID {path}: readlink /sys/{path}: {fault}")]
    Unreadable {
        /// The link.
        path: String,
        /// What the system says.
        fault: FileFault,
    },
    /// It leads elsewhere than to a PCI root: through `/sys`, or by other devices.
    #[error("symlink target for PCI Bus ID {address} is invalid: it must start with devices/pci: {target}")]
    NotBelowARoot {
        /// The device.
        address: PciAddress,
        /// Where it leads, from sysfs's folder if it is relative.
        target: String,
    },
    /// It leads to another device.
    #[error("symlink target for PCI Bus ID {address} is invalid: it must end with {address}: {target}")]
    OtherDevice {
        /// The device.
        address: PciAddress,
        /// Where it leads, from sysfs's folder.
        target: String,
    },
}

/// Why a CPU has no NUMA node. The texts are the helpers'.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CpuNodeError {
    /// The CPU's folder has no entry `node` and a number.
    #[error("CPU {0} not found in any NUMA node")]
    NotFound(i64),
    /// The first such entry goes on with something else than a number.
    #[error("failed to parse NUMA node number from {name}: {error}")]
    NoNumber {
        /// The entry.
        name: String,
        /// What is wrong with it.
        error: AtoiError,
    },
}

impl<'t> DeviceAttributes<'t> {
    /// Of a machine's tree, which has sysfs in its folder `sys`.
    #[must_use]
    pub const fn of(tree: &'t SysfsTree) -> Self {
        Self::at(tree, "sys")
    }

    /// Of a tree that has sysfs in the folder `root`, a path without `/` at its ends.
    #[must_use]
    pub const fn at(tree: &'t SysfsTree, root: &'t str) -> Self {
        Self { sysfs: Sysfs { tree, root } }
    }

    /// The devices on the PCI bus: the names in their folder, in lexical order. What is no address is left out.
    #[must_use]
    pub fn devices(&self) -> Vec<PciAddress> {
        let names = self.sysfs.list("bus/pci/devices");
        names.iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// `numaNode` of a PCI device as one number, 0 or more: what drivers publish while lists are not allowed.
    pub fn numa_node(&self, address: &PciAddress) -> Result<i64, NumaNodeError> {
        let text = self.sysfs.text(&format!("bus/pci/devices/{address}/numa_node"));
        let text = text.map_err(|fault| NumaNodeError::Unreadable { address: address.clone(), fault })?;
        match go_atoi(&text) {
            Ok(node) if node < 0 => Err(NumaNodeError::NoAffinity { address: address.clone(), node }),
            Ok(node) => Ok(node),
            Err(error) => Err(NumaNodeError::NoNumber { address: address.clone(), error }),
        }
    }

    /// `numaNode` of a PCI device as a list: its node, then the nodes of its package that are closest to it.
    pub fn numa_node_list(&self, address: &PciAddress) -> Result<NumaNodeList, NumaNodeError> {
        Ok(distances::list(&self.sysfs, self.numa_node(address)?))
    }

    /// `numaNode` as a list for a device whose node a driver knows, such as CPUs and memory.
    pub fn list_of_node(&self, node: i64) -> Result<NumaNodeList, InvalidNumaNode> {
        Ok(distances::list(&self.sysfs, published_node(node)?))
    }

    /// `pcieRoot` of a PCI device: `pci`, the domain and the bus, such as `pci0000:40`.
    pub fn pcie_root(&self, address: &PciAddress) -> Result<String, PcieRootError> {
        self.root_of(address).map_err(|fault| PcieRootError { address: address.clone(), fault })
    }

    fn root_of(&self, address: &PciAddress) -> Result<String, PcieRootFault> {
        let path = format!("bus/pci/devices/{address}");
        let target = match self.sysfs.link(&path) {
            LinkTarget::Link(target) => target,
            LinkTarget::NotALink => {
                return Err(PcieRootFault::Unreadable { path, fault: FileFault::NotALink });
            }
            LinkTarget::Nothing => return Err(PcieRootFault::Unreadable { path, fault: FileFault::Missing }),
        };
        let target = if target.starts_with('/') {
            target
        } else {
            files::cleaned(&format!("bus/pci/devices/{target}"))
        };
        let address = address.clone();
        if !target.starts_with("devices/pci") {
            return Err(PcieRootFault::NotBelowARoot { address, target });
        }
        if files::base(&target) != address.as_str() {
            return Err(PcieRootFault::OtherDevice { address, target });
        }
        let below = target.strip_prefix("devices/").unwrap_or(&target);
        Ok(below.split('/').next().unwrap_or_default().to_owned())
    }

    /// The NUMA node of a CPU: the first in lexical order of the entries `node` and a digit in the CPU's folder.
    pub fn node_of_cpu(&self, cpu: i64) -> Result<i64, CpuNodeError> {
        let names = self.sysfs.list(&format!("devices/system/cpu/cpu{cpu}"));
        let number = |name: &'_ String| {
            let number = name.strip_prefix("node")?;
            number.starts_with(|first: char| first.is_ascii_digit()).then(|| number.to_owned())
        };
        let number = names.iter().find_map(number).ok_or(CpuNodeError::NotFound(cpu))?;
        go_atoi(&number).map_err(|error| CpuNodeError::NoNumber { name: format!("node{number}"), error })
    }
}

/// `numaNode` as one number for a device whose node a driver knows: the number, if it can be a node.
pub fn published_node(node: i64) -> Result<i64, InvalidNumaNode> {
    match node {
        ..0 => Err(InvalidNumaNode::Negative(node)),
        MAX_NODES.. => Err(InvalidNumaNode::TooLarge(node)),
        node => Ok(node),
    }
}

#[cfg(test)]
mod tests;
