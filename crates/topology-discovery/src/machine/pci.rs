//! PCI devices, the bridges they are behind, and the nodes they are near.

use std::collections::BTreeMap;

use cpuset::CpuSet;
use topology_model::{DeviceNode, Node, NodeId, PciAddress, PciDevice, Sriov};

use super::kernel_names::kernel_names;
use crate::kernel::{Kernel, NODES, PCI, below, shown};
use crate::problem::Substitute;

/// Names of the files that hold the CPUs near to a device.
pub(crate) const LOCAL: [&str; 2] = ["local_cpulist", "local_cpus"];

/// The file that holds the number of a GPU's hive.
pub(crate) const HIVE: &str = "xgmi_hive_info/xgmi_hive_id";

/// The devices, by address.
pub(super) fn devices(kernel: &Kernel<'_>, online: &CpuSet, nodes: &[Node]) -> Vec<PciDevice> {
    let mut devices = BTreeMap::new();
    for name in kernel.tree.list(PCI).unwrap_or_default() {
        let path = format!("{PCI}/{name}");
        match name.parse::<PciAddress>() {
            Ok(address) => {
                devices.extend(device(kernel, &path, address, online, nodes).map(|device| (address, device)));
            }
            Err(error) => kernel.unusable(&path, &error, Substitute::LeftOut),
        }
    }
    let ways: BTreeMap<_, _> = devices.keys().map(|address| (*address, above(kernel, *address))).collect();
    let known = |address: &PciAddress| devices.contains_key(address);
    for bridge in ways.values().flatten().filter(|address| !known(address)) {
        kernel.missing_unless_there(&format!("{PCI}/{bridge}"), Substitute::LeftOut);
    }
    let parents: Vec<_> = ways
        .iter()
        .map(|(address, way)| (*address, way.iter().copied().find(|above| known(above) && above != address)))
        .collect();
    for (address, parent) in parents {
        if let Some(device) = devices.get_mut(&address) {
            device.parent = parent;
        }
    }
    inherit(&mut devices, &ways);
    pair_functions(&mut devices);
    devices.into_values().collect()
}

fn device(
    kernel: &Kernel<'_>,
    path: &str,
    address: PciAddress,
    online: &CpuSet,
    nodes: &[Node],
) -> Option<PciDevice> {
    // The kernel writes all digits: fewer are the beginning of a number.
    let hex = |name: &str, digits: usize, assumed: Substitute| {
        let path = format!("{path}/{name}");
        let number = kernel.parsed(&path, assumed, |text| {
            let hex = text.strip_prefix("0x").filter(|hex| hex.len() == digits);
            let number = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok());
            number.ok_or_else(|| format!("{text:?} is no number of {digits} hexadecimal digits"))
        });
        if number.is_none() {
            kernel.missing_unless_there(&path, assumed);
        }
        number
    };
    let short = |name: &str| hex(name, 4, Substitute::Unknown).and_then(|number| u16::try_from(number).ok());
    let class = hex("class", 6, Substitute::LeftOut)?;
    let node = match kernel.number(&format!("{path}/numa_node"), Substitute::Unknown) {
        Some(id) if nodes.iter().any(|node| node.id == NodeId(id)) => DeviceNode::Known(NodeId(id)),
        Some(id) if id >= 0 => {
            let reason = format!("there is no NUMA node {id}");
            kernel.unusable(&format!("{path}/numa_node"), &reason, Substitute::Unknown);
            DeviceNode::Unknown
        }
        Some(_) => DeviceNode::Unknown,
        None => {
            // A kernel without NUMA support has no such file.
            if kernel.tree.list(NODES).is_some() {
                kernel.missing_unless_there(&format!("{path}/numa_node"), Substitute::Unknown);
            }
            DeviceNode::Unknown
        }
    };
    let local = local_cpus(kernel, path, online, nodes, node);
    let sriov = linked(kernel, &format!("{path}/physfn")).map_or(Sriov::None, Sriov::Virtual);
    let device = PciDevice {
        vendor: short("vendor"),
        device: short("device"),
        node,
        local_cpus: local,
        sriov,
        ..PciDevice::new(address, class)
    };
    // The driver of AMD's GPUs writes it into the folder of one GPU, to which those of the others have a link.
    let hive = kernel.parsed(&format!("{path}/{HIVE}"), Substitute::Unknown, str::parse);
    let kernel_names = if device.does_work() { kernel_names(kernel.tree, path) } else { Vec::new() };
    let driver = kernel.tree.driver(path);
    Some(PciDevice { kernel_names, hive, driver, ..device })
}

/// The CPUs that are near a device: to the kernel, those of its node.
fn local_cpus(kernel: &Kernel<'_>, path: &str, online: &CpuSet, nodes: &[Node], node: DeviceNode) -> CpuSet {
    let Some((name, local)) = kernel.cpus_with_name(path, &LOCAL) else {
        kernel.missing_unless_there(&format!("{path}/local_cpulist"), Substitute::Unknown);
        return CpuSet::new();
    };
    let local = &local & online;
    let node = nodes.iter().find(|other| DeviceNode::Known(other.id) == node);
    if let Some(node) = node.filter(|node| node.cpus != local) {
        let (path, folder) = (below(path, name), format!("{NODES}/node{}", node.id));
        kernel.differs((&path, shown(&local)), (&folder, shown(&node.cpus)), Substitute::AsRead);
    }
    local
}

/// The addresses on the way from a device up to its root, nearest first: folders of devices lie in each other.
fn above(kernel: &Kernel<'_>, address: PciAddress) -> Vec<PciAddress> {
    let target = kernel.tree.target(&format!("{PCI}/{address}")).unwrap_or_default();
    target.rsplit('/').skip(1).filter_map(|name| name.parse().ok()).collect()
}

/// The device that a link leads to.
fn linked(kernel: &Kernel<'_>, path: &str) -> Option<PciAddress> {
    kernel.tree.target(path)?.rsplit('/').next()?.parse().ok()
}

/// Gives a device whose node the kernel does not tell that of the nearest bridge above it.
fn inherit(devices: &mut BTreeMap<PciAddress, PciDevice>, ways: &BTreeMap<PciAddress, Vec<PciAddress>>) {
    let told: BTreeMap<_, _> =
        devices.values().filter_map(|device| Some((device.address, device.node.reported()?))).collect();
    for device in devices.values_mut().filter(|device| device.node == DeviceNode::Unknown) {
        let mut way = ways.get(&device.address).into_iter().flatten();
        if let Some(id) = way.find_map(|above| told.get(above)) {
            device.node = DeviceNode::Inherited(*id);
        }
    }
}

/// Tells physical functions of their virtual ones; a virtual function whose physical one is not there is ordinary.
fn pair_functions(devices: &mut BTreeMap<PciAddress, PciDevice>) {
    let mut pairs = Vec::new();
    for device in devices.values() {
        if let Sriov::Virtual(physical) = device.sriov {
            pairs.push((device.address, physical));
        }
    }
    for (function, physical) in pairs {
        let Some(card) = devices.get_mut(&physical).filter(|_| physical != function) else {
            devices.entry(function).and_modify(|device| device.sriov = Sriov::None);
            continue;
        };
        match &mut card.sriov {
            Sriov::Physical(functions) => functions.push(function),
            other => *other = Sriov::Physical(vec![function]),
        }
    }
}
