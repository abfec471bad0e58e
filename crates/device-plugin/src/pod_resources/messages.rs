//! Between the service's messages and what there is to tell.

use cpuset::{CpuId, CpuSet};
use device_manager::{DeviceEntry, DeviceId};
use pod_spec::{ContainerName, ResourceName};
use topology_model::NodeId;

use super::{Amounts, ClaimEntry, ClaimedEntry, ContainerEntry, MemoryEntry, PodEntry};
use crate::proto::podresources as messages;
use crate::proto::podresources_v1alpha1 as v1alpha1;

impl From<&PodEntry> for messages::PodResources {
    fn from(pod: &PodEntry) -> Self {
        let container = |container: &ContainerEntry| messages::ContainerResources {
            name: container.name.as_str().to_owned(),
            devices: devices(&container.amounts),
            cpu_ids: cpus(&container.amounts),
            memory: memory(&container.amounts),
            dynamic_resources: container.claims.iter().map(Into::into).collect(),
        };
        Self {
            name: pod.name.clone(),
            namespace: pod.namespace.clone(),
            containers: pod.containers.iter().map(container).collect(),
            cpu_ids: cpus(&pod.whole),
            memory: memory(&pod.whole),
        }
    }
}

impl From<&Amounts> for messages::AllocatableResourcesResponse {
    fn from(amounts: &Amounts) -> Self {
        Self { devices: devices(amounts), cpu_ids: cpus(amounts), memory: memory(amounts) }
    }
}

impl From<&PodEntry> for v1alpha1::PodResources {
    fn from(pod: &PodEntry) -> Self {
        let entry = |entry: &DeviceEntry| v1alpha1::ContainerDevices {
            resource_name: entry.resource.as_str().to_owned(),
            device_ids: vec![entry.device.as_str().to_owned()],
        };
        let container = |container: &ContainerEntry| v1alpha1::ContainerResources {
            name: container.name.as_str().to_owned(),
            devices: container.amounts.devices.iter().map(entry).collect(),
        };
        Self {
            name: pod.name.clone(),
            namespace: pod.namespace.clone(),
            containers: pod.containers.iter().map(container).collect(),
        }
    }
}

fn devices(amounts: &Amounts) -> Vec<messages::ContainerDevices> {
    let entry = |entry: &DeviceEntry| messages::ContainerDevices {
        resource_name: entry.resource.as_str().to_owned(),
        device_ids: vec![entry.device.as_str().to_owned()],
        topology: entry.node.map(|node| on([node])),
    };
    amounts.devices.iter().map(entry).collect()
}

fn cpus(amounts: &Amounts) -> Vec<i64> {
    amounts.cpus.iter().filter_map(|cpu| i64::try_from(cpu.get()).ok()).collect()
}

fn memory(amounts: &Amounts) -> Vec<messages::ContainerMemory> {
    let entry = |entry: &MemoryEntry| messages::ContainerMemory {
        memory_type: entry.kind.as_str().to_owned(),
        size: entry.size,
        topology: Some(on(entry.nodes.iter().copied())),
    };
    amounts.memory.iter().map(entry).collect()
}

fn on(nodes: impl IntoIterator<Item = NodeId>) -> messages::TopologyInfo {
    messages::TopologyInfo {
        nodes: nodes.into_iter().map(|node| messages::NumaNode { id: node.0 }).collect(),
    }
}

impl From<messages::PodResources> for PodEntry {
    fn from(told: messages::PodResources) -> Self {
        let container = |told: messages::ContainerResources| ContainerEntry {
            name: ContainerName::new(&told.name),
            amounts: amounts(told.devices, &told.cpu_ids, told.memory),
            claims: told.dynamic_resources.into_iter().map(Into::into).collect(),
        };
        Self {
            name: told.name,
            namespace: told.namespace,
            containers: told.containers.into_iter().map(container).collect(),
            whole: amounts(Vec::new(), &told.cpu_ids, told.memory),
        }
    }
}

impl From<&ClaimEntry> for messages::DynamicResource {
    fn from(claim: &ClaimEntry) -> Self {
        let device = |device: &ClaimedEntry| messages::ClaimResource {
            cdi_devices: Vec::new(),
            driver_name: device.driver.clone(),
            pool_name: device.pool.clone(),
            device_name: device.device.clone(),
            share_id: None,
        };
        Self {
            claim_name: claim.name.clone(),
            claim_namespace: claim.namespace.clone(),
            claim_resources: claim.devices.iter().map(device).collect(),
        }
    }
}

impl From<messages::DynamicResource> for ClaimEntry {
    fn from(told: messages::DynamicResource) -> Self {
        let device = |told: messages::ClaimResource| ClaimedEntry {
            driver: told.driver_name,
            pool: told.pool_name,
            device: told.device_name,
        };
        Self {
            namespace: told.claim_namespace,
            name: told.claim_name,
            devices: told.claim_resources.into_iter().map(device).collect(),
        }
    }
}

impl From<messages::AllocatableResourcesResponse> for Amounts {
    fn from(told: messages::AllocatableResourcesResponse) -> Self {
        amounts(told.devices, &told.cpu_ids, told.memory)
    }
}

/// CPUs that no machine has are left out.
fn amounts(
    devices: Vec<messages::ContainerDevices>,
    cpus: &[i64],
    memory: Vec<messages::ContainerMemory>,
) -> Amounts {
    let cpus = cpus.iter().filter_map(|cpu| CpuId::new(usize::try_from(*cpu).ok()?).ok());
    let block = |told: messages::ContainerMemory| MemoryEntry {
        kind: ResourceName::new(&told.memory_type),
        size: told.size,
        nodes: nodes(told.topology).unwrap_or_default(),
    };
    Amounts {
        cpus: cpus.collect::<CpuSet>(),
        memory: memory.into_iter().map(block).collect(),
        devices: devices.into_iter().flat_map(entries).collect(),
    }
}

/// One entry for each device and node, however they were put together.
fn entries(told: messages::ContainerDevices) -> Vec<DeviceEntry> {
    let resource = ResourceName::new(&told.resource_name);
    let on: Vec<Option<NodeId>> = match nodes(told.topology) {
        Some(nodes) => nodes.into_iter().map(Some).collect(),
        None => vec![None],
    };
    let entry =
        |id: &String, node| DeviceEntry { resource: resource.clone(), device: DeviceId::new(id), node };
    told.device_ids.iter().flat_map(|id| on.iter().map(|node| entry(id, *node)).collect::<Vec<_>>()).collect()
}

fn nodes(told: Option<messages::TopologyInfo>) -> Option<Vec<NodeId>> {
    Some(told?.nodes.iter().map(|node| NodeId(node.id)).collect())
}
