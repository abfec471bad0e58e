//! Objects, nodes and gates of cases.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use dra_model::{DeviceClass, Features, Implementation, Node, ResourceClaim, ResourceSlice};
use serde_json::{Value, json};
use topology_manifest::{ResourceObjects, Source, read_resource_objects};

use crate::case::text;

/// Objects of one kind, in the order of a list that may be absent.
fn objects(list: &Value, kind: &str) -> Result<ResourceObjects> {
    let items = list.as_array().into_iter().flatten();
    let typed = items.map(|item| {
        let mut item = item.clone();
        item["apiVersion"] = json!("resource.k8s.io/v1");
        item["kind"] = json!(kind);
        item
    });
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": typed.collect::<Vec<_>>() });
    let read = read_resource_objects(&Source { name: "case", text: &list.to_string() })?;
    ensure!(read.refused.is_empty(), "a {kind} of the case is refused: {}", read.refused[0]);
    Ok(read)
}

pub(super) fn slices(list: &Value) -> Result<Vec<ResourceSlice>> {
    Ok(objects(list, "ResourceSlice")?.slices)
}

pub(super) fn classes(list: &Value) -> Result<Vec<DeviceClass>> {
    Ok(objects(list, "DeviceClass")?.classes)
}

pub(super) fn claims(list: &Value) -> Result<Vec<ResourceClaim>> {
    Ok(objects(list, "ResourceClaim")?.claims)
}

pub(super) fn node(value: &Value) -> Node {
    let labels = value["labels"].as_object().into_iter().flatten();
    let labels: BTreeMap<String, String> =
        labels.map(|(key, value)| (key.clone(), text(value).to_owned())).collect();
    Node { name: text(&value["name"]).to_owned(), labels }
}

/// Gates by name, or sets of them.
pub(super) fn features(list: &Value) -> Result<Features> {
    Ok(Features::of_names(list.as_array().into_iter().flatten().map(text))?)
}

/// The copy of the allocator that a case asks for, or else that upstream chooses.
pub(super) fn implementation(name: &Value, features: Features) -> Result<Implementation> {
    match text(name) {
        "" | "default" => Ok(Implementation::of(features)),
        name => Implementation::named(name).with_context(|| format!("no implementation {name}")),
    }
}
