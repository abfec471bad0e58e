//! Where a device is: the NUMA node and the PCI root that it publishes, or those of its PCI address on a machine.
//!
//! Drivers name them differently. Only the attributes of [`PLACES`] are read, each with the public source that says what it is; an
//! attribute of another name is taken for nothing, however it sounds.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use dra_model::{AttributeValue, Device};
use topology_model::{Machine, NodeId, PciAddress};

/// The driver of the CPUs of a node: `kubernetes-sigs/dra-driver-cpu`.
pub const CPU_DRIVER: &str = "dra.cpu";

/// An attribute of published drivers that says where a device is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlaceAttribute {
    /// `domain/id`.
    pub name: &'static str,
    /// What it says.
    pub place: Place,
    /// Where that is written.
    pub source: &'static str,
}

/// What an attribute says of a device's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The NUMA node: a number, or a list that begins with it.
    NumaNode,
    /// The PCI root: a text such as `pci0000:3a`, or a list of them.
    PcieRoot,
    /// The PCI address: a text such as `0000:3b:00.1`.
    PciAddress,
}

const fn row(name: &'static str, place: Place, source: &'static str) -> PlaceAttribute {
    PlaceAttribute { name, place, source }
}

/// The attributes that Kubernetes itself defines.
const STANDARD: &str =
    "kubernetes/kubernetes staging/src/k8s.io/dynamic-resource-allocation/deviceattribute/constants.go";

/// The attributes, in the order in which they are read.
pub const PLACES: [PlaceAttribute; 13] = [
    row("resource.kubernetes.io/numaNode", Place::NumaNode, STANDARD),
    row(
        "dra.cpu/numaNodeID",
        Place::NumaNode,
        "kubernetes-sigs/dra-driver-cpu docs/user/device-attributes.md",
    ),
    row("dra.net/numaNode", Place::NumaNode, "kubernetes-sigs/dranet pkg/apis/attributes.go"),
    row("gpu.amd.com/numaNode", Place::NumaNode, "ROCm/k8s-gpu-dra-driver docs/driver-attributes.md"),
    row(
        "gpu.nvidia.com/numa",
        Place::NumaNode,
        "NVIDIA/k8s-dra-driver-gpu cmd/gpu-kubelet-plugin/deviceinfo.go (devices for VFIO)",
    ),
    row("dra.memory/numaNode", Place::NumaNode, "ffromani/dra-driver-memory pkg/sysinfo"),
    row("dra.cpu/numaNode", Place::NumaNode, "ffromani/dra-driver-memory pkg/sysinfo"),
    row(
        "cpu.example.com/numaNodeID",
        Place::NumaNode,
        "kubernetes-sigs/dra-example-driver internal/profiles/cpu/cpu.go",
    ),
    row("resource.kubernetes.io/pcieRoot", Place::PcieRoot, STANDARD),
    row("resource.kubernetes.io/pciBusID", Place::PciAddress, STANDARD),
    row("dra.net/pciAddress", Place::PciAddress, "kubernetes-sigs/dranet pkg/apis/attributes.go"),
    row("gpu.amd.com/pciAddr", Place::PciAddress, "ROCm/k8s-gpu-dra-driver docs/driver-attributes.md"),
    row(
        "gpu.nvidia.com/pcieBusID",
        Place::PciAddress,
        "NVIDIA/k8s-dra-driver-gpu cmd/gpu-kubelet-plugin/deviceinfo.go",
    ),
];

/// A place of a device, and how it is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located<T> {
    /// The place.
    pub place: T,
    /// How it is known.
    pub by: KnownBy,
}

/// How a place is known. Displays as the attribute, `domain/id`, or as `PCI` and the address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KnownBy {
    /// By this attribute.
    Attribute(&'static str),
    /// By its PCI address on the machine.
    Machine(PciAddress),
}

impl fmt::Display for KnownBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attribute(name) => f.write_str(name),
            Self::Machine(address) => write!(f, "PCI {address}"),
        }
    }
}

/// The NUMA node of a device of a driver. `None`: neither its attributes nor the machine say it; a negative number is none.
#[must_use]
pub fn numa_node(driver: &str, device: &Device, machine: Option<&Machine>) -> Option<Located<NodeId>> {
    let mut published = published(driver, device, Place::NumaNode, |value| match value {
        AttributeValue::Int(node) => Some(*node),
        AttributeValue::Ints(nodes) => nodes.first().copied(),
        _ => None,
    });
    if let Some((name, node)) = published.find(|(_, node)| *node >= 0) {
        return Some(Located { place: NodeId(node), by: KnownBy::Attribute(name) });
    }
    let address = pci_address(driver, device)?;
    let node = machine?.device(address)?.node.id()?;
    Some(Located { place: node, by: KnownBy::Machine(address) })
}

/// The PCI roots of a device of a driver, such as `pci0000:3a`; CPUs can be near several. `None`: neither its attributes nor the
/// machine say it.
#[must_use]
pub fn pcie_root(driver: &str, device: &Device, machine: Option<&Machine>) -> Option<Located<Vec<String>>> {
    let mut published = published(driver, device, Place::PcieRoot, |value| match value {
        AttributeValue::String(root) => Some(Vec::from([root.clone()])),
        AttributeValue::Strings(roots) if !roots.is_empty() => Some(roots.clone()),
        _ => None,
    });
    if let Some((name, place)) = published.next() {
        return Some(Located { place, by: KnownBy::Attribute(name) });
    }
    let address = pci_address(driver, device)?;
    let machine = machine?;
    let (domain, bus) = machine.pci_root(machine.device(address)?);
    let place = Vec::from([alloc::format!("pci{domain:04x}:{bus:02x}")]);
    Some(Located { place, by: KnownBy::Machine(address) })
}

/// The PCI address that a device of a driver publishes.
pub(crate) fn pci_address(driver: &str, device: &Device) -> Option<PciAddress> {
    let mut published = published(driver, device, Place::PciAddress, |value| match value {
        AttributeValue::String(address) => address.parse().ok(),
        _ => None,
    });
    published.next().map(|(_, address)| address)
}

/// What the attributes of a place say, in the order of the table.
fn published<'d, T>(
    driver: &'d str,
    device: &'d Device,
    place: Place,
    read: impl Fn(&AttributeValue) -> Option<T> + 'd,
) -> impl Iterator<Item = (&'static str, T)> + 'd {
    let rows = PLACES.iter().filter(move |row| row.place == place);
    rows.filter_map(move |row| Some((row.name, read(device.attribute(driver, row.name)?.value()?)?)))
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::string::ToString as _;

    use dra_model::Attribute;
    use topology_model::{DeviceNode, PciDevice};

    use super::*;

    fn device(attributes: &[(&str, Attribute)]) -> Device {
        let mut device = Device::new("d");
        device.attributes = attributes.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
        device
    }

    /// A machine with one device on node 1, behind a root port of bus 3a.
    fn machine() -> Machine {
        let machine: Machine = "pack:2 [numa] core:1 pu:1".parse().unwrap();
        let mut parts = machine.into_parts();
        let port = PciDevice::new("0000:3a:00.0".parse().unwrap(), 0x06_0400);
        let nic = PciDevice {
            node: DeviceNode::Known(NodeId(1)),
            parent: Some(port.address),
            ..PciDevice::new("0000:3b:00.1".parse().unwrap(), 0x02_0000)
        };
        parts.devices = Vec::from([port, nic]);
        Machine::new(parts).unwrap()
    }

    #[test]
    fn names_of_the_table_are_read_and_no_others() {
        let ints = |nodes: &[i64]| Attribute::new(AttributeValue::Ints(nodes.to_vec()));
        for (driver, attributes, expected) in [
            ("a", &[("resource.kubernetes.io/numaNode", Attribute::from(1))][..], Some(1)),
            ("dra.cpu", &[("numaNodeID", Attribute::from(2))], Some(2)),
            ("a", &[("numaNodeID", Attribute::from(2))], None),
            ("cpu.example.com", &[("numaNodeID", Attribute::from(1))], Some(1)),
            ("gpu.amd.com", &[("numaNode", Attribute::from(0))], Some(0)),
            ("a", &[("a/numaNode", Attribute::from(0))], None),
            ("gpu.nvidia.com", &[("numa", Attribute::from(-1))], None),
            ("a", &[("resource.kubernetes.io/numaNode", ints(&[3, 2]))], Some(3)),
            ("a", &[("resource.kubernetes.io/numaNode", "1".into())], None),
            (
                "dra.net",
                &[
                    ("dra.net/numaNode", Attribute::from(0)),
                    ("resource.kubernetes.io/numaNode", Attribute::from(1)),
                ],
                Some(1),
            ),
        ] {
            let found = numa_node(driver, &device(attributes), Some(&machine()));
            assert_eq!(found.map(|located| located.place.0), expected, "{driver} {attributes:?}");
        }
    }

    #[test]
    fn a_pci_address_is_looked_up_on_the_machine_and_nothing_is_guessed_without_one() {
        let machine = machine();
        for (name, address, expected) in [
            ("resource.kubernetes.io/pciBusID", "0000:3b:00.1", Some((1, "pci0000:3a"))),
            ("dra.net/pciAddress", "0000:3b:00.1", Some((1, "pci0000:3a"))),
            ("resource.kubernetes.io/pciBusID", "0000:3c:00.0", None),
            ("resource.kubernetes.io/pciBusID", "nonsense", None),
            ("vendor.example.com/pciAddress", "0000:3b:00.1", None),
        ] {
            let device = device(&[(name, address.into())]);
            let node = numa_node("d", &device, Some(&machine));
            let root = pcie_root("d", &device, Some(&machine));
            assert_eq!(
                node.as_ref().map(|node| node.place.0),
                expected.map(|(node, _)| node),
                "{name} {address}"
            );
            let roots = root.map(|root| root.place);
            assert_eq!(roots, expected.map(|(_, root)| Vec::from([root.to_string()])), "{name} {address}");
            assert_eq!(numa_node("d", &device, None), None);
        }
    }

    #[test]
    fn the_table_has_each_name_once() {
        let names: BTreeSet<&str> = PLACES.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), PLACES.len());
        assert!(PLACES.iter().all(|row| row.name.contains('/') && row.source.contains('/')));
    }
}
