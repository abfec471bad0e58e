//! CPUs and memory, which the pod resources service lists beside devices.

use std::collections::BTreeMap;

use cpuset::{CpuId, CpuSet};
use device_manager::DeviceEntry;
use device_plugin::MemoryEntry;
use pod_spec::{ContainerKey, ContainerName, PodUid, ResourceName};
use serde_json::{Map, Value, json};
use topology_model::NodeId;

use crate::case::{numbers, text};

/// What the service says beside devices, as the case puts it.
pub(super) struct Others {
    pub(super) which: Which,
    pub(super) of_node: Amounts,
    pub(super) of_containers: BTreeMap<ContainerKey, Amounts>,
    of_pods: BTreeMap<PodUid, Amounts>,
    whole_pods: WholePods,
}

/// Whether the service lists what a pod holds as a whole at the pod.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WholePods {
    Listed,
    NotListed,
}

/// Which pods are listed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    All,
    Active,
}

/// CPUs and memory.
#[derive(Default)]
pub(super) struct Amounts {
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
            whole_pods: if is_on { WholePods::Listed } else { WholePods::NotListed },
        }
    }

    pub(super) fn set(&mut self, step: &Value) {
        let amounts = match step["pod"].as_str() {
            None => &mut self.of_node,
            Some(pod) if step["container"].is_null() => self.of_pods.entry(PodUid::new(pod)).or_default(),
            Some(pod) => {
                let container = ContainerName::new(text(&step["container"]));
                let key = ContainerKey { pod: PodUid::new(pod), container };
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

    /// What a pod has as a whole, where that is listed.
    pub(super) fn whole(&self, pod: &PodUid) -> Option<&Amounts> {
        match self.whole_pods {
            WholePods::Listed => self.of_pods.get(pod),
            WholePods::NotListed => None,
        }
    }
}

impl Amounts {
    /// Reads what the service has listed.
    pub(super) fn read(listed: &device_plugin::Amounts) -> Self {
        let block = |block: &MemoryEntry| {
            let nodes: Vec<i64> = block.nodes.iter().map(|node| node.0).collect();
            json!({ "type": block.kind.as_str(), "size": block.size, "nodes": nodes })
        };
        Self {
            cpus: listed.cpus.iter().map(CpuId::get).collect(),
            memory: listed.memory.iter().map(block).collect(),
        }
    }

    /// What the service lists, with these devices.
    pub(super) fn listed(&self, devices: Vec<DeviceEntry>) -> device_plugin::Amounts {
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

    pub(super) fn show(&self, devices: Value) -> Map<String, Value> {
        let mut shown = Map::new();
        shown.insert("cpu_ids".into(), if self.cpus.is_empty() { Value::Null } else { json!(self.cpus) });
        shown.insert("memory".into(), json!(self.memory));
        shown.insert("devices".into(), devices);
        shown
    }

    pub(super) fn show_whole(&self, pod: &mut Value) {
        if !self.cpus.is_empty() {
            pod["cpu_ids"] = json!(self.cpus);
        }
        if !self.memory.is_empty() {
            pod["memory"] = json!(self.memory);
        }
    }
}
