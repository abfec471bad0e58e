//! What lies in what: the packages, NUMA nodes, shared caches and cores of a machine, one inside the other.
//!
//! Machines nest differently: a package has nodes, or a node has packages; an L3 cache spans nodes, or is one. So the
//! order is that of the CPU sets themselves: what has fewer CPUs lies in the smallest thing that has them all. Things
//! with the same CPUs are one place.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::render::{ranges, words};
use crate::shares::Shares;
use cpuset::CpuSet;
use topology_model::{CacheKind, Core, CoreKind, CpuCache, Machine, Node, NodeId, Package, PciDevice};

/// What lies directly under the machine, or in a place.
#[derive(Debug, Default)]
pub(crate) struct Inside<'m> {
    pub(crate) places: Vec<Place<'m>>,
    /// Cores that no inner place has.
    pub(crate) cores: Vec<&'m Core>,
    /// Nodes without CPUs that are nearer to here than to anything inside.
    pub(crate) memory: Vec<&'m Node>,
    /// Root complexes with a device that does work.
    pub(crate) roots: Vec<Root<'m>>,
}

/// A set of CPUs with a meaning.
#[derive(Debug)]
pub(crate) struct Place<'m> {
    /// What has exactly these CPUs, the outermost first.
    pub(crate) parts: Vec<Part<'m>>,
    pub(crate) cpus: CpuSet,
    pub(crate) inside: Inside<'m>,
}

/// What a place is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'m> {
    Package(&'m Package),
    Node(&'m Node),
    /// A cache that several cores share.
    Cache(&'m CpuCache),
}

/// A PCI root complex, as far as it leads to devices near one node. Where its devices are near several nodes, each
/// node has it: what the kernel says of a device counts over what its neighbours are near to.
#[derive(Debug)]
pub(crate) struct Root<'m> {
    pub(crate) domain: u32,
    pub(crate) bus: u8,
    /// What is plugged into it directly.
    pub(crate) devices: Vec<&'m PciDevice>,
    /// The node of those of its devices that are meant; `None`: it is not known.
    pub(crate) node: Option<NodeId>,
}

/// The whole machine.
#[derive(Debug)]
pub(crate) struct Nest<'m> {
    pub(crate) inside: Inside<'m>,
    /// Nodes without CPUs, memory and PCI devices, where something else starts memory traffic.
    pub(crate) initiators: Vec<NodeId>,
    /// Nodes that are a number and nothing else.
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

    /// A line for each kind of nodes without CPUs, memory and PCI devices.
    pub(crate) fn bare(&self, machine: &Machine) -> Vec<String> {
        let nothing = words::nothing(!machine.devices().is_empty());
        let kinds = [(&self.initiators, words::INITIATOR_ONLY), (&self.empty, "")];
        let kinds = kinds.into_iter().filter(|(nodes, _)| !nodes.is_empty());
        let lines = kinds
            .map(|(nodes, what)| format!("NUMA {}: {what}{nothing}", ranges(nodes.iter().map(|id| id.0))));
        lines.collect()
    }
}

impl Inside<'_> {
    /// Where CPUs belong: inside the smallest place that has them all; CPUs that are none belong to the machine.
    fn smallest(&mut self, cpus: &CpuSet) -> &mut Self {
        let at = self.places.iter().position(|place| !cpus.is_empty() && cpus.is_subset(&place.cpus));
        match at {
            Some(at) => self.places[at].inside.smallest(cpus),
            None => self,
        }
    }
}

/// Everything that CPUs are in, the largest first.
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

/// The CPUs of the nodes that a node without CPUs is nearest to; none if it is as near to several as to all.
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

/// The nodes of a device and of those behind it, as far as they do work.
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

/// Devices beside each other that differ in nothing but their address, that one pod has or none, and that nothing is
/// behind.
pub(crate) fn device_groups<'m>(
    machine: &Machine,
    shares: &Shares,
    devices: &[&'m PciDevice],
) -> Vec<Vec<&'m PciDevice>> {
    let has_none_behind = |device: &PciDevice| machine.devices_behind(Some(device.address)).next().is_none();
    let kind = |device: &PciDevice| (device.class, device.vendor, device.device, device.node);
    let part = |device: &PciDevice| std::mem::discriminant(&device.sriov);
    let alike = |one: &&PciDevice, other: &&PciDevice| {
        kind(one) == kind(other)
            && part(one) == part(other)
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
    /// Caches of each core alone, the nearest first.
    pub(crate) caches: Vec<&'m CpuCache>,
    pub(crate) cores: Vec<&'m Core>,
}

/// Cores by what they are like, in the order in which the first of each kind comes.
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
