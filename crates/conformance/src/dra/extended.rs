//! Extended resources of pods that classes serve.

use std::collections::BTreeMap;

use anyhow::Result;
use dra_model::{
    DeviceRequest, ExtendedClaim, ExtendedResources, ResourceMapping, wanted_extended_resources,
};
use pod_spec::{Container, Pod, ResourceList, Role};
use serde_json::{Value, json};

use super::objects;
use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;

pub(super) fn extended(_: &Corpus, case: &Case) -> Outcome {
    match answer(&case.input) {
        Ok(answer) => case.compare(answer),
        Err(error) => Outcome::unreadable(error),
    }
}

fn answer(input: &Value) -> Result<Value> {
    let classes = objects::classes(&input["classes"])?;
    let resources = ExtendedResources::of(&classes);
    let pod = pod(input)?;
    let served = wanted_extended_resources(&pod).into_iter();
    let class_of: BTreeMap<String, String> = served
        .filter_map(|resource| {
            let class = resources.class(&resource)?.metadata.name.clone();
            Some((resource, class))
        })
        .collect();
    let allocatable = input["allocatable"].as_object().into_iter().flatten();
    let allocatable = allocatable.map(|(name, amount)| (name.clone(), amount.as_i64().unwrap_or_default()));
    Ok(match resources.claim(&pod, &allocatable.collect()) {
        Err(refused) => json!({ "classOf": class_of, "cannotFit": refused }),
        Ok(claim) => {
            let ExtendedClaim { requests, mappings } = claim;
            let requests = or_null(requests.iter().map(described).collect());
            let mappings = or_null(mappings.iter().map(mapped).collect());
            json!({ "classOf": class_of, "requests": requests, "mappings": mappings })
        }
    })
}

/// Go's empty lists.
fn or_null(list: Vec<Value>) -> Value {
    if list.is_empty() { Value::Null } else { Value::Array(list) }
}

fn described(request: &DeviceRequest) -> Value {
    let exactly = request.exactly.as_ref().map(|devices| {
        json!({
            "allocationMode": devices.mode.as_str(),
            "count": devices.mode.count(),
            "deviceClassName": devices.class.as_str(),
        })
    });
    json!({ "name": request.name.as_str(), "exactly": exactly })
}

fn mapped(mapping: &ResourceMapping) -> Value {
    let ResourceMapping { container, resource, request } = mapping;
    json!({ "containerName": container, "resourceName": resource, "requestName": request.as_str() })
}

fn pod(input: &Value) -> Result<Pod> {
    let mut containers = Vec::new();
    for (list, role) in [("init", Role::Init), ("containers", Role::App)] {
        for container in input[list].as_array().into_iter().flatten() {
            let is_sidecar = container["sidecar"].as_bool() == Some(true);
            let role = if is_sidecar { Role::Sidecar } else { role };
            let requests = container["requests"].as_object().into_iter().flatten();
            let requests = requests.map(|(name, amount)| Ok((name.as_str().into(), text(amount).parse()?)));
            let (name, requests) = (text(&container["name"]).into(), requests.collect::<Result<_>>()?);
            containers.push(Container { name, role, requests, limits: ResourceList::new() });
        }
    }
    Ok(Pod::new("default", "pod", containers))
}
