//! Devices as a cluster counts them: amounts of a node, alone or in its object, and zones of a `NodeResourceTopology`.

use std::collections::BTreeMap;

use pod_spec::ResourceName;

use super::entry::{DeviceEntry, DeviceSource, MAX_PER_NODE};
use crate::names::is_resource;
use crate::node::{Field, Value};
use crate::pod_resources::MAX_NODE_ID;
use crate::quantity::quantity;
use crate::{ManifestError, Problem};

const COUNT: &str = "a number of devices, 0 to 65536";

/// Whether a document is a node's amounts: `{"cpu": "92", "memory": "160000Mi", "nvidia.com/gpu": "8"}`.
pub(super) fn are_amounts(document: &Field<'_>) -> bool {
    let is_amount = |field: &Field<'_>| matches!(field.node.value, Value::Text(_) | Value::Number(_));
    let has = |name: &str| document.get(name).ok().flatten().is_some_and(|field| is_amount(&field));
    has("cpu")
        && has("memory")
        && document.entries().is_ok_and(|all| all.iter().all(|own| is_amount(&own.value)))
}

/// The devices of a node's amounts. They do not tell NUMA nodes.
pub(super) fn read(amounts: &Field<'_>) -> Result<Vec<DeviceEntry>, ManifestError> {
    let mut entries = Vec::new();
    for entry in amounts.entries()? {
        if !is_device(entry.key) {
            continue;
        }
        entries.push(DeviceEntry {
            resource: ResourceName::new(entry.key),
            source: DeviceSource::Amount(count(&entry.value)?),
            assumed: Vec::new(),
        });
    }
    Ok(entries)
}

/// The devices of a Node object.
pub(super) fn read_node(node: &Field<'_>) -> Result<Vec<DeviceEntry>, ManifestError> {
    const EXPECTED: &str = "what the kubelet reports, as `kubectl get node NAME -o yaml` prints it";
    let status = node.require("status", EXPECTED)?;
    read(&status.require("allocatable", EXPECTED)?)
}

/// The devices of a node's zones.
pub(super) fn read_zones(object: &Field<'_>) -> Result<Vec<DeviceEntry>, ManifestError> {
    const ZONE: &str = "a name that ends with the number of a NUMA node";
    let mut resources: BTreeMap<ResourceName, BTreeMap<u32, u32>> = BTreeMap::new();
    for zone in object.require("zones", "the zones of the node")?.items()? {
        let kind = zone.get("type")?.map_or(Ok(""), |kind| kind.text("a type of zone"))?;
        if !kind.eq_ignore_ascii_case("node") {
            continue;
        }
        let field = zone.require("name", ZONE)?;
        let name = field.text(ZONE)?;
        let digits = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        let id = digits.parse().ok().filter(|id: &u32| *id <= MAX_NODE_ID);
        let id = id.ok_or_else(|| field.unexpected(ZONE))?;
        for resource in zone.get("resources")?.map_or(Ok(Vec::new()), |list| list.items())? {
            let name = resource.require("name", "the name of a resource")?.text("the name of a resource")?;
            let amount = match resource.get("allocatable")? {
                Some(amount) => Some(amount),
                None => resource.get("capacity")?,
            };
            if let Some(amount) = amount.filter(|_| is_device(name)) {
                resources.entry(ResourceName::new(name)).or_default().insert(id, count(&amount)?);
            }
        }
    }
    let entry = |(resource, counts)| DeviceEntry {
        resource,
        source: DeviceSource::PerNode(counts),
        assumed: Vec::new(),
    };
    Ok(resources.into_iter().map(entry).collect())
}

/// Devices of plugins have a domain, and no part of Kubernetes as that.
fn is_device(name: &str) -> bool {
    let is_own = name.split_once('/').is_none_or(|(domain, _)| domain.ends_with("kubernetes.io"));
    !is_own && is_resource(name)
}

fn count(field: &Field<'_>) -> Result<u32, ManifestError> {
    let (amount, text) = quantity(field)?;
    let count = u32::try_from(amount.value()).ok().filter(|count| *count <= MAX_PER_NODE);
    count.ok_or_else(|| field.fail(Problem::Range { found: text.to_owned(), expected: COUNT }))
}
