//! The true machine: what the hardware is, checked, whatever cAdvisor makes of it.
//!
//! Cores are groups of CPUs that the kernel calls siblings, caches are known by the CPUs that share them, distances
//! go by node and not by position in a file. [`Machine::new`] checks that the parts fit each other and says what
//! does not. Nodes are named by their ids, so a machine may have more of them than a
//! [`NodeMask`](numa_bitmask::NodeMask) holds; only the kubelet's view is limited to that.

mod check;
mod device_kind;
mod info;
mod parts;
mod pci;
mod pci_class;
mod pci_distance;
mod links;

pub use check::{InvalidMachine, Part};
pub use device_kind::DeviceKind;
pub use links::{Link, LinkKind};
pub use parts::{
    CacheKind, Core, CoreKind, CpuCache, CpuLists, MachineParts, Node, NodeLists, Package, PackageId, Smt,
};
pub use pci::{DeviceNode, PciAddress, PciAddressError, PciDevice, Sriov};
pub use pci_distance::PciDistance;

use alloc::collections::{BTreeMap, BTreeSet};

use cpuset::{CpuId, CpuSet};

use check::{Place, check};

use crate::{HugePages, NodeId};

/// A machine whose parts fit each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    parts: MachineParts,
    places: BTreeMap<CpuId, Place>,
}

impl Machine {
    /// The machine with its nodes in ascending order of id, cores and packages in order of their lowest CPU, caches
    /// by level, kind and lowest CPU, devices by address.
    pub fn new(mut parts: MachineParts) -> Result<Self, InvalidMachine> {
        parts.nodes.sort_by_key(|node| node.id);
        parts.packages.sort_by_key(|package| package.cpus.first());
        parts.cores.sort_by_key(|core| core.cpus.first());
        parts.caches.sort_by_key(|cache| (cache.level, cache.kind, cache.cpus.first()));
        parts.devices.sort_by_key(|device| device.address);
        parts.hugepages.sort_by_key(|pages| pages.page_size_kib);
        for node in &mut parts.nodes {
            node.hugepages.sort_by_key(|pages| pages.page_size_kib);
        }
        let places = check(&parts)?;
        Ok(Self { parts, places })
    }

    /// Packages, by lowest CPU.
    #[must_use]
    pub fn packages(&self) -> &[Package] {
        &self.parts.packages
    }

    /// Cores with an online CPU, by lowest CPU.
    #[must_use]
    pub fn cores(&self) -> &[Core] {
        &self.parts.cores
    }

    /// Caches of every level and kind.
    #[must_use]
    pub fn caches(&self) -> &[CpuCache] {
        &self.parts.caches
    }

    /// Data and unified caches of one level, by lowest CPU.
    pub fn caches_at(&self, level: u8) -> impl Iterator<Item = &CpuCache> {
        let is_there = move |cache: &&CpuCache| cache.level == level && cache.kind != CacheKind::Instruction;
        self.parts.caches.iter().filter(is_there)
    }

    /// NUMA nodes, in ascending order of id.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.parts.nodes
    }

    /// The node with this id.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.parts.nodes.get(self.position(id)?)
    }

    fn position(&self, id: NodeId) -> Option<usize> {
        self.parts.nodes.binary_search_by_key(&id, |node| node.id).ok()
    }

    /// The distance that node `from` reports to node `to`; 10 is local. `None`: the firmware does not say, or there
    /// is no such node.
    #[must_use]
    pub fn distance(&self, from: NodeId, to: NodeId) -> Option<u32> {
        self.node(from)?.distances.as_ref()?.get(self.position(to)?).copied()
    }

    /// PCI devices, by address.
    #[must_use]
    pub fn devices(&self) -> &[PciDevice] {
        &self.parts.devices
    }

    /// The device at an address.
    #[must_use]
    pub fn device(&self, address: PciAddress) -> Option<&PciDevice> {
        let at = self.parts.devices.binary_search_by_key(&address, |device| device.address).ok()?;
        self.parts.devices.get(at)
    }

    /// Devices without a bridge above them that is known, and those behind a bridge: the next level of the tree.
    pub fn devices_behind(&self, parent: Option<PciAddress>) -> impl Iterator<Item = &PciDevice> {
        self.parts.devices.iter().filter(move |device| device.parent == parent)
    }

    /// CPUs that run, and those that do not.
    #[must_use]
    pub const fn cpus(&self) -> &CpuLists {
        &self.parts.cpus
    }

    /// CPUs that run.
    #[must_use]
    pub const fn online(&self) -> &CpuSet {
        &self.parts.cpus.online
    }

    /// CPUs that are there and do not run.
    #[must_use]
    pub const fn offline(&self) -> &CpuSet {
        &self.parts.cpus.offline
    }

    /// What the kernel lists nodes under.
    #[must_use]
    pub const fn node_lists(&self) -> &NodeLists {
        &self.parts.node_lists
    }

    /// Whether cores run several threads.
    #[must_use]
    pub const fn smt(&self) -> &Smt {
        &self.parts.smt
    }

    /// Memory of the whole machine in bytes; it is not the exact sum of the nodes'. `None`: not known.
    #[must_use]
    pub const fn memory(&self) -> Option<u64> {
        self.parts.memory
    }

    /// Huge pages of the whole machine, by size.
    #[must_use]
    pub fn hugepages(&self) -> &[HugePages] {
        &self.parts.hugepages
    }

    /// The huge page size in KiB that is used where none is named.
    #[must_use]
    pub const fn default_hugepage_kib(&self) -> Option<u64> {
        self.parts.default_hugepage_kib
    }

    /// The package of an online CPU.
    #[must_use]
    pub fn package_of(&self, cpu: CpuId) -> Option<&Package> {
        self.parts.packages.get(self.places.get(&cpu)?.package)
    }

    /// The core of an online CPU.
    #[must_use]
    pub fn core_of(&self, cpu: CpuId) -> Option<&Core> {
        self.parts.cores.get(self.places.get(&cpu)?.core)
    }

    /// The node of an online CPU.
    #[must_use]
    pub fn node_of(&self, cpu: CpuId) -> Option<NodeId> {
        Some(self.parts.nodes.get(self.places.get(&cpu)?.node)?.id)
    }

    /// The nodes that have one of these CPUs.
    #[must_use]
    pub fn nodes_of(&self, cpus: &CpuSet) -> BTreeSet<NodeId> {
        cpus.iter().filter_map(|cpu| self.node_of(cpu)).collect()
    }

    /// The parts, to be changed and checked again.
    #[must_use]
    pub fn into_parts(self) -> MachineParts {
        self.parts
    }
}
