//! `metadata` of objects and of templates.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use dra_model::Metadata;
use dra_model::text::{Length, dns_label, dns_subdomain, is_label_key, label_value};

use crate::errors::Faults;
use crate::names::subdomain;
use crate::path::Path;

/// What objects of a kind belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Cluster,
    Namespace,
}

/// The most bytes that annotations have together.
const MOST_ANNOTATIONS: usize = 256 * 1024;

pub(crate) fn by_hand(metadata: &Metadata, scope: Scope, faults: &mut Faults) {
    let at = Path::new("metadata");
    if !metadata.generate_name.is_empty() {
        let rules = dns_subdomain(&masked(&metadata.generate_name), Length::Characters);
        faults.invalid_for(&at.child("generateName"), &metadata.generate_name, rules);
    }
    name(metadata, &at, Length::Characters, faults);
    common(metadata, scope, &at, faults);
}

/// A class has its name checked by declaration.
pub(crate) fn of_class(metadata: &Metadata, faults: &mut Faults) {
    let at = Path::new("metadata");
    name(metadata, &at, Length::Bytes, faults);
    common(metadata, Scope::Cluster, &at, faults);
}

fn name(metadata: &Metadata, at: &Path, length: Length, faults: &mut Faults) {
    let at = at.child("name");
    match generated(metadata) {
        name if name.is_empty() => faults.required(&at, "name or generateName is required"),
        name => subdomain(&name, &at, length, faults),
    }
}

/// The name, or one such as the API server makes.
fn generated(metadata: &Metadata) -> String {
    if metadata.name.is_empty() && !metadata.generate_name.is_empty() {
        return format!("{}x2x4x", metadata.generate_name);
    }
    metadata.name.clone()
}

/// A prefix may end with a dash: that and the letter before it count as one letter.
fn masked(prefix: &str) -> String {
    let head = prefix.strip_suffix('-').and_then(|head| head.char_indices().next_back());
    head.map_or_else(|| prefix.into(), |(at, _)| format!("{}a", prefix.get(..at).unwrap_or_default()))
}

fn common(metadata: &Metadata, scope: Scope, at: &Path, faults: &mut Faults) {
    let (namespace, place) = (&metadata.namespace, at.child("namespace"));
    // The request's namespace is filled in, and dropped from an object of the cluster.
    if scope == Scope::Namespace && !namespace.is_empty() {
        faults.invalid_for(&place, namespace, dns_label(namespace, Length::Characters));
    }
    labels(&metadata.labels, &at.child("labels"), faults);
    annotations(&metadata.annotations, &at.child("annotations"), faults);
}

/// `spec.metadata` of a template: labels and annotations alone.
pub(crate) fn of_template(metadata: &Metadata, at: &Path, faults: &mut Faults) {
    annotations(&metadata.annotations, &at.child("annotations"), faults);
    labels(&metadata.labels, &at.child("labels"), faults);
    for (field, is_set) in [
        ("name", !metadata.name.is_empty()),
        ("generateName", !metadata.generate_name.is_empty()),
        ("namespace", !metadata.namespace.is_empty()),
        ("uID", !metadata.uid.is_empty()),
        ("creationTimestamp", metadata.created.is_some()),
    ] {
        if is_set {
            faults.forbidden(&at.child(field), "cannot be set");
        }
    }
}

fn labels(labels: &BTreeMap<String, String>, at: &Path, faults: &mut Faults) {
    for (key, value) in labels {
        faults.invalid_for(at, key, is_label_key(key));
        faults.invalid_for(at, value, label_value(value));
    }
}

fn annotations(annotations: &BTreeMap<String, String>, at: &Path, faults: &mut Faults) {
    for key in annotations.keys() {
        faults.invalid_for(at, key, is_label_key(&key.to_lowercase()));
    }
    if annotations.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>() > MOST_ANNOTATIONS {
        faults.too_long(at, MOST_ANNOTATIONS);
    }
}
