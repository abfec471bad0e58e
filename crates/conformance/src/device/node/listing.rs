//! What the pod resources service and the pods' status say.

use std::collections::BTreeMap;

use cpuset::{CpuId, CpuSet};
use pod_spec::{ContainerName, Pod, PodUid, Role};
use serde_json::{Map, Value, json};

use super::{Entry, Key, Node};
use crate::case::text;
use crate::device::pods::{Activity, Played};
use crate::device::show;

/// What the service says beside devices, as the case puts it.
pub(super) struct Others {
    which: Which,
    of_node: Amounts,
    of_containers: BTreeMap<Key, Amounts>,
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
        Self { which, of_node: Amounts::default(), of_containers: BTreeMap::new() }
    }

    pub(super) fn set(&mut self, step: &Value) {
        let amounts = match step["pod"].as_str() {
            None => &mut self.of_node,
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
    fn show(&self, devices: Value) -> Map<String, Value> {
        let mut shown = Map::new();
        shown.insert("cpu_ids".into(), if self.cpus.is_empty() { Value::Null } else { json!(self.cpus) });
        shown.insert("memory".into(), json!(self.memory));
        shown.insert("devices".into(), devices);
        shown
    }
}

impl Node {
    pub(super) fn list(&mut self, entry: &mut Entry) {
        self.count_request("list");
        self.collect();
        let which = self.others.which;
        let listed = |played: &&Played| which == Which::All || played.activity == Activity::Active;
        let pods: Vec<Value> =
            self.pods.iter().filter(listed).map(|played| self.shown_pod(&played.pod)).collect();
        entry.insert("pods".into(), Value::Array(pods));
        entry.insert("error".into(), Value::Null);
    }

    pub(super) fn get(&mut self, step: &Value, entry: &mut Entry) {
        self.count_request("get");
        let (name, namespace) = (text(&step["name"]), text(&step["namespace"]));
        let is_it = |played: &&Played| {
            let pod = &played.pod;
            played.activity == Activity::Active && pod.name == name && pod.namespace == namespace
        };
        if let Some(played) = self.pods.iter().find(is_it) {
            entry.insert("pod".into(), self.shown_pod(&played.pod));
            entry.insert("error".into(), Value::Null);
        } else {
            self.count("kubelet_pod_resources_endpoint_errors_get{server_api_version=v1}".to_owned());
            entry.insert("error".into(), json!(format!("pod {name} in namespace {namespace} not found")));
        }
    }

    pub(super) fn get_allocatable(&mut self, entry: &mut Entry) {
        self.count_request("get_allocatable");
        entry.extend(self.others.of_node.show(show::entries(self.inventory.allocatable())));
        entry.insert("error".into(), Value::Null);
    }

    /// Sidecars, then the other containers that stay.
    fn shown_pod(&self, pod: &Pod) -> Value {
        let of_role = |role| pod.containers.iter().filter(move |container| container.role == role);
        let nothing = Amounts::default();
        let containers = of_role(Role::Sidecar).chain(of_role(Role::App)).map(|container| {
            let key = (pod.uid.clone(), container.name.clone());
            let amounts = self.others.of_containers.get(&key).unwrap_or(&nothing);
            let mut shown = amounts.show(show::entries(self.held.entries(&pod.uid, &container.name)));
            shown.insert("name".into(), json!(container.name.as_str()));
            Value::Object(shown)
        });
        json!({ "name": pod.name, "namespace": pod.namespace, "containers": containers.collect::<Vec<_>>() })
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
