//! Members of JSON documents: of cases, and of files of ours.

use std::collections::BTreeMap;

use serde_json::Value;

/// A checksum in a file of ours.
pub(super) fn checksum(file: &str, member: &str) -> Value {
    let file: Value = serde_json::from_str(file).unwrap_or_default();
    file[member].clone()
}

/// Null or absent, or a list.
pub(super) fn list<T>(value: &Value, item: impl FnMut(&Value) -> T) -> Option<Vec<T>> {
    value.as_array().map(|items| items.iter().map(item).collect())
}

/// Null or absent, or a map.
pub(super) fn map<K: Ord, V>(
    value: &Value,
    mut entry: impl FnMut(&str, &Value) -> (K, V),
) -> Option<BTreeMap<K, V>> {
    value.as_object().map(|members| members.iter().map(|(name, value)| entry(name, value)).collect())
}
