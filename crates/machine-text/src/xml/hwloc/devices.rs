//! PCI devices, and where they are plugged in.

use cpuset::CpuSet;
use roxmltree::Node as Element;
use topology_model::{DeviceNode, Node, PciAddress, PciDevice};

use super::objects::{kind, set};

/// Types of objects that have no CPUs.
const WITHOUT_CPUS: [&str; 5] = ["Bridge", "PCIDev", "OSDev", "Misc", ""];

/// All PCI devices, by address.
pub(super) fn devices(objects: &[Element<'_, '_>], nodes: &[Node]) -> Vec<PciDevice> {
    let mut devices: Vec<PciDevice> = objects.iter().filter_map(|object| device(*object, nodes)).collect();
    devices.sort_by_key(|device| device.address);
    devices.dedup_by_key(|device| device.address);
    devices
}

fn device(object: Element<'_, '_>, nodes: &[Node]) -> Option<PciDevice> {
    if !matches!(kind(object), "PCIDev" | "Bridge") {
        return None;
    }
    let address = address(object)?;
    let (class, vendor, device) = names(object.attribute("pci_type")?)?;
    let above = || object.ancestors().skip(1);
    let place = above().find(|above| !WITHOUT_CPUS.contains(&kind(*above)));
    let bridges = above().filter(|above| kind(*above) == "Bridge");
    Some(PciDevice {
        vendor: Some(vendor),
        device: Some(device),
        node: place.map_or(DeviceNode::Unknown, |place| node_of(&set(place, "nodeset"), nodes)),
        local_cpus: place.map(|place| set(place, "cpuset")).unwrap_or_default(),
        parent: bridges.into_iter().find_map(self::address).filter(|above| *above != address),
        ..PciDevice::new(address, class << 8)
    })
}

fn address(object: Element<'_, '_>) -> Option<PciAddress> {
    object.attribute("pci_busid")?.parse().ok()
}

/// `0200 [8086:1572] [8086:0000] 01`: class, vendor and device. hwloc does not tell the programming interface.
fn names(text: &str) -> Option<(u32, u16, u16)> {
    let (class, rest) = text.split_once(' ')?;
    let (vendor, rest) = rest.trim_start().strip_prefix('[')?.split_once(':')?;
    let (device, _) = rest.split_once(']')?;
    let word = |text: &str| u16::from_str_radix(text, 16).ok();
    Some((word(class)?.into(), word(vendor)?, word(device)?))
}

/// The node of what a device is plugged into: the only one there that has CPUs, or the only one.
fn node_of(nodeset: &CpuSet, nodes: &[Node]) -> DeviceNode {
    let is_near = |node: &&Node| {
        let id = usize::try_from(node.id.0).ok();
        id.is_some_and(|id| nodeset.iter().any(|near| near.get() == id))
    };
    let near: Vec<&Node> = nodes.iter().filter(is_near).collect();
    let with_cpus: Vec<&Node> = near.iter().copied().filter(|node| !node.cpus.is_empty()).collect();
    match (near.as_slice(), with_cpus.as_slice()) {
        ([only], _) | (_, [only]) => DeviceNode::Known(only.id),
        _ => DeviceNode::Unknown,
    }
}
