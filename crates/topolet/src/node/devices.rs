//! The devices of a node from an inventory file: what is said per node or by PCI numbers becomes single devices.

use std::path::Path;

use anyhow::bail;
use device_manager::{Device, Health};
use pod_spec::ResourceName;
use topology_manifest::{DeviceEntry, DeviceHealth, DeviceSource, PciSelector, Source, read_devices};
use topology_model::{Machine, NodeId, Nodes};

use super::LoadedMachine;
use crate::render::manifest_style;

/// One resource and its devices.
type Resource = (ResourceName, Vec<Device>);

/// An inventory file that has not been looked into.
pub(crate) struct DeviceText {
    pub(crate) name: String,
    pub(crate) text: Vec<u8>,
}

impl DeviceText {
    /// The file at `path`.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        Ok(Self { name: path.display().to_string(), text: crate::document::read(path)? })
    }

    /// The devices on `machine`, by resource.
    pub(crate) fn devices(&self, machine: &LoadedMachine, nodes: &Nodes) -> anyhow::Result<Vec<Resource>> {
        let entries = Source::from_bytes(&self.name, &self.text)
            .and_then(|source| read_devices(&source))
            .map_err(|error| anyhow::anyhow!(error.render(manifest_style())))?;
        entries
            .iter()
            .map(|entry| Ok((entry.resource.clone(), devices(entry, &self.name, machine, nodes)?)))
            .collect()
    }
}

fn devices(
    entry: &DeviceEntry,
    file: &str,
    machine: &LoadedMachine,
    nodes: &Nodes,
) -> anyhow::Result<Vec<Device>> {
    let resource = &entry.resource;
    if !device_manager::is_extended_resource(resource.as_str()) {
        bail!("{file}: {resource} is no name for devices: they have a domain, as in example.com/gpu");
    }
    let check = |id: u32| {
        let node = NodeId(i64::from(id));
        if nodes.index_of(node).is_none() {
            let ids = nodes.show(nodes.all());
            bail!("{file}: {resource} is on NUMA node {id}; {} has nodes {ids}", machine.name);
        }
        Ok(node.0)
    };
    match &entry.source {
        DeviceSource::Listed(listed) => listed
            .iter()
            .map(|device| {
                let ids = device.nodes.iter().map(|id| check(*id)).collect::<anyhow::Result<Vec<_>>>()?;
                let health = match device.health {
                    DeviceHealth::Healthy => Health::Healthy,
                    DeviceHealth::Unhealthy => Health::said("Unhealthy"),
                };
                Ok(Device::new(&device.id, &ids).with_health(health))
            })
            .collect(),
        DeviceSource::PerNode(counts) => {
            let short = resource.as_str().rsplit('/').next().unwrap_or_default();
            let mut devices = Vec::new();
            for (node, count) in counts {
                let id = check(*node)?;
                devices.extend((0..*count).map(|at| Device::new(&format!("{short}-{id}-{at}"), &[id])));
            }
            Ok(devices)
        }
        DeviceSource::Pci(selector) => match &machine.machine {
            Some(hardware) => pci(selector, hardware, || {
                format!("{file}: {resource} matches no PCI function of {}", machine.name)
            }),
            None => bail!(
                "{file}: {resource} is selected by PCI numbers, and {} says nothing about PCI devices",
                machine.name
            ),
        },
    }
}

/// The functions that match, named by their address as a plugin names them.
fn pci(
    selector: &PciSelector,
    machine: &Machine,
    none: impl FnOnce() -> String,
) -> anyhow::Result<Vec<Device>> {
    let matching = machine.devices().iter().filter(|function| {
        // A function whose numbers are not known is not what somebody asked for by number.
        let numbers = function.vendor.zip(function.device);
        numbers.is_some_and(|(vendor, device)| selector.matches(function.class, vendor, device))
    });
    let devices: Vec<Device> = matching
        .map(|function| {
            let node: Vec<i64> = function.node.id().map(|id| id.0).into_iter().collect();
            Device::new(&function.address.to_string(), &node)
        })
        .collect();
    if devices.is_empty() {
        bail!(none());
    }
    Ok(devices)
}
