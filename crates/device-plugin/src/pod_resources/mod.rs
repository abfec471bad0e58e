//! The pod resources service: reports to monitoring and to schedulers what pods hold.

mod client;
mod messages;
mod rate;
mod serve;

use std::collections::BTreeSet;
use std::sync::Arc;

use cpuset::CpuSet;
use device_manager::DeviceEntry;
use pod_spec::{ContainerName, ResourceName};
use topology_model::NodeId;

pub use client::{ClientError, PodResourcesClient};
pub(crate) use serve::Lister;

/// Who knows what pods hold.
pub trait PodResources: Send + Sync {
    /// What there is to tell now. It is called for each question, from a thread that may wait a little.
    fn snapshot(&self, asked: PodResourcesQuery) -> Arc<PodResourcesSnapshot>;
}

/// What is being asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PodResourcesQuery {
    /// `List`. Before it answers the kubelet frees the devices of dead pods, if all sources of pods are ready.
    List,
    /// `List` of `v1alpha1`: every pod that is known, refused ones too, and of each its app containers only. The kubelet
    /// frees the devices of dead pods here too.
    ListV1Alpha1,
    /// `Get`, of one pod.
    Get,
    /// `GetAllocatableResources`.
    Allocatable,
}

/// What there is to tell.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodResourcesSnapshot {
    /// The active pods, those that hold nothing included; for [`PodResourcesQuery::ListV1Alpha1`] all that are known.
    pub pods: Vec<PodEntry>,
    /// What can be given out at all, taken or not.
    pub allocatable: Amounts,
}

impl PodResourcesSnapshot {
    /// The resources of which pods hold devices.
    pub(crate) fn held_resources(&self) -> BTreeSet<ResourceName> {
        let containers = self.pods.iter().flat_map(|pod| &pod.containers);
        let devices = containers.flat_map(|container| &container.amounts.devices);
        devices.map(|entry| entry.resource.clone()).collect()
    }
}

/// What a pod holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodEntry {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`.
    pub namespace: String,
    /// Its sidecars, then its other containers; no plain init containers. For [`PodResourcesQuery::ListV1Alpha1`] no sidecars.
    pub containers: Vec<ContainerEntry>,
    /// What the pod has as a whole, those of its containers included. Kubelets report it from 1.37 on, with the
    /// gate `PodLevelResourceManagers`. It has no devices.
    pub whole: Amounts,
}

/// What a container holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContainerEntry {
    /// Its name in the pod.
    pub name: ContainerName,
    /// Its exclusive CPUs, memory and devices.
    pub amounts: Amounts,
    /// The claims of devices that it uses and that are prepared, with all devices of each.
    pub claims: Vec<ClaimEntry>,
}

/// A claim of devices that is prepared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimEntry {
    /// Namespace of the `ResourceClaim`.
    pub namespace: String,
    /// Name of the `ResourceClaim`.
    pub name: String,
    /// Its devices, whichever of its requests the container uses.
    pub devices: Vec<ClaimedEntry>,
}

/// A device of a claim.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ClaimedEntry {
    /// Its driver.
    pub driver: String,
    /// Its pool.
    pub pool: String,
    /// Its name there.
    pub device: String,
}

/// What a container holds, or a node has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Amounts {
    /// Exclusive CPUs; of a node all that may become exclusive.
    pub cpus: CpuSet,
    /// Memory and huge pages.
    pub memory: Vec<MemoryEntry>,
    /// Devices, one entry for each device and node.
    pub devices: Vec<DeviceEntry>,
}

/// Memory of one kind on some nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryEntry {
    /// `memory` or `hugepages-…`.
    pub kind: ResourceName,
    /// Bytes on all of the nodes together.
    pub size: u64,
    /// On which nodes, together.
    pub nodes: Vec<NodeId>,
}
