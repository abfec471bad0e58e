//! What a node file has of a cluster: the objects that decide on claims there, without what tells whose devices they are.
//!
//! Slices of pools that are other nodes' alone are left out, and of claims the devices of such pools; where they can be used
//! stays, so that a claim with devices elsewhere is known to have them. Labels, annotations and configuration of drivers
//! decide nothing.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use dra_model::{DriverName, Metadata, PoolName, ResourceSlice};
use pod_claims::ClusterObjects;
use serde_json::json;
use topology_manifest::{ResourceObject, plain_json};

use crate::claim_names::ClaimNames;
use crate::object_text::ObjectText;

/// A text in a node file is not larger: 32 MiB, as much as a reader of archives takes.
const LARGEST: usize = 32 << 20;

/// The objects as they are packed, for the node of that name; `None`: it is not known, and all slices stay.
pub(crate) fn packed(mut objects: ClusterObjects, node: Option<&str>) -> ClusterObjects {
    if let Some(node) = node {
        keep_pools_of(node, &mut objects);
    }
    let ClusterObjects { slices, classes, claims, templates, taint_rules } = &mut objects;
    let metadata = slices.iter_mut().map(|slice| &mut slice.metadata);
    let metadata = metadata.chain(classes.iter_mut().map(|class| &mut class.metadata));
    let metadata = metadata.chain(claims.iter_mut().map(|claim| &mut claim.metadata));
    let metadata = metadata.chain(taint_rules.iter_mut().map(|rule| &mut rule.metadata));
    metadata.for_each(without_notes);
    for template in templates.iter_mut() {
        without_notes(&mut template.metadata);
        without_notes(&mut template.claim_metadata);
        template.spec.config.clear();
    }
    for class in classes.iter_mut() {
        class.config.clear();
    }
    for claim in claims.iter_mut() {
        claim.spec.config.clear();
        if let Some(allocation) = &mut claim.status.allocation {
            allocation.config.clear();
        }
    }
    let names = ClaimNames::of(&objects);
    names.rename(&mut objects);
    objects
}

fn without_notes(metadata: &mut Metadata) {
    metadata.labels.clear();
    metadata.annotations.clear();
}

/// Leaves out pools whose slices all name other nodes. Any other slice of a pool decides whether the pool is complete.
fn keep_pools_of(node: &str, objects: &mut ClusterObjects) {
    let pool = |slice: &ResourceSlice| (slice.driver.clone(), slice.pool.name.clone());
    let is_elsewhere = |slice: &ResourceSlice| {
        slice.nodes.node_name.as_deref().is_some_and(|name| !name.is_empty() && name != node)
    };
    let here: BTreeSet<(DriverName, PoolName)> =
        objects.slices.iter().filter(|slice| !is_elsewhere(slice)).map(pool).collect();
    let left_out: BTreeSet<(DriverName, PoolName)> =
        objects.slices.iter().map(pool).filter(|pool| !here.contains(pool)).collect();
    objects.slices.retain(|slice| here.contains(&pool(slice)));
    for allocation in objects.claims.iter_mut().filter_map(|claim| claim.status.allocation.as_mut()) {
        allocation
            .results
            .retain(|result| !left_out.contains(&(result.device.driver.clone(), result.device.pool.clone())));
    }
}

/// The text of the objects in a node file.
///
/// # Errors
/// It would be larger than a reader takes.
pub(crate) fn text_of(objects: &ClusterObjects) -> anyhow::Result<Vec<u8>> {
    let ClusterObjects { slices, classes, claims, templates, taint_rules } = objects.clone();
    let slices = slices.into_iter().map(|slice| ResourceObject::Slice(slice.into()));
    let classes = classes.into_iter().map(|class| ResourceObject::Class(class.into()));
    let claims = claims.into_iter().map(|claim| ResourceObject::Claim(claim.into()));
    let templates = templates.into_iter().map(|template| ResourceObject::Template(template.into()));
    let rules = taint_rules.into_iter().map(|rule| ResourceObject::TaintRule(rule.into()));
    let items = slices.chain(classes).chain(claims).chain(templates).chain(rules);
    let items: Vec<_> = items.map(|object| object.to_json()).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let text = plain_json(&serde_json::to_string_pretty(&list)?).into_bytes();
    let (bytes, most) = (text.len(), LARGEST >> 20);
    ensure!(
        bytes <= LARGEST,
        "slices and claims are {bytes} bytes, more than {most} MiB: --node-name leaves out those of other nodes"
    );
    Ok(text)
}

/// The objects of the text of a node file.
///
/// # Errors
/// It is no such text.
pub(crate) fn objects_of(file: &str, text: Vec<u8>) -> anyhow::Result<ClusterObjects> {
    let text = ObjectText::named(format!("slices and claims in {file}"), text);
    ObjectText::objects(&[text]).with_context(|| format!("failed to read {file}"))
}

/// How many objects of each kind there are, for people; `None`: none.
pub(crate) fn line(objects: &ClusterObjects) -> Option<String> {
    let ClusterObjects { slices, classes, claims, templates, taint_rules } = objects;
    let counts = [
        (slices.len(), "slices"),
        (classes.len(), "device classes"),
        (claims.len(), "claims"),
        (templates.len(), "templates"),
        (taint_rules.len(), "taint rules"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}
