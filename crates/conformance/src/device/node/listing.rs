//! What the pod resources service and the pods' status say.

use device_plugin::{ContainerEntry, PodEntry, PodResourcesClient, PodResourcesSnapshot};
use pod_spec::{Container, ContainerKey, Pod, Role};
use serde_json::{Map, Value, json};

use super::others::{Amounts, Which};
use super::{Entry, Node};
use crate::case::text;
use crate::device::pods::{Activity, Played};
use crate::device::show;

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
            let key = ContainerKey { pod: pod.uid.clone(), container: container.name.clone() };
            let devices = self.held.entries(&pod.uid, &container.name).collect();
            let nothing = Amounts::default();
            let amounts = self.others.of_containers.get(&key).unwrap_or(&nothing).listed(devices);
            ContainerEntry { name: container.name.clone(), amounts, claims: Vec::new() }
        };
        let pod = |pod: &&Pod| PodEntry {
            name: pod.name.clone(),
            namespace: pod.namespace.clone(),
            containers: lasting(pod).map(|lasting| container(pod, lasting)).collect(),
            whole: self.others.whole(&pod.uid).map(|whole| whole.listed(Vec::new())).unwrap_or_default(),
        };
        PodResourcesSnapshot {
            pods: pods.iter().map(pod).collect(),
            allocatable: self.others.of_node.listed(self.inventory.allocatable().collect()),
        }
    }

    /// Sidecars, then the other containers that stay.
    fn shown_pod(&self, pod: &Pod) -> Value {
        let nothing = Amounts::default();
        let containers = lasting(pod).map(|container| {
            let key = ContainerKey { pod: pod.uid.clone(), container: container.name.clone() };
            let amounts = self.others.of_containers.get(&key).unwrap_or(&nothing);
            let mut shown = amounts.show(show::entries(self.held.entries(&pod.uid, &container.name)));
            shown.insert("name".into(), json!(container.name.as_str()));
            Value::Object(shown)
        });
        let containers: Vec<Value> = containers.collect();
        let mut shown = json!({ "name": pod.name, "namespace": pod.namespace, "containers": containers });
        if let Some(whole) = self.others.whole(&pod.uid) {
            whole.show_whole(&mut shown);
        }
        shown
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

/// The service's answer for a pod.
fn shown_entry(pod: &PodEntry) -> Value {
    let container = |container: &ContainerEntry| {
        let mut shown = shown_amounts(&container.amounts);
        shown.insert("name".into(), json!(container.name.as_str()));
        Value::Object(shown)
    };
    let containers: Vec<Value> = pod.containers.iter().map(container).collect();
    let mut shown = json!({ "name": pod.name, "namespace": pod.namespace, "containers": containers });
    Amounts::read(&pod.whole).show_whole(&mut shown);
    shown
}

fn shown_amounts(told: &device_plugin::Amounts) -> Map<String, Value> {
    Amounts::read(told).show(show::entries(told.devices.iter().cloned()))
}
