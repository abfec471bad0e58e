//! The answer of a kubelet's pod resources service: the devices of the node and, without another source of pods, what each pod
//! holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use cpuset::CpuSet;
use device_manager::{Device, DeviceId, Inventory};
use device_plugin::{ClientError, PodEntry, PodResourcesClient};
use node_input::LoadedNode;
use node_state::{Contents, files};
use pod_spec::{ContainerName, PodUid, ResourceName};

use super::look;

/// How long the kubelet may take to answer.
const ANSWER: Duration = Duration::from_secs(2);

/// The answer of the pod resources service.
pub(super) struct PodResources {
    pods: Vec<PodEntry>,
    pub(super) inventory: Inventory,
}

/// What the service is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    Devices,
    /// Pods too, since no other source lists them.
    DevicesAndPods,
}

impl PodResources {
    pub(super) fn ask(root: &Path, node: &LoadedNode, wanted: Wanted) -> Result<Self, ClientError> {
        let socket = root.join(look::SOCKET);
        let mut client = PodResourcesClient::connect(&socket, ANSWER)?;
        let pods = if wanted == Wanted::DevicesAndPods { client.list()? } else { Vec::new() };
        let mut devices: BTreeMap<ResourceName, BTreeMap<DeviceId, Vec<i64>>> = BTreeMap::new();
        for entry in client.allocatable()?.devices {
            let nodes = devices.entry(entry.resource).or_default().entry(entry.device).or_default();
            nodes.extend(entry.node.map(|node| node.0));
        }
        let mut inventory = Inventory::new(node.node.nodes().clone());
        for (resource, devices) in devices {
            let each = devices.iter().map(|(id, nodes)| Device::new(id.as_str(), nodes));
            inventory = inventory.with(resource, each.collect::<Vec<_>>());
        }
        Ok(Self { pods, inventory })
    }

    /// Names of the pods in the state files. The files have UIDs and the service has names: a pod matches if its containers hold
    /// the same CPUs and devices, and no other pod does.
    pub(super) fn names(&self, contents: &Contents) -> BTreeMap<PodUid, String> {
        let held = held(contents);
        let names = held.iter().filter_map(|(uid, containers)| {
            let mut same = self.pods.iter().filter(|pod| is_same(pod, containers));
            let pod = same.next().filter(|_| same.next().is_none())?;
            Some((uid.clone(), format!("{}/{}", pod.namespace, pod.name)))
        });
        names.collect()
    }
}

/// What the service lists of all active pods.
pub(super) fn listed(root: &Path) -> Result<Vec<PodEntry>, ClientError> {
    PodResourcesClient::connect(&root.join(look::SOCKET), ANSWER)?.list()
}

/// Exclusive CPUs and devices by container.
type Held = BTreeMap<ContainerName, (CpuSet, BTreeSet<DeviceId>)>;

/// The holdings of each pod in the files.
fn held(contents: &Contents) -> BTreeMap<PodUid, Held> {
    let mut held: BTreeMap<PodUid, Held> = BTreeMap::new();
    if let Some(state) = contents.cpu.as_ref().and_then(|read| read.as_ref().ok()?.state().ok()) {
        for (pod, containers) in state.containers {
            for (container, cpus) in containers {
                held.entry(pod.clone()).or_default().entry(container).or_default().0 = cpus;
            }
        }
    }
    if let Some(read) = contents.device.as_ref().filter(|read| read.fault.is_none()) {
        for (pod, container, _, of) in files::devices(&read.state).iter() {
            let devices = &mut held.entry(pod.clone()).or_default().entry(container.clone()).or_default().1;
            devices.extend(of.devices());
        }
    }
    held
}

/// Whether the containers of a pod hold exactly this.
fn is_same(pod: &PodEntry, containers: &Held) -> bool {
    let holds_it = |(name, (cpus, devices)): (&ContainerName, &(CpuSet, BTreeSet<DeviceId>))| {
        pod.containers.iter().any(|container| {
            let own: BTreeSet<DeviceId> =
                container.amounts.devices.iter().map(|entry| entry.device.clone()).collect();
            container.name == *name && container.amounts.cpus == *cpus && own == *devices
        })
    };
    !containers.is_empty() && containers.iter().all(holds_it)
}
