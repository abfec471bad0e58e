//! State files: the kubelet's bytes, the texts under their checksums, and what is read back from them.

mod cpu;
mod device;
mod memory;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::case::{Outcome, Runner};

pub(crate) fn runner(domain: &str, kind: &str) -> Option<Runner> {
    Some(match (domain, kind) {
        ("cpu", "checkpoint") => cpu::checkpoint,
        ("memory", "checkpoint") => memory::checkpoint,
        ("device", "golden") => device::golden,
        _ => return None,
    })
}

/// A checksum in a file of ours.
fn checksum(file: &str, member: &str) -> Value {
    let file: Value = serde_json::from_str(file).unwrap_or_default();
    file[member].clone()
}

/// Null or absent, or a list.
fn list<T>(value: &Value, item: impl FnMut(&Value) -> T) -> Option<Vec<T>> {
    value.as_array().map(|items| items.iter().map(item).collect())
}

/// Null or absent, or a map.
fn map<K: Ord, V>(value: &Value, mut entry: impl FnMut(&str, &Value) -> (K, V)) -> Option<BTreeMap<K, V>> {
    value.as_object().map(|members| members.iter().map(|(name, value)| entry(name, value)).collect())
}

fn unreadable(what: &str) -> Outcome {
    Outcome::Failed { got: json!({ "unreadable": what }) }
}
