//! What the pods of a node hold.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow};
use device_manager::{Device, Health, Inventory, Moment, Topology};
use kubelet_checkpoint::device::DeviceFile;
use kubelet_checkpoint::store::StateFile;
use node_state::{StateFolder, files, manifest};
use pod_spec::{Pod, PodUid, ResourceName};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use topology_admission::{Ledger, Node, RunningPods, SourcesReady};
use topology_model::NodeId;

use super::shapes::PodShapes;

/// What the pods of a node hold.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeHoldings {
    /// The kubelet's `cpu_manager_state`.
    cpu: String,
    /// The kubelet's `memory_manager_state`.
    memory: String,
    /// The kubelet's `kubelet_internal_checkpoint`, without what plugins have answered.
    device: String,
    /// The devices of each resource.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    devices: BTreeMap<String, Vec<PublishedDevice>>,
    /// Manifests without names: what pods request.
    shapes: Vec<Value>,
    /// The pods that run, in the order in which they came.
    pub pods: Vec<PublishedPod>,
    /// Pods that the node has refused, and that have not been deleted since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<PublishedRefusal>,
}

/// A device of a plugin.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PublishedDevice {
    id: String,
    /// The NUMA nodes that its plugin names; `None`: it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<i64>>,
    /// What its plugin says of its state; `None`: it is healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    health: Option<String>,
}

/// A pod that runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PublishedPod {
    /// Its UID.
    pub uid: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Which of the shapes it has, from 0.
    shape: usize,
}

/// A pod that was refused.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PublishedRefusal {
    /// Its UID.
    pub uid: String,
    /// The kubelet's reason: `TopologyAffinityError`.
    pub reason: String,
}

impl NodeHoldings {
    /// What pods hold on `node`, and those that it has refused.
    #[must_use]
    pub fn of(node: &Node, ledger: &Ledger, refused: Vec<PublishedRefusal>) -> Self {
        // What pods hold that have ended is free for the next one.
        let ledger = ledger.collect();
        let text = |file| files::text(file, node, &ledger);
        let mut shapes = Shapes::default();
        let pods = ledger.pods_by_arrival().map(|pod| PublishedPod {
            uid: pod.uid.to_string(),
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            shape: shapes.number_of(pod),
        });
        let pods = pods.collect();
        Self {
            cpu: text(StateFile::Cpu),
            memory: text(StateFile::Memory),
            device: without_replies(&text(StateFile::Device)),
            devices: devices(ledger.inventory()),
            shapes: shapes.all,
            pods,
            refused,
        }
    }

    /// The ledger with which the node decides on the next pod.
    ///
    /// # Errors
    /// It cannot be read, since another release of topolet or another program wrote it; or the node could not hold
    /// this.
    pub fn ledger(&self, node: &Node, shapes: &mut PodShapes) -> anyhow::Result<Ledger> {
        let text = |text: &str| (!text.is_empty()).then(|| text.as_bytes().to_vec());
        let folder = StateFolder {
            cpu: text(&self.cpu),
            memory: text(&self.memory),
            device: text(&self.device),
            ..StateFolder::default()
        };
        folder.known()?;
        let mut start =
            folder.strict(node).map_err(|error| anyhow!("no kubelet would start from it: {error}"))?;
        // The inventory says which plugins there are.
        start.registered.clear();
        let manifests: Vec<String> = self.shapes.iter().map(Value::to_string).collect();
        let mut pods = Vec::with_capacity(self.pods.len());
        for pod in &self.pods {
            let shape =
                manifests.get(pod.shape).with_context(|| format!("there is no shape {}", pod.shape))?;
            let shape = shapes.read(shape, node.pod_rules())?.clone();
            let (namespace, name) = (pod.namespace.clone(), pod.name.clone());
            pods.push(Pod { uid: PodUid::new(&pod.uid), namespace, name, ..shape });
        }
        let pods = RunningPods { sources: SourcesReady::Yes, ..RunningPods::admitted(pods) };
        let ledger = start.ledger_with(node, pods, self.inventory(node), Moment::default());
        ledger.map_err(|error| anyhow!("no kubelet would start from it: {error}"))
    }

    fn inventory(&self, node: &Node) -> Inventory {
        let mut inventory = Inventory::new(node.nodes().clone());
        for (resource, devices) in &self.devices {
            inventory =
                inventory.with(ResourceName::new(resource), devices.iter().map(PublishedDevice::read));
        }
        inventory
    }
}

/// What pods request, each once.
#[derive(Default)]
struct Shapes {
    all: Vec<Value>,
    known: BTreeMap<String, usize>,
}

impl Shapes {
    fn number_of(&mut self, pod: &Pod) -> usize {
        let mut shape = manifest(pod);
        if let Some(metadata) = shape["metadata"].as_object_mut() {
            metadata.retain(|field, _| !matches!(field.as_str(), "uid" | "namespace"));
            metadata.insert("name".to_owned(), "shape".into());
        }
        *self.known.entry(shape.to_string()).or_insert_with(|| {
            self.all.push(shape);
            self.all.len() - 1
        })
    }
}

fn devices(inventory: &Inventory) -> BTreeMap<String, Vec<PublishedDevice>> {
    let of = |resource| inventory.devices(resource).map(PublishedDevice::of).collect();
    inventory.registered().map(|resource| (resource.to_string(), of(resource))).collect()
}

impl PublishedDevice {
    fn of(device: &Device) -> Self {
        let nodes = match &device.topology {
            Topology::Absent => None,
            Topology::Nodes(ids) => Some(ids.iter().map(|id| id.0).collect()),
        };
        let health = match &device.health {
            Health::Healthy => None,
            Health::Unhealthy(word) => Some(word.to_string()),
        };
        Self { id: device.id.to_string(), nodes, health }
    }

    fn read(&self) -> Device {
        let topology = match &self.nodes {
            None => Topology::Absent,
            Some(ids) => Topology::Nodes(ids.iter().copied().map(NodeId).collect()),
        };
        let health = self.health.as_deref().map_or(Health::Healthy, |word| Health::Unhealthy(word.into()));
        Device { id: self.id.as_str().into(), health, topology }
    }
}

/// Environment, mounts and the like decide nothing.
fn without_replies(text: &str) -> String {
    let mut state = DeviceFile::read(text.as_bytes()).state;
    for entry in state.entries.iter_mut().flatten() {
        if let Some(reply) = &mut entry.reply {
            reply.clear();
        }
    }
    state.encode()
}
