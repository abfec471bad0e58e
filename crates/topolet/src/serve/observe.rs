//! A node that a kubelet owns: its files are read when they change, and nothing is written.
//!
//! The kubelet writes its three files one after the other. They are read twice and taken when nothing has changed
//! in between; what does not fit together is looked at again, and what was known before stays until then.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::bail;
use cpuset::CpuSet;
use device_manager::{Device, DeviceId, Inventory};
use device_plugin::{ClientError, PodEntry, PodResourcesClient};
use node_agent::{Record, Snapshot, Source, files};
use pod_spec::{ContainerName, Pod, PodUid, ResourceName};

use super::shared::Shared;
use crate::node::LoadedNode;
use crate::state::{self, PodNames, StateFolder};

/// How often the files are looked at.
const EVERY: Duration = Duration::from_millis(500);
/// How often they are read at once until they stand still.
const READS: usize = 20;
/// How long the kubelet may take to answer.
const ANSWER: Duration = Duration::from_secs(2);

/// What a kubelet has written, as a snapshot.
pub(super) fn read(root: &Path, node: &LoadedNode) -> anyhow::Result<Snapshot> {
    let folder = settled(root)?;
    snapshot(root, &folder, node)
}

/// Goes on reading for the rest of the program.
pub(super) fn start(root: &Path, shared: Arc<Shared>) -> anyhow::Result<()> {
    let root: PathBuf = root.to_path_buf();
    thread::Builder::new().name("observe".to_owned()).spawn(move || {
        let mut last = None;
        let mut told = String::new();
        loop {
            thread::sleep(EVERY);
            let looked = settled(&root).and_then(|folder| {
                if last.as_ref() == Some(&folder) {
                    return Ok(());
                }
                let snapshot = snapshot(&root, &folder, &shared.node)?;
                shared.snapshot.store(Arc::new(snapshot));
                last = Some(folder);
                Ok(())
            });
            match looked {
                Ok(()) => told.clear(),
                Err(error) => {
                    let text = format!("{error:#}");
                    if text != told {
                        tracing::warn!("what is known stays as it was: {text}");
                        told = text;
                    }
                }
            }
        }
    })?;
    Ok(())
}

/// The files of one moment.
fn settled(root: &Path) -> anyhow::Result<StateFolder> {
    let mut before = StateFolder::read(root)?;
    for _ in 0..READS {
        let now = StateFolder::read(root)?;
        if now == before {
            return Ok(now);
        }
        before = now;
    }
    bail!("the files in {} never stand still", root.display())
}

fn snapshot(root: &Path, folder: &StateFolder, node: &LoadedNode) -> anyhow::Result<Snapshot> {
    let told = Told::ask(root, node);
    let mut names = PodNames::read(None, root)?;
    if let (None, Ok(told)) = (names.known(), &told) {
        names = told.names(folder);
    }
    let mut ledger = state::ledger(folder, node, &names)?;
    if let Ok(told) = told {
        ledger = ledger.with_inventory(told.inventory);
    }
    let record = |(arrival, pod): (u64, &Pod)| {
        (pod.uid.clone(), Arc::new(Record::new(Arc::new(pod.clone()), Source::Request, arrival)))
    };
    Ok(Snapshot {
        pods: (0..).zip(ledger.pods()).map(record).collect(),
        ledger,
        refused: BTreeMap::new(),
        waiting: Vec::new(),
        places: Vec::new(),
        behind: None,
    })
}

/// What the kubelet answers about itself.
struct Told {
    pods: Vec<PodEntry>,
    inventory: Inventory,
}

impl Told {
    fn ask(root: &Path, node: &LoadedNode) -> Result<Self, ClientError> {
        let socket = root.join("pod-resources/kubelet.sock");
        let mut client = PodResourcesClient::connect(&socket, ANSWER)?;
        let pods = client.list()?;
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

    /// Names of the pods in the files, which are known by UID there and by name here: what a container of that name
    /// holds is the same, and there is only one such pod.
    fn names(&self, folder: &StateFolder) -> PodNames {
        let held = held(folder);
        let names = held.iter().filter_map(|(uid, containers)| {
            let mut same = self.pods.iter().filter(|pod| is_same(pod, containers));
            let pod = same.next().filter(|_| same.next().is_none())?;
            Some((uid.clone(), format!("{}/{}", pod.namespace, pod.name)))
        });
        PodNames::some(names.collect())
    }
}

/// Exclusive CPUs and devices by container.
type Held = BTreeMap<ContainerName, (CpuSet, BTreeSet<DeviceId>)>;

/// What the files have of each pod.
fn held(folder: &StateFolder) -> BTreeMap<PodUid, Held> {
    let contents = folder.contents_of_any();
    let mut held: BTreeMap<PodUid, Held> = BTreeMap::new();
    if let Some(state) = contents.cpu.and_then(|read| read.ok()?.state().ok()) {
        for (pod, containers) in state.containers {
            for (container, cpus) in containers {
                held.entry(pod.clone()).or_default().entry(container).or_default().0 = cpus;
            }
        }
    }
    if let Some(read) = contents.device.filter(|read| read.fault.is_none()) {
        for (pod, container, _, of) in files::devices(&read.state).iter() {
            let devices = &mut held.entry(pod.clone()).or_default().entry(container.clone()).or_default().1;
            devices.extend(of.devices());
        }
    }
    held
}

/// Whether a pod's containers hold that.
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
