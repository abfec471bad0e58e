//! The difference between two statuses as a strategic merge patch: what the API server has and is not a kubelet's stays.

use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value, json};

use crate::conditions::OF_KUBELET;

/// Fields that are replaced as a whole.
const PLAIN: [&str; 9] = [
    "phase",
    "reason",
    "message",
    "startTime",
    "hostIP",
    "podIP",
    "qosClass",
    "observedGeneration",
    "containerStatuses",
];
/// One that pods without init containers do not have.
const INITS: &str = "initContainerStatuses";
/// Amounts, of which those are taken away that are gone.
const AMOUNTS: [&str; 2] = ["resources", "allocatedResources"];
/// Lists of addresses, which are merged by the address.
const ADDRESSES: [&str; 2] = ["hostIPs", "podIPs"];

/// What of `before` has to change to become `after`; `None`: nothing.
pub(crate) fn status(before: &Value, after: &Value) -> Option<Map<String, Value>> {
    let mut patch = Map::new();
    for field in PLAIN.into_iter().chain([INITS]) {
        let (old, new) = (&before[field], &after[field]);
        let is_kept = new.is_null()
            && matches!(field, "startTime" | "qosClass" | "hostIP" | "podIP" | "observedGeneration");
        let is_same_list = new.is_null() && old.as_array().is_some_and(Vec::is_empty);
        if old != new && !is_kept && !is_same_list {
            patch.insert(field.into(), new.clone());
        }
    }
    for field in AMOUNTS {
        if before[field] != after[field] {
            patch.insert(field.into(), replaced(&before[field], &after[field]));
        }
    }
    for field in ADDRESSES {
        if !after[field].is_null() && before[field] != after[field] {
            patch.insert(field.into(), merged(&before[field], &after[field], "ip", |_| true));
        }
    }
    let conditions =
        merged(&before["conditions"], &after["conditions"], "type", |kind| OF_KUBELET.contains(&kind));
    if conditions.as_array().is_some_and(|conditions| !conditions.is_empty()) {
        patch.insert("conditions".into(), conditions);
    }
    (!patch.is_empty()).then_some(patch)
}

/// An object that is merged, with nulls for what is gone.
fn replaced(before: &Value, after: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (before, after) else { return after.clone() };
    let mut patch: Map<String, Value> =
        new.iter().map(|(name, value)| (name.clone(), replaced(&before[name], value))).collect();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    patch.into()
}

/// A list that is merged by a key: members that are new or others, and the mark of those of ours that are gone.
fn merged(before: &Value, after: &Value, key: &str, is_ours: impl Fn(&str) -> bool) -> Value {
    let members = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let (old, new) = (members(before), members(after));
    let find = |list: &[Value], of: &Value| list.iter().find(|member| member[key] == of[key]).cloned();
    let changed = new.iter().filter(|member| find(&old, member).as_ref() != Some(*member)).map(|member| {
        // A field that is gone is taken away.
        let mut changed = member.clone();
        for (field, _) in find(&old, member).iter().filter_map(Value::as_object).flatten() {
            if changed.get(field).is_none() {
                changed[field] = Value::Null;
            }
        }
        changed
    });
    let gone = old
        .iter()
        .filter(|member| find(&new, member).is_none() && member[key].as_str().is_some_and(&is_ours));
    let gone = gone.map(|member| json!({ key: member[key], "$patch": "delete" }));
    changed.chain(gone).collect()
}
