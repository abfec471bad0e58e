//! The GPUs, NICs, disks and accelerators of a machine as the slices that a driver could publish of them.

use dra_model::{Device, DeviceName, Metadata, NodeSelection, Pool, ResourceSlice};
use topology_discovery::{DeviceAttributes, PciAddress};
use topology_model::{DeviceKind, PciDevice, Sriov};

use crate::machine::files_of;

/// The most devices of a slice.
const MOST_DEVICES: usize = 128;

/// Slices of a machine's devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineSlices {
    /// What the machine is called.
    pub machine: String,
    /// One pool; none if the machine has no such device.
    pub slices: Vec<ResourceSlice>,
    /// How many devices have no NUMA node to publish, since the kernel reports none.
    pub without_node: usize,
}

impl MachineSlices {
    /// Of the machine that a `--machine` argument means, on a node of this name, by this driver. Each device has the standard
    /// attributes as Kubernetes' own library for drivers reads them, and beside them `kind`, `vendor` and `device` of the driver;
    /// a virtual function has `physicalFunction`.
    ///
    /// # Errors
    /// The machine has no files that can be read.
    pub fn of(machine: &str, node: &str, driver: &str) -> anyhow::Result<Self> {
        let (machine, tree) = files_of(machine)?;
        let found = topology_discovery::read(&tree)?;
        let attributes = DeviceAttributes::of(&tree);
        let devices = found.machine.devices().iter();
        let devices: Vec<Device> =
            devices.filter_map(|device| Some(published(&attributes, device, device.kind()?))).collect();
        let without_node = devices.iter().filter(|device| !device.attributes.contains_key(NUMA_NODE)).count();
        let count = devices.len().div_ceil(MOST_DEVICES);
        let slices = devices.chunks(MOST_DEVICES).enumerate().map(|(number, devices)| ResourceSlice {
            metadata: Metadata::named(&format!("{node}-{driver}-{number}")),
            driver: driver.into(),
            pool: Pool {
                name: node.into(),
                generation: 1,
                slice_count: i64::try_from(count).unwrap_or(i64::MAX),
            },
            nodes: NodeSelection { node_name: Some(node.to_owned()), ..NodeSelection::default() },
            devices: Some(devices.to_vec()),
            ..ResourceSlice::default()
        });
        Ok(Self { machine, slices: slices.collect(), without_node })
    }
}

const NUMA_NODE: &str = "resource.kubernetes.io/numaNode";

/// What is published of a device. Of an address that the library refuses there are no standard attributes.
fn published(attributes: &DeviceAttributes<'_>, device: &PciDevice, kind: DeviceKind) -> Device {
    let address = device.address.to_string();
    let mut published = Device {
        name: DeviceName::from(format!("pci-{}", address.replace([':', '.'], "-"))),
        ..Device::default()
    };
    let own = &mut published.attributes;
    own.insert("kind".into(), kind.word().to_lowercase().as_str().into());
    let hex = |number: Option<u16>| number.map(|number| format!("{number:04x}"));
    for (name, number) in [("vendor", hex(device.vendor)), ("device", hex(device.device))] {
        own.extend(number.map(|number| (name.into(), number.as_str().into())));
    }
    if let Sriov::Virtual(physical) = device.sriov {
        own.insert("physicalFunction".into(), physical.to_string().as_str().into());
    }
    if let Ok(address) = address.parse::<PciAddress>() {
        own.insert("resource.kubernetes.io/pciBusID".into(), address.as_str().into());
        own.extend(attributes.numa_node(&address).ok().map(|node| (NUMA_NODE.into(), node.into())));
        let root = attributes.pcie_root(&address).ok();
        own.extend(root.map(|root| ("resource.kubernetes.io/pcieRoot".into(), root.as_str().into())));
    }
    published
}
