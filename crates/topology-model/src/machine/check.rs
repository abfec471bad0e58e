//! Whether the parts of a machine fit each other, and where each CPU is in them.

use alloc::collections::{BTreeMap, BTreeSet};
use core::fmt;

use cpuset::{CpuId, CpuSet};
use thiserror::Error;

use super::MachineParts;
use crate::{NodeId, PciAddress};

/// What does not fit.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum InvalidMachine {
    /// No CPU runs.
    #[error("machine has no online CPU")]
    NoCpus,
    /// There is no node.
    #[error("machine has no NUMA node")]
    NoNodes,
    /// A node id that no kernel gives.
    #[error("NUMA node {0} is negative")]
    NegativeNode(NodeId),
    /// A node is listed twice.
    #[error("NUMA node {0} is listed twice")]
    RepeatedNode(NodeId),
    /// A CPU is both online and offline.
    #[error("CPU {} is both online and offline", .0.get())]
    OnlineAndOffline(CpuId),
    /// A part without a CPU.
    #[error("{0} has no CPU")]
    Empty(Part),
    /// A part names a CPU that is not online.
    #[error("{part} has CPU {}, which is not online", .cpu.get())]
    NotOnline {
        /// The kind of part.
        part: Part,
        /// The CPU.
        cpu: CpuId,
    },
    /// A CPU is in two parts of a kind.
    #[error("CPU {} is in two {part}s", .cpu.get())]
    InTwo {
        /// The kind of part.
        part: Part,
        /// The CPU.
        cpu: CpuId,
    },
    /// A CPU is in no part of a kind.
    #[error("CPU {} is in no {part}", .cpu.get())]
    InNone {
        /// The kind of part.
        part: Part,
        /// The CPU.
        cpu: CpuId,
    },
    /// A core has CPUs of several packages.
    #[error("the core of CPU {} lies in two packages", .0.get())]
    CoreInTwoPackages(CpuId),
    /// A distance row that does not have one entry for each node.
    #[error("NUMA node {node} has {got} distances, but the machine has {nodes} nodes")]
    Distances {
        /// The node.
        node: NodeId,
        /// Entries of the row.
        got: usize,
        /// How many there should be.
        nodes: usize,
    },
    /// A device is listed twice.
    #[error("PCI device {0} is listed twice")]
    RepeatedDevice(PciAddress),
    /// A device is near a node that is not there.
    #[error("PCI device {device} is near NUMA node {node}, which the machine does not have")]
    DeviceNode {
        /// The device.
        device: PciAddress,
        /// The node.
        node: NodeId,
    },
    /// A device is plugged into one that is not there.
    #[error("PCI device {device} is behind {parent}, which the machine does not have")]
    DeviceParent {
        /// The device.
        device: PciAddress,
        /// Its bridge.
        parent: PciAddress,
    },
}

/// A kind of part that holds CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// A package.
    Package,
    /// A core.
    Core,
    /// A cache.
    Cache,
    /// A NUMA node.
    Node,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Package => "package",
            Self::Core => "core",
            Self::Cache => "cache",
            Self::Node => "NUMA node",
        })
    }
}

/// Where an online CPU is: positions in the lists of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) package: usize,
    pub(super) core: usize,
    pub(super) node: usize,
}

/// Checks the parts, which are sorted, and gives the place of each CPU.
pub(super) fn check(parts: &MachineParts) -> Result<BTreeMap<CpuId, Place>, InvalidMachine> {
    let online = &parts.cpus.online;
    if online.is_empty() {
        return Err(InvalidMachine::NoCpus);
    }
    if let Some(cpu) = (online & &parts.cpus.offline).first() {
        return Err(InvalidMachine::OnlineAndOffline(cpu));
    }
    check_nodes(parts)?;
    let packages = owners(Part::Package, online, parts.packages.iter().map(|package| &package.cpus))?;
    let cores = owners(Part::Core, online, parts.cores.iter().map(|core| &core.cpus))?;
    let nodes = owners(Part::Node, online, parts.nodes.iter().map(|node| &node.cpus))?;
    for (part, cpus) in parts
        .packages
        .iter()
        .map(|package| (Part::Package, &package.cpus))
        .chain(parts.cores.iter().map(|core| (Part::Core, &core.cpus)))
        .chain(parts.caches.iter().map(|cache| (Part::Cache, &cache.cpus)))
    {
        if cpus.is_empty() {
            return Err(InvalidMachine::Empty(part));
        }
        are_online(part, cpus, online)?;
    }
    for core in &parts.cores {
        let mut own = core.cpus.iter();
        let first = own.next().and_then(|cpu| packages.get(&cpu));
        if let Some(cpu) = own.find(|cpu| packages.get(cpu) != first) {
            return Err(InvalidMachine::CoreInTwoPackages(cpu));
        }
    }
    check_devices(parts)?;
    let mut places = BTreeMap::new();
    for cpu in online {
        let in_none = |part| InvalidMachine::InNone { part, cpu };
        places.insert(
            cpu,
            Place {
                package: *packages.get(&cpu).ok_or_else(|| in_none(Part::Package))?,
                core: *cores.get(&cpu).ok_or_else(|| in_none(Part::Core))?,
                node: *nodes.get(&cpu).ok_or_else(|| in_none(Part::Node))?,
            },
        );
    }
    Ok(places)
}

fn check_nodes(parts: &MachineParts) -> Result<(), InvalidMachine> {
    let nodes = parts.nodes.len();
    if nodes == 0 {
        return Err(InvalidMachine::NoNodes);
    }
    for pair in parts.nodes.windows(2) {
        if pair[0].id == pair[1].id {
            return Err(InvalidMachine::RepeatedNode(pair[0].id));
        }
    }
    for node in &parts.nodes {
        if node.id.0 < 0 {
            return Err(InvalidMachine::NegativeNode(node.id));
        }
        if let Some(row) = node.distances.as_ref().filter(|row| row.len() != nodes) {
            return Err(InvalidMachine::Distances { node: node.id, got: row.len(), nodes });
        }
    }
    Ok(())
}

fn check_devices(parts: &MachineParts) -> Result<(), InvalidMachine> {
    let nodes: BTreeSet<NodeId> = parts.nodes.iter().map(|node| node.id).collect();
    let mut addresses = BTreeSet::new();
    for device in &parts.devices {
        if !addresses.insert(device.address) {
            return Err(InvalidMachine::RepeatedDevice(device.address));
        }
        if let Some(node) = device.node.id().filter(|id| !nodes.contains(id)) {
            return Err(InvalidMachine::DeviceNode { device: device.address, node });
        }
    }
    for device in &parts.devices {
        if let Some(parent) = device.parent.filter(|parent| !addresses.contains(parent)) {
            return Err(InvalidMachine::DeviceParent { device: device.address, parent });
        }
    }
    Ok(())
}

/// The position of the set that holds each CPU.
fn owners<'a>(
    part: Part,
    online: &CpuSet,
    sets: impl Iterator<Item = &'a CpuSet>,
) -> Result<BTreeMap<CpuId, usize>, InvalidMachine> {
    let mut owners = BTreeMap::new();
    for (at, cpus) in sets.enumerate() {
        are_online(part, cpus, online)?;
        for cpu in cpus {
            if owners.insert(cpu, at).is_some() {
                return Err(InvalidMachine::InTwo { part, cpu });
            }
        }
    }
    Ok(owners)
}

fn are_online(part: Part, cpus: &CpuSet, online: &CpuSet) -> Result<(), InvalidMachine> {
    match (cpus - online).first() {
        Some(cpu) => Err(InvalidMachine::NotOnline { part, cpu }),
        None => Ok(()),
    }
}
