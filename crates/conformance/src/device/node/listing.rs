//! What the pod resources service and the pods' status say.

use std::collections::BTreeMap;

use cpuset::{CpuId, CpuSet};
use device_manager::DeviceEntry;
use device_plugin::{ContainerEntry, MemoryEntry, PodEntry, PodResourcesClient, PodResourcesSnapshot};
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceName, Role};
use serde_json::{Map, Value, json};
use topology_model::NodeId;

use super::{Entry, Key, Node};
use crate::case::{numbers, text};
use crate::device::pods::{Activity, Played};
use crate::device::show;

/// What the service says beside devices, as the case puts it.
pub(super) struct Others {
    which: Which,
    of_node: Amounts,
    of_containers: BTreeMap<Key, Amounts>,
    of_pods: BTreeMap<PodUid, Amounts>,
    whole_pods: WholePods,
}

/// Whether what a pod holds as a whole is told at the pod.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WholePods {
    Told,
    NotTold,
}

/// Which pods are listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    Active,
}

/// CPUs and memory.
#[derive(Default)]
struct Amounts {
    cpus: Vec<usize>,
    memory: Vec<Value>,
}

impl Others {
    pub(super) fn new(input: &Value) -> Self {
        let which =
            if input["use_active_pods"].as_bool() == Some(false) { Which::All } else { Which::Active };
        let is_on = input["pod_level_managers"].as_bool() == Some(true);
        Self {
            which,
            of_node: Amounts::default(),
            of_containers: BTreeMap::new(),
            of_pods: BTreeMap::new(),
            whole_pods: if is_on { WholePods::Told } else { WholePods::NotTold },
        }
    }

    pub(super) fn set(&mut self, step: &Value) {
        let amounts = match step["pod"].as_str() {
            None => &mut self.of_node,
            Some(pod) if step["container"].is_null() => self.of_pods.entry(PodUid::new(pod)).or_default(),
            Some(pod) => {
                let key = (PodUid::new(pod), ContainerName::new(text(&step["container"])));
                self.of_containers.entry(key).or_default()
            }
        };
        if text(&step["op"]) == "cpus" {
            let cpus: CpuSet = text(&step["cpus"]).parse().unwrap_or_default();
            amounts.cpus = cpus.iter().map(CpuId::get).collect();
        } else {
            amounts.memory = step["memory"].as_array().cloned().unwrap_or_default();
        }
    }
}

impl Amounts {
    /// As the service is told.
    fn told(&self, devices: Vec<DeviceEntry>) -> device_plugin::Amounts {
        let block = |block: &Value| MemoryEntry {
            kind: ResourceName::new(text(&block["type"])),
            size: block["size"].as_u64().unwrap_or_default(),
            nodes: numbers(&block["nodes"]).into_iter().map(NodeId).collect(),
        };
        device_plugin::Amounts {
            cpus: self.cpus.iter().filter_map(|cpu| CpuId::new(*cpu).ok()).collect(),
            memory: self.memory.iter().map(block).collect(),
            devices,
        }
    }

    fn show(&self, devices: Value) -> Map<String, Value> {
        let mut shown = Map::new();
        shown.insert("cpu_ids".into(), if self.cpus.is_empty() { Value::Null } else { json!(self.cpus) });
        shown.insert("memory".into(), json!(self.memory));
        shown.insert("devices".into(), devices);
        shown
    }

    fn show_whole(&self, pod: &mut Value) {
        if !self.cpus.is_empty() {
            pod["cpu_ids"] = json!(self.cpus);
        }
        if !self.memory.is_empty() {
            pod["memory"] = json!(self.memory);
        }
    }
}

impl Node {
    pub(super) fn list(&mut self, entry: &mut Entry) -> Result<(), String> {
        self.count_request("list");
        self.collect();
        let which = self.others.which;
        let listed = |played: &&Played| which == Which::All || played.activity == Activity::Active;
        let pods: Vec<&Pod> = self.pods.iter().filter(listed).map(|played| &played.pod).collect();
        let pods = match &self.wire {
            Some(wire) => {
                let told = wire.pod_resources(self.snapshot(&pods), PodResourcesClient::list)?;
                told.iter().map(shown_entry).collect()
            }
            None => pods.into_iter().map(|pod| self.shown_pod(pod)).collect(),
        };
        entry.insert("pods".into(), Value::Array(pods));
        entry.insert("error".into(), Value::Null);
        Ok(())
    }

    pub(super) fn get(&mut self, step: &Value, entry: &mut Entry) {
        self.count_request("get");
        let (name, namespace) = (text(&step["name"]), text(&step["namespace"]));
        let active = self.pods.iter().filter(|played| played.activity == Activity::Active);
        let active: Vec<&Pod> = active.map(|played| &played.pod).collect();
        let pod = match &self.wire {
            Some(wire) => {
                let told = wire.pod_resources(self.snapshot(&active), |client| client.get(namespace, name));
                told.map(|pod| pod.as_ref().map_or(Value::Null, shown_entry))
            }
            None => active
                .iter()
                .find(|pod| pod.name == name && pod.namespace == namespace)
                .map(|pod| self.shown_pod(pod))
                .ok_or_else(|| format!("pod {name} in namespace {namespace} not found")),
        };
        match pod {
            Ok(pod) => entry.extend([("pod".to_owned(), pod), ("error".to_owned(), Value::Null)]),
            Err(text) => {
                self.count("kubelet_pod_resources_endpoint_errors_get{server_api_version=v1}".to_owned());
                entry.insert("error".into(), json!(text));
            }
        }
    }

    pub(super) fn get_allocatable(&mut self, entry: &mut Entry) -> Result<(), String> {
        self.count_request("get_allocatable");
        let shown = match &self.wire {
            Some(wire) => {
                shown_amounts(&wire.pod_resources(self.snapshot(&[]), PodResourcesClient::allocatable)?)
            }
            None => self.others.of_node.show(show::entries(self.inventory.allocatable())),
        };
        entry.extend(shown);
        entry.insert("error".into(), Value::Null);
        Ok(())
    }

    /// What there is to tell of these pods, and of the node.
    fn snapshot(&self, pods: &[&Pod]) -> PodResourcesSnapshot {
        let container = |pod: &Pod, container: &Container| {
            let key = (pod.uid.clone(), container.name.clone());
            let devices = self.held.entries(&pod.uid, &container.name).collect();
            let nothing = Amounts::default();
            let amounts = self.others.of_containers.get(&key).unwrap_or(&nothing).told(devices);
            ContainerEntry { name: container.name.clone(), amounts }
        };
        let pod = |pod: &&Pod| PodEntry {
            name: pod.name.clone(),
            namespace: pod.namespace.clone(),
            containers: lasting(pod).map(|lasting| container(pod, lasting)).collect(),
            whole: self.whole(pod).map(|whole| whole.told(Vec::new())).unwrap_or_default(),
        };
        PodResourcesSnapshot {
            pods: pods.iter().map(pod).collect(),
            allocatable: self.others.of_node.told(self.inventory.allocatable().collect()),
        }
    }

    /// Sidecars, then the other containers that stay.
    fn shown_pod(&self, pod: &Pod) -> Value {
        let nothing = Amounts::default();
        let containers = lasting(pod).map(|container| {
            let key = (pod.uid.clone(), container.name.clone());
            let amounts = self.others.of_containers.get(&key).unwrap_or(&nothing);
            let mut shown = amounts.show(show::entries(self.held.entries(&pod.uid, &container.name)));
            shown.insert("name".into(), json!(container.name.as_str()));
            Value::Object(shown)
        });
        let containers: Vec<Value> = containers.collect();
        let mut shown = json!({ "name": pod.name, "namespace": pod.namespace, "containers": containers });
        if let Some(whole) = self.whole(pod) {
            whole.show_whole(&mut shown);
        }
        shown
    }

    /// What a pod has as a whole, where that is told.
    fn whole(&self, pod: &Pod) -> Option<&Amounts> {
        match self.others.whole_pods {
            WholePods::Told => self.others.of_pods.get(&pod.uid),
            WholePods::NotTold => None,
        }
    }

    pub(super) fn status(&mut self, step: &Value, entry: &mut Entry) -> Result<(), String> {
        let pod = self.played(step)?.pod.clone();
        let apps = pod.containers.iter().filter(|container| container.role == Role::App);
        let each = apps.map(|container| {
            let health = show::health(&self.inventory, &self.held, &pod.uid, &container.name);
            (container.name.to_string(), health)
        });
        entry.insert("status".into(), Value::Object(each.collect()));
        Ok(())
    }

    fn count_request(&mut self, method: &str) {
        for which in ["total", method] {
            self.count(format!("kubelet_pod_resources_endpoint_requests_{which}{{server_api_version=v1}}"));
        }
    }
}

/// Sidecars, then the other containers that stay.
fn lasting(pod: &Pod) -> impl Iterator<Item = &Container> {
    let of_role = |role| pod.containers.iter().filter(move |container| container.role == role);
    of_role(Role::Sidecar).chain(of_role(Role::App))
}

/// What the service has said of a pod.
fn shown_entry(pod: &PodEntry) -> Value {
    let container = |container: &ContainerEntry| {
        let mut shown = shown_amounts(&container.amounts);
        shown.insert("name".into(), json!(container.name.as_str()));
        Value::Object(shown)
    };
    let containers: Vec<Value> = pod.containers.iter().map(container).collect();
    let mut shown = json!({ "name": pod.name, "namespace": pod.namespace, "containers": containers });
    heard(&pod.whole).show_whole(&mut shown);
    shown
}

fn shown_amounts(told: &device_plugin::Amounts) -> Map<String, Value> {
    heard(told).show(show::entries(told.devices.iter().cloned()))
}

fn heard(told: &device_plugin::Amounts) -> Amounts {
    let block = |block: &MemoryEntry| {
        let nodes: Vec<i64> = block.nodes.iter().map(|node| node.0).collect();
        json!({ "type": block.kind.as_str(), "size": block.size, "nodes": nodes })
    };
    Amounts {
        cpus: told.cpus.iter().map(CpuId::get).collect(),
        memory: told.memory.iter().map(block).collect(),
    }
}
