//! hwloc's objects as the parts of a machine.

use cpuset::{CpuId, CpuSet};
use hwlocality::Topology;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::{ObjectAttributes, PCIDeviceAttributes, UpstreamAttributes};
use hwlocality::object::types::{CacheType, ObjectType};
use topology_model::{
    CacheKind, Core, CoreKind, CpuCache, CpuLists, DeviceNode, HugePages, MachineParts, Node, NodeId,
    Package, PackageId, PciAddress, PciDevice,
};

/// The class of bridges to other devices, with no programming interface.
const BRIDGE: u32 = 0x06_0400;

pub(super) fn parts(topology: &Topology) -> MachineParts {
    let online: CpuSet =
        of_type(topology, ObjectType::PU).filter_map(|cpu| cpu_id(cpu.os_index()?)).collect();
    let complete: CpuSet =
        topology.complete_cpuset().iter_set().filter_map(|cpu| cpu_id(cpu.into())).collect();
    let nodes = nodes(topology, &online);
    let total = topology.root_object().total_memory();
    let mut parts = MachineParts {
        packages: of_type(topology, ObjectType::Package)
            .map(|package| Package { id: PackageId(index(package).unwrap_or(-1)), cpus: cpus(package) })
            .collect(),
        cores: cores(topology),
        caches: topology.normal_objects().filter_map(cache).collect(),
        devices: devices(topology, &nodes),
        nodes,
        memory: Some(total).filter(|bytes| *bytes > 0),
        cpus: CpuLists { offline: &complete - &online, online, ..CpuLists::default() },
        ..MachineParts::default()
    };
    parts.hugepages = parts.hugepages_of_nodes();
    // hwloc leaves out levels of which it knows nothing.
    parts.add_missing_levels();
    parts
}

fn of_type(topology: &Topology, kind: ObjectType) -> impl Iterator<Item = &TopologyObject> {
    topology.objects_with_type(kind)
}

fn cpu_id(number: usize) -> Option<CpuId> {
    CpuId::new(number).ok()
}

fn index(object: &TopologyObject) -> Option<i64> {
    object.os_index().and_then(|index| i64::try_from(index).ok())
}

fn cpus(object: &TopologyObject) -> CpuSet {
    let own = object.cpuset();
    own.iter().flat_map(|own| own.iter_set()).filter_map(|cpu| cpu_id(cpu.into())).collect()
}

fn cores(topology: &Topology) -> Vec<Core> {
    let kinds: Vec<_> = topology.cpu_kinds().into_iter().flatten().collect();
    let kind_of = |own: &CpuSet| {
        let first = own.first();
        let mut infos = kinds
            .iter()
            .filter(|kind| kind.cpuset.iter_set().any(|cpu| cpu_id(cpu.into()) == first))
            .flat_map(|kind| kind.infos);
        let core_type = infos.find(|info| info.name().to_bytes() == b"CoreType");
        match core_type.map(|info| info.value().to_bytes()) {
            Some(b"IntelCore") => CoreKind::Performance,
            Some(b"IntelAtom") => CoreKind::Efficiency,
            _ => CoreKind::Plain,
        }
    };
    let all = of_type(topology, ObjectType::Core).map(|core| {
        let own = cpus(core);
        let die = core.first_ancestor_with_type(ObjectType::Die).and_then(index);
        Core { id: index(core).unwrap_or(-1), die, cluster: None, kind: kind_of(&own), cpus: own }
    });
    all.filter(|core| !core.cpus.is_empty()).collect()
}

fn cache(object: &TopologyObject) -> Option<CpuCache> {
    let Some(ObjectAttributes::Cache(cache)) = object.attributes() else { return None };
    let kind = match cache.cache_type() {
        CacheType::Data => CacheKind::Data,
        CacheType::Instruction => CacheKind::Instruction,
        CacheType::Unified => CacheKind::Unified,
        CacheType::Unknown(_) => return None,
    };
    let own = cpus(object);
    if own.is_empty() {
        return None;
    }
    Some(CpuCache {
        level: u8::try_from(cache.depth()).ok()?,
        kind,
        id: index(object),
        size_kib: cache.size().map(|bytes| bytes.get() / 1024),
        cpus: own,
    })
}

/// The nodes, ascending; a CPU is in the lowest that has it.
fn nodes(topology: &Topology, online: &CpuSet) -> Vec<Node> {
    let mut objects: Vec<_> = of_type(topology, ObjectType::NUMANode).collect();
    objects.sort_by_key(|node| node.os_index());
    let mut left = online.clone();
    let mut nodes = Vec::new();
    for (object, at) in objects.iter().zip(0i64..) {
        let own = &cpus(object) & &left;
        left = &left - &own;
        let (mut memory, mut hugepages) = (None, Vec::new());
        if let Some(ObjectAttributes::NUMANode(told)) = object.attributes() {
            memory = told.local_memory().map(std::num::NonZero::get);
            // The smallest is the ordinary page.
            hugepages.extend(told.page_types().iter().skip(1).map(|pages| HugePages {
                page_size_kib: pages.size().get() / 1024,
                num_pages: pages.count(),
            }));
        }
        let distances = distances(topology, &objects, object);
        nodes.push(Node { id: NodeId(index(object).unwrap_or(at)), cpus: own, memory, hugepages, distances });
    }
    if let Some(first) = nodes.first_mut() {
        first.cpus |= &left;
    }
    nodes
}

/// The distances from a node to all nodes, where hwloc knows all of them.
fn distances(topology: &Topology, nodes: &[&TopologyObject], from: &TopologyObject) -> Option<Vec<u32>> {
    let matrices = topology.distances_with_type(None, ObjectType::NUMANode).ok()?;
    let latency = matrices.into_iter().find(|matrix| {
        matrix.name().is_none_or(|name| name.to_bytes() == b"NUMALatency")
            && matrix.num_objects() == nodes.len()
    })?;
    let row = nodes.iter().map(|to| {
        let (forth, _) = latency.object_pair_distance((from, to))?;
        u32::try_from(forth).ok()
    });
    row.collect()
}

fn devices(topology: &Topology, nodes: &[Node]) -> Vec<PciDevice> {
    let mut devices: Vec<PciDevice> = Vec::new();
    for object in topology.io_objects() {
        let Some((told, class)) = pci(object) else { continue };
        let Some(address) = address(told) else { continue };
        let parent = object.ancestors().find_map(address_of_bridge).filter(|above| *above != address);
        let place = object.first_non_io_ancestor();
        let local_cpus = place.map(cpus).unwrap_or_default();
        devices.push(PciDevice {
            vendor: Some(told.vendor_id()),
            device: Some(told.device_id()),
            node: place.map_or(DeviceNode::Unknown, |place| node_of(place, nodes)),
            local_cpus,
            parent,
            ..PciDevice::new(address, class)
        });
    }
    devices.sort_by_key(|device| device.address);
    devices.dedup_by_key(|device| device.address);
    devices
}

/// A device, or a bridge that is one, with class and programming interface; hwloc does not tell the latter.
fn pci(object: &TopologyObject) -> Option<(&PCIDeviceAttributes, u32)> {
    match object.attributes()? {
        ObjectAttributes::PCIDevice(told) => Some((told, u32::from(told.class_id()) << 8)),
        ObjectAttributes::Bridge(bridge) => match bridge.upstream_attributes()? {
            UpstreamAttributes::PCI(told) => Some((told, BRIDGE)),
        },
        _ => None,
    }
}

fn address_of_bridge(object: &TopologyObject) -> Option<PciAddress> {
    (object.object_type() == ObjectType::Bridge).then(|| address(pci(object)?.0)).flatten()
}

fn address(told: &PCIDeviceAttributes) -> Option<PciAddress> {
    let (domain, bus) = (u32::from(told.domain()), told.bus_id());
    (told.bus_device() < 32 && told.function() < 8).then_some(PciAddress {
        domain,
        bus,
        device: told.bus_device(),
        function: told.function(),
    })
}

/// The node of what a device is plugged into: the only one there that has CPUs, or the only one.
fn node_of(place: &TopologyObject, nodes: &[Node]) -> DeviceNode {
    let told = place.nodeset();
    let ids: Vec<i64> = told
        .iter()
        .flat_map(|told| told.iter_set())
        .filter_map(|node| i64::try_from(usize::from(node)).ok())
        .collect();
    let near: Vec<_> = nodes.iter().filter(|node| ids.contains(&node.id.0)).collect();
    let with_cpus: Vec<_> = near.iter().filter(|node| !node.cpus.is_empty()).copied().collect();
    match (near.as_slice(), with_cpus.as_slice()) {
        ([only], _) | (_, [only]) => DeviceNode::Known(only.id),
        _ => DeviceNode::Unknown,
    }
}
