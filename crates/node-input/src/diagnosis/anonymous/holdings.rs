//! What a kubelet answers at its podresources socket, written anew.

use serde_json::{Map, Value, json};
use support_bundle::Document;
use topology_manifest::{DeviceGroup, MemoryGroup, NodeHoldings, PodHoldings, Source, read_pod_resources};

use super::names::{NameKind, Names};

/// The answers of a document as JSON, one after the other; `None`: it cannot be read.
pub(super) fn written(document: &Document, names: &mut Names) -> Option<String> {
    let source = Source::from_bytes(&document.path, &document.text).ok()?;
    let read = read_pod_resources(&source).ok()?;
    let mut text = String::new();
    if !read.pods.is_empty() || read.allocatable.is_none() {
        let pods: Vec<Value> = read.pods.iter().map(|pod| self::pod(pod, names)).collect();
        text.push_str(&format!("{}\n", json!({"podResources": pods})));
    }
    if let Some(all) = &read.allocatable {
        let mut all = holdings(all, names);
        // By this member the answer is known for what it is.
        all.entry("cpuIds").or_insert_with(|| json!([]));
        text.push_str(&format!("{}\n", Value::Object(all)));
    }
    Some(text)
}

fn pod(of: &PodHoldings, names: &mut Names) -> Value {
    let containers = of.containers.iter().map(|(name, own)| {
        let mut fields = holdings(own, names);
        fields.insert("name".to_owned(), names.name(NameKind::Container, name.as_str()).into());
        Value::Object(fields)
    });
    let containers: Vec<Value> = containers.collect();
    json!({
        "name": names.name(NameKind::Pod, &of.name),
        "namespace": names.namespace(&of.namespace),
        "containers": containers,
    })
}

fn holdings(of: &NodeHoldings, names: &mut Names) -> Map<String, Value> {
    let NodeHoldings { devices, cpus, memory } = of;
    let nodes = |ids: &[u32]| json!({"nodes": ids.iter().map(|id| json!({"ID": id.to_string()})).collect::<Vec<_>>()});
    let mut fields = Map::new();
    let mut set = |key: &str, list: Vec<Value>| {
        if !list.is_empty() {
            fields.insert(key.to_owned(), list.into());
        }
    };
    let devices = devices.iter().map(|DeviceGroup { resource, ids, nodes: on }| {
        let ids: Vec<String> = ids.iter().map(|id| names.device(id)).collect();
        let mut group = json!({"resourceName": names.resource(resource.as_str()), "deviceIds": ids});
        if let Some(group) = group.as_object_mut().filter(|_| !on.is_empty()) {
            group.insert("topology".to_owned(), nodes(on));
        }
        group
    });
    set("devices", devices.collect());
    set("cpuIds", cpus.iter().map(|cpu| cpu.to_string().into()).collect());
    let memory = memory.iter().map(|MemoryGroup { memory_type, bytes, nodes: on }| {
        let memory_type = names.resource(memory_type.as_str());
        json!({"memoryType": memory_type, "size": bytes.to_string(), "topology": nodes(on)})
    });
    set("memory", memory.collect());
    fields
}
