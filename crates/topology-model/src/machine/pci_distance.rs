//! How far two PCI devices are from each other.

use super::{Machine, PciAddress, PciDevice};

/// What traffic between two devices has to pass; the nearest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PciDistance {
    /// A bridge that both are behind: a switch, or the port of one card. It does not reach the root complex.
    SameSwitch,
    /// The root complex that both are plugged into.
    SameRoot,
    /// The NUMA node that both are near.
    SameNode,
    /// The links between nodes; also where a node is not known.
    Other,
}

impl Machine {
    /// The bridges above a device, nearest first.
    pub fn bridges_above(&self, device: &PciDevice) -> impl Iterator<Item = &PciDevice> {
        let above = |address: Option<PciAddress>| address.and_then(|address| self.device(address));
        let all = core::iter::successors(above(device.parent), move |bridge| above(bridge.parent));
        // Bridges that are behind each other end somewhere: there are no more of them than devices.
        all.take(self.devices().len())
    }

    /// The root complex of a device, by domain and bus: that of the bridge, or device, above which none is known.
    #[must_use]
    pub fn pci_root(&self, device: &PciDevice) -> (u32, u8) {
        let top = self.bridges_above(device).last().unwrap_or(device).address;
        (top.domain, top.bus)
    }

    /// The distance between two devices. A device is as far from itself, and from a bridge that it is behind, as from
    /// what is on its own switch.
    #[must_use]
    pub fn pci_distance(&self, one: &PciDevice, other: &PciDevice) -> PciDistance {
        let way = |device| core::iter::once(device).chain(self.bridges_above(device));
        let meets = |bridge: &PciDevice| way(other).any(|on_way| on_way.address == bridge.address);
        if way(one).any(meets) {
            PciDistance::SameSwitch
        } else if self.pci_root(one) == self.pci_root(other) {
            PciDistance::SameRoot
        } else if one.node.id().is_some() && one.node.id() == other.node.id() {
            PciDistance::SameNode
        } else {
            PciDistance::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::{DeviceNode, NodeId};

    /// A machine of two nodes with devices: address, the bridge above, node.
    fn machine(devices: &[(&str, &str, Option<i64>)]) -> Machine {
        let machine: Machine = "pack:2 [numa] core:1 pu:1".parse().unwrap();
        let mut parts = machine.into_parts();
        parts.devices = devices
            .iter()
            .map(|(address, parent, node)| PciDevice {
                node: node.map_or(DeviceNode::Unknown, |node| DeviceNode::Known(NodeId(node))),
                parent: parent.parse().ok(),
                ..PciDevice::new(address.parse().unwrap(), 0x02_0000)
            })
            .collect();
        Machine::new(parts).unwrap()
    }

    #[test]
    fn the_nearest_thing_in_common_counts() {
        let machine = machine(&[
            // A switch with two ports under one root port, and a second root port.
            ("0000:00:01.0", "", Some(0)),
            ("0000:01:00.0", "0000:00:01.0", Some(0)),
            ("0000:02:00.0", "0000:01:00.0", Some(0)),
            ("0000:02:01.0", "0000:01:00.0", Some(0)),
            ("0000:03:00.0", "0000:02:00.0", Some(0)),
            ("0000:04:00.0", "0000:02:01.0", Some(0)),
            ("0000:00:02.0", "", Some(0)),
            ("0000:05:00.0", "0000:00:02.0", Some(0)),
            // Another root complex at the same node, one at the other, and two without a known node.
            ("0000:40:00.0", "", Some(0)),
            ("0000:80:00.0", "", Some(1)),
            ("10000:00:00.0", "", None),
            ("10001:00:00.0", "", None),
        ]);
        let device = |address: &str| machine.device(address.parse().unwrap()).unwrap();
        for (one, other, distance) in [
            ("0000:03:00.0", "0000:03:00.0", PciDistance::SameSwitch),
            ("0000:03:00.0", "0000:04:00.0", PciDistance::SameSwitch),
            ("0000:03:00.0", "0000:02:00.0", PciDistance::SameSwitch),
            ("0000:03:00.0", "0000:05:00.0", PciDistance::SameRoot),
            ("0000:03:00.0", "0000:40:00.0", PciDistance::SameNode),
            ("0000:03:00.0", "0000:80:00.0", PciDistance::Other),
            ("0000:03:00.0", "10000:00:00.0", PciDistance::Other),
            ("10000:00:00.0", "10001:00:00.0", PciDistance::Other),
        ] {
            let (one, other) = (device(one), device(other));
            assert_eq!(machine.pci_distance(one, other), distance, "{} {}", one.address, other.address);
            assert_eq!(machine.pci_distance(other, one), distance, "{} {}", other.address, one.address);
        }
        assert_eq!(machine.pci_root(device("0000:04:00.0")), (0, 0));
        let above: Vec<_> =
            machine.bridges_above(device("0000:04:00.0")).map(|bridge| bridge.address.bus).collect();
        assert_eq!(above, [2, 1, 0]);
    }

    #[test]
    fn bridges_behind_each_other_do_not_hold_it_up() {
        let machine = machine(&[
            ("0000:00:01.0", "0000:01:00.0", Some(0)),
            ("0000:01:00.0", "0000:00:01.0", Some(0)),
            ("0000:02:00.0", "", Some(1)),
        ]);
        let (one, other) = (&machine.devices()[0], &machine.devices()[2]);
        assert_eq!(machine.pci_distance(one, other), PciDistance::Other);
    }
}
