//! Fields that installers have by other names, or within mappings of theirs, as the kubelet has them.

use serde_json::{Map, Value as Json};

use super::kind::{ConfigKind, GKE, GKE_GROUP, GKE_KIND, GKE_POOL, names};
use crate::Source;
use crate::merge::at_mut;
use crate::node::{Entry, Field, Node, Value};

/// Signals of evictions and resources, by the names that Gardener has for them: `KubeletConfigEviction` and `KubeletConfigReserved` in
/// `pkg/apis/core/v1beta1/types_shoot.go` of gardener/gardener.
const OF_GARDENER: [(&str, &str); 6] = [
    ("memoryAvailable", "memory.available"),
    ("imageFSAvailable", "imagefs.available"),
    ("imageFSInodesFree", "imagefs.inodesFree"),
    ("nodeFSAvailable", "nodefs.available"),
    ("nodeFSInodesFree", "nodefs.inodesFree"),
    ("ephemeralStorage", "ephemeral-storage"),
];

/// Fields with such names in them.
const WITH_NAMES: [&str; 6] = [
    "evictionHard",
    "evictionMinimumReclaim",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "kubeReserved",
    "systemReserved",
];

/// Mappings of GKE: the mapping, its field, and the kubelet's field (`NodeKubeletConfig` of the GKE API,
/// cloud.google.com/kubernetes-engine/docs/reference/rest/v1/NodeKubeletConfig).
const OF_GKE: [(&str, &str, &str); 3] = [
    ("memoryManager", "policy", "memoryManagerPolicy"),
    ("topologyManager", "policy", "topologyManagerPolicy"),
    ("topologyManager", "scope", "topologyManagerScope"),
];

/// Gives the fields of a document the kubelet's names.
pub(super) fn rename(source: &Source<'_>, document: &mut Node) {
    let field = Field::document(source, document);
    let (kind, version) = names(&field);
    let (is_gardener, is_gke) = (version.starts_with("core.gardener.cloud/"), version.starts_with(GKE_GROUP));
    let is_bare = kind.is_empty() && version.is_empty();
    if is_gardener && let Some(fields) = at_mut(document, &["spec", "kubernetes", "kubelet"]) {
        for own in WITH_NAMES {
            signals(fields, own);
        }
    } else if is_gke && let Some(fields) = at_mut(document, GKE) {
        flatten(fields);
    } else if is_bare {
        for path in [&["kubeletConfig"], GKE_POOL] {
            if let Some(fields) = at_mut(document, path) {
                flatten(fields);
            }
        }
    }
}

/// Whether a form calls fields of the kubelet otherwise.
pub(crate) fn has_own_names(kind: ConfigKind) -> bool {
    matches!(kind, ConfigKind::Part("Gardener" | GKE_KIND))
}

/// Fields of the kubelet as a form has them: the mappings of GKE, and Gardener's names of signals and resources.
#[must_use]
pub fn form_fields(kind: ConfigKind, fields: Map<String, Json>) -> Map<String, Json> {
    let mut named = Map::new();
    for (field, mut value) in fields {
        if let (ConfigKind::Part("Gardener"), Json::Object(own)) = (kind, &mut value)
            && WITH_NAMES.contains(&field.as_str())
        {
            *own = core::mem::take(own).into_iter().map(|(key, value)| (own_name(&key), value)).collect();
        }
        match OF_GKE.iter().find(|(_, _, name)| kind == ConfigKind::Part(GKE_KIND) && *name == field) {
            Some((mapping, key, _)) => {
                let own = named.entry(*mapping).or_insert_with(|| Json::Object(Map::new()));
                if let Json::Object(own) = own {
                    own.insert((*key).to_owned(), value);
                }
            }
            None => {
                named.insert(field, value);
            }
        }
    }
    named
}

/// The name that Gardener has for a signal or a resource.
fn own_name(key: &str) -> String {
    OF_GARDENER.iter().find(|(_, name)| *name == key).map_or(key, |(own, _)| own).to_owned()
}

fn signals(fields: &mut Node, key: &str) {
    let Some(Node { value: Value::Map(entries), .. }) = at_mut(fields, &[key]) else { return };
    for entry in entries {
        if let Some((_, name)) = OF_GARDENER.iter().find(|(own, _)| *own == entry.key) {
            entry.key = (*name).to_owned();
        }
    }
}

/// Puts the fields of GKE's mappings beside them. What else is in a mapping stays, and is no field of the kubelet.
fn flatten(fields: &mut Node) {
    let Value::Map(entries) = &mut fields.value else { return };
    for (mapping, key, name) in OF_GKE {
        let Some(entry) = entries.iter_mut().find(|entry| entry.key == mapping) else { continue };
        let Value::Map(own) = &mut entry.value.value else { continue };
        let Some(at) = own.iter().position(|entry| entry.key == key) else { continue };
        let moved = own.remove(at);
        entries.push(Entry { key: name.to_owned(), ..moved });
    }
    entries.retain(|entry| {
        let is_mapping = OF_GKE.iter().any(|(mapping, ..)| *mapping == entry.key);
        !(is_mapping && entry.value.value == Value::Map(Vec::new()))
    });
}
