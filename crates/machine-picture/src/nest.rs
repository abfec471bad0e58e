//! The layout: packages, NUMA nodes, shared caches and cores of a machine, one inside the other by their CPU sets.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::mem;

use cpuset::CpuSet;
use topology_model::{CacheKind, Core, CoreKind, CpuCache, Machine, Node, NodeId, Package, PciDevice};

use crate::shares::Shares;

/// The direct contents of the machine or of a place.
#[derive(Debug, Default)]
pub(crate) struct Inside<'m> {
    pub(crate) places: Vec<Place<'m>>,
    /// Cores that are in no inner place.
    pub(crate) cores: Vec<&'m Core>,
    /// Nodes without CPUs that are nearer to here than to anything inside.
    pub(crate) memory: Vec<&'m Node>,
    /// PCI root complexes that lead to a device that does work.
    pub(crate) roots: Vec<Root<'m>>,
}

/// Parts of a machine that have the same CPUs.
#[derive(Debug)]
pub(crate) struct Place<'m> {
    /// The outermost first.
    pub(crate) parts: Vec<Part<'m>>,
    pub(crate) cpus: CpuSet,
    pub(crate) inside: Inside<'m>,
}

/// A part of a machine that has CPUs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'m> {
    Package(&'m Package),
    Node(&'m Node),
    /// A cache that several cores share.
    Cache(&'m CpuCache),
}

/// The part of a PCI root complex that leads to devices near one NUMA node. A root complex whose devices are near
/// several nodes is drawn at each of them: the node that the kernel names for a device counts, not that of its
/// neighbours.
#[derive(Debug)]
pub(crate) struct Root<'m> {
    pub(crate) domain: u32,
    pub(crate) bus: u8,
    /// Plugged directly into it.
    pub(crate) devices: Vec<&'m PciDevice>,
    /// The node that these devices are near to; `None` if it is not known.
    pub(crate) node: Option<NodeId>,
}

/// The whole machine.
#[derive(Debug)]
pub(crate) struct Nest<'m> {
    pub(crate) inside: Inside<'m>,
    /// Nodes without CPUs, memory and PCI devices where a generic initiator starts memory traffic.
    pub(crate) initiators: Vec<NodeId>,
    /// Nodes that have nothing but a number.
    pub(crate) empty: Vec<NodeId>,
}

impl<'m> Nest<'m> {
    pub(crate) fn new(machine: &'m Machine) -> Self {
        let mut inside = Inside::default();
        for (part, cpus) in parts(machine) {
            insert(&mut inside.places, part, cpus);
        }
        for core in machine.cores() {
            inside.smallest(&core.cpus).cores.push(core);
        }
        let roots = roots(machine);
        let of_initiators = machine.node_lists().has_generic_initiator.as_deref().unwrap_or_default();
        let (mut initiators, mut empty) = (Vec::new(), Vec::new());
        for node in machine.nodes().iter().filter(|node| node.cpus.is_empty()) {
            let has_devices = machine.devices().iter().any(|device| device.node.id() == Some(node.id));
            if node.memory == Some(0) && !has_devices {
                if of_initiators.contains(&node.id) { &mut initiators } else { &mut empty }.push(node.id);
            } else {
                inside.smallest(&near(machine, node)).memory.push(node);
            }
        }
        for root in roots {
            let node = root.node.and_then(|id| machine.node(id));
            let cpus = node.map_or_else(CpuSet::new, |node| {
                if node.cpus.is_empty() { near(machine, node) } else { node.cpus.clone() }
            });
            inside.smallest(&cpus).roots.push(root);
        }
        Self { inside, initiators, empty }
    }
}

impl Inside<'_> {
    /// The contents of the smallest place that has all these CPUs. An empty set belongs to the machine.
    fn smallest(&mut self, cpus: &CpuSet) -> &mut Self {
        let at = self.places.iter().position(|place| !cpus.is_empty() && cpus.is_subset(&place.cpus));
        match at {
            Some(at) => self.places[at].inside.smallest(cpus),
            None => self,
        }
    }
}

/// All parts that have CPUs, the largest first.
fn parts(machine: &Machine) -> Vec<(Part<'_>, &CpuSet)> {
    let packages = machine.packages().iter().map(|package| (Part::Package(package), &package.cpus));
    let nodes = machine.nodes().iter().filter(|node| !node.cpus.is_empty());
    let nodes = nodes.map(|node| (Part::Node(node), &node.cpus));
    let shared = machine.caches().iter().filter(|cache| {
        let core = cache.cpus.first().and_then(|cpu| machine.core_of(cpu));
        cache.kind != CacheKind::Instruction && !core.is_some_and(|core| cache.cpus.is_subset(&core.cpus))
    });
    let caches = shared.map(|cache| (Part::Cache(cache), &cache.cpus));
    let mut all: Vec<_> = packages.chain(nodes).chain(caches).collect();
    let rank = |part: &Part<'_>| match part {
        Part::Package(_) => 0,
        Part::Node(_) => 1,
        Part::Cache(cache) => 100 - i32::from(cache.level.min(90)),
    };
    all.sort_by_key(|(part, cpus)| (Reverse(cpus.len()), rank(part), cpus.first()));
    all
}

fn insert<'m>(places: &mut Vec<Place<'m>>, part: Part<'m>, cpus: &CpuSet) {
    if let Some(place) = places.iter_mut().find(|place| cpus.is_subset(&place.cpus)) {
        if place.cpus == *cpus {
            place.parts.push(part);
        } else {
            insert(&mut place.inside.places, part, cpus);
        }
        return;
    }
    let at = places.partition_point(|place| place.cpus.first() < cpus.first());
    places.insert(at, Place { parts: vec![part], cpus: cpus.clone(), inside: Inside::default() });
}

/// The CPUs of the nodes that a node without CPUs is nearest to; empty if all nodes are equally near.
fn near(machine: &Machine, node: &Node) -> CpuSet {
    let with_cpus = machine.nodes().iter().enumerate().filter(|(_, other)| !other.cpus.is_empty());
    let row = node.distances.as_deref().unwrap_or_default();
    let known: Vec<_> = with_cpus.filter_map(|(at, other)| Some((*row.get(at)?, other))).collect();
    let Some(least) = known.iter().map(|(distance, _)| *distance).min() else { return CpuSet::new() };
    let nearest: Vec<_> = known.iter().filter(|(distance, _)| *distance == least).collect();
    if nearest.len() > 1 && nearest.len() == known.len() {
        return CpuSet::new();
    }
    nearest.iter().fold(CpuSet::new(), |all, (_, node)| &all | &node.cpus)
}

fn roots(machine: &Machine) -> Vec<Root<'_>> {
    let mut roots: BTreeMap<(u32, u8, Option<NodeId>), Vec<&PciDevice>> = BTreeMap::new();
    for device in machine.devices_behind(None) {
        let (domain, bus) = machine.pci_root(device);
        for node in nodes_of_work(machine, device) {
            roots.entry((domain, bus, node)).or_default().push(device);
        }
    }
    let roots = roots.into_iter();
    roots.map(|((domain, bus, node), devices)| Root { domain, bus, devices, node }).collect()
}

/// The nodes of those devices that do work, among a device and the devices behind it.
fn nodes_of_work(machine: &Machine, device: &PciDevice) -> BTreeSet<Option<NodeId>> {
    let behind = machine.devices_behind(Some(device.address));
    let mut nodes: BTreeSet<_> = behind.flat_map(|behind| nodes_of_work(machine, behind)).collect();
    if device.does_work() {
        nodes.insert(device.node.id());
    }
    nodes
}

/// Whether a device that does work is near this node.
pub(crate) fn works_near(device: &PciDevice, node: Option<NodeId>) -> bool {
    device.does_work() && device.node.id() == node
}

/// Whether a device near this node, or one behind it, does work.
pub(crate) fn leads_to_work(machine: &Machine, device: &PciDevice, node: Option<NodeId>) -> bool {
    works_near(device, node)
        || machine.devices_behind(Some(device.address)).any(|behind| leads_to_work(machine, behind, node))
}

/// Groups of neighbouring devices that differ in nothing but their address: same kind, same owner, nothing behind them.
pub(crate) fn device_groups<'m>(
    machine: &Machine,
    shares: &Shares,
    devices: &[&'m PciDevice],
) -> Vec<Vec<&'m PciDevice>> {
    let has_none_behind = |device: &PciDevice| machine.devices_behind(Some(device.address)).next().is_none();
    let kind = |device: &PciDevice| (device.class, device.vendor, device.device, device.node);
    let part = |device: &PciDevice| mem::discriminant(&device.sriov);
    let alike = |one: &&PciDevice, other: &&PciDevice| {
        kind(one) == kind(other)
            && part(one) == part(other)
            && one.kernel_names == other.kernel_names
            && has_none_behind(one)
            && has_none_behind(other)
            && shares.of_device(one) == shares.of_device(other)
    };
    devices.chunk_by(alike).map(<[_]>::to_vec).collect()
}

/// Cores that are alike.
#[derive(Clone, Debug)]
pub(crate) struct CoreGroup<'m> {
    pub(crate) kind: CoreKind,
    pub(crate) threads: usize,
    /// Private caches of each core, the nearest first.
    pub(crate) caches: Vec<&'m CpuCache>,
    pub(crate) cores: Vec<&'m Core>,
}

/// The cores in groups that are alike, in order of the first core of each group.
pub(crate) fn alike<'m>(machine: &'m Machine, cores: &[&'m Core]) -> Vec<CoreGroup<'m>> {
    let mut groups: Vec<CoreGroup<'m>> = Vec::new();
    for core in cores {
        let own = machine.caches().iter().filter(|cache| cache.cpus.is_subset(&core.cpus));
        let mut caches: Vec<_> = own.collect();
        // Two threads with a cache each, as where a core is a pair of integer units, count once.
        caches.dedup_by_key(|cache| (cache.level, cache.kind, cache.size_kib));
        let (kind, threads) = (core.kind, core.cpus.len());
        let same = groups.iter_mut().find(|group| {
            let shape = |caches: &[&CpuCache]| -> Vec<_> {
                caches.iter().map(|cache| (cache.level, cache.kind, cache.size_kib)).collect()
            };
            group.kind == kind && group.threads == threads && shape(&group.caches) == shape(&caches)
        });
        match same {
            Some(group) => group.cores.push(core),
            None => groups.push(CoreGroup { kind, threads, caches, cores: vec![core] }),
        }
    }
    groups
}
