//! The devices of a machine's plugins as the drivers of claims would publish them: slices, and a class for each resource.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use claim_explanation::CPU_DRIVER;
use device_manager::{DeviceId, Inventory};
use dra_model::{
    ClassName, Device, DeviceClass, DeviceName, DriverName, Metadata, NodeSelection, Pool, ResourceSlice,
    Selector,
};
use pod_spec::ResourceName;
use topology_model::NodeId;

use super::cpu_driver::CpuDriver;

/// The class of the CPU driver's devices.
pub(crate) const CPU_CLASS: &str = CPU_DRIVER;

/// The name of the node: every machine is a cluster of one node to its own drivers.
pub(crate) const NODE: &str = "machine";

/// The attributes by which a device says its NUMA node: Kubernetes' own, and the one that the CPU driver publishes too.
const NUMA_NODE: [&str; 2] = ["resource.kubernetes.io/numaNode", "dra.net/numaNode"];

/// The most devices of a slice.
const MOST_DEVICES: usize = 128;

/// What drivers publish of one kind of machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Published {
    pub(crate) slices: Vec<ResourceSlice>,
    pub(crate) classes: Vec<DeviceClass>,
    class_of: BTreeMap<ResourceName, ClassName>,
    plugin_devices: BTreeMap<dra_model::DeviceId, (ResourceName, DeviceId)>,
}

impl Published {
    /// The healthy devices of the claimed resources, and those of the CPU driver. A resource that the machine lacks has a class all
    /// the same, which is an object of the cluster.
    pub(crate) fn new(
        inventory: &Inventory,
        claimed: &BTreeSet<ResourceName>,
        cpus: Option<&CpuDriver>,
    ) -> Self {
        let mut published = Self::default();
        for resource in claimed {
            let driver = published.driver(resource);
            published.class_of.insert(resource.clone(), driver.as_str().into());
            let mut devices = Vec::new();
            for (number, (id, node)) in in_order(inventory, resource).into_iter().enumerate() {
                let mut device = Device::new(&format!("device-{number}"));
                if let Some(node) = node {
                    device.attributes.extend(NUMA_NODE.map(|name| (name.into(), node.0.into())));
                }
                let name = device_id(&driver, &device.name);
                published.plugin_devices.insert(name, (resource.clone(), id));
                devices.push(device);
            }
            published.publish(&driver, &devices);
        }
        if let Some(cpus) = cpus {
            published.publish(CPU_DRIVER, &cpus.devices());
        }
        published
    }

    /// The class of each resource.
    pub(crate) fn classes_of(&self) -> impl Iterator<Item = (&ResourceName, &ClassName)> {
        self.class_of.iter()
    }

    /// What a claimed device is to its plugin; `None`: it is one of the CPU driver.
    pub(crate) fn plugin_device(&self, device: &dra_model::DeviceId) -> Option<&(ResourceName, DeviceId)> {
        self.plugin_devices.get(device)
    }

    /// The name of a resource's driver, as drivers are named after what they drive: `gpu.nvidia.com` for `nvidia.com/gpu`.
    fn driver(&self, resource: &ResourceName) -> String {
        let (domain, name) = resource.as_str().split_once('/').unwrap_or(("", resource.as_str()));
        let letters = format!("{name}.{domain}").to_lowercase().replace('_', "-");
        let wanted = letters.trim_end_matches('.');
        let is_free = |name: &str| self.class_of.values().all(|class| **class != *name);
        let others = (2..).map(|number| format!("{wanted}.{number}"));
        core::iter::once(wanted.to_string()).chain(others).find(|name| is_free(name)).unwrap_or_default()
    }

    fn publish(&mut self, driver: &str, devices: &[Device]) {
        let slice_count = i64::try_from(devices.len().div_ceil(MOST_DEVICES).max(1)).unwrap_or(i64::MAX);
        let slice = |(number, devices): (usize, &[Device])| ResourceSlice {
            // In the order of names, which is that of the allocator.
            metadata: Metadata::named(&format!("{NODE}-{driver}-{number:03}")),
            driver: driver.into(),
            pool: Pool { name: NODE.into(), generation: 1, slice_count },
            nodes: NodeSelection { node_name: Some(NODE.into()), ..NodeSelection::default() },
            devices: Some(devices.to_vec()),
            ..ResourceSlice::default()
        };
        // A driver that finds no devices says so by an empty slice.
        let chunks = devices.chunks(MOST_DEVICES).chain(devices.is_empty().then_some(devices));
        self.slices.extend(chunks.enumerate().map(slice));
        self.classes.push(DeviceClass {
            metadata: Metadata::named(driver),
            selectors: [Selector::cel(&format!("device.driver == '{driver}'"))].into(),
            ..DeviceClass::default()
        });
    }
}

/// The device of a driver in the node's pool.
pub(crate) fn device_id(driver: &str, device: &DeviceName) -> dra_model::DeviceId {
    dra_model::DeviceId { driver: DriverName::from(driver), pool: NODE.into(), device: device.clone() }
}

/// The healthy devices of a resource with the NUMA node that each is near to, `None` if it is near none or several: by node, then
/// by number as people write them. Drivers find devices in the order of their PCI addresses, which follows the nodes.
fn in_order(inventory: &Inventory, resource: &ResourceName) -> Vec<(DeviceId, Option<NodeId>)> {
    let node = |id: &DeviceId| match inventory.device(resource, id)?.topology.ids() {
        [only] => Some(*only),
        _ => None,
    };
    let mut devices: Vec<(DeviceId, Option<NodeId>)> =
        inventory.healthy(resource).map(|id| (id.clone(), node(id))).collect();
    devices.sort_by(|(one, near), (other, other_near)| {
        let key = |id: &DeviceId, near: &Option<NodeId>| (*near, id.as_str().len());
        key(one, near).cmp(&key(other, other_near)).then_with(|| one.cmp(other))
    });
    devices
}
