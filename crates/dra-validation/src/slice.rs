//! Slices.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use dra_model::{AttributeValue, CounterSet, Device, Features, ResourceSlice};

use crate::device::{self, NodesOf};
use crate::errors::Faults;
use crate::json;
use crate::names::{declared_key, declared_label, driver, fully_qualified, pool};
use crate::node_selector::{node_name, single_term};
use crate::path::Path;

const MOST_DEVICES: usize = 128;
/// If any of them has taints, draws on counters or has lists.
const MOST_ADVANCED_DEVICES: usize = 64;
const MOST_SETS: usize = 8;
const MOST_COUNTERS: usize = 32;

pub(crate) fn by_hand(slice: &ResourceSlice, features: Features, faults: &mut Faults) {
    let at = Path::new("spec");
    driver(&slice.driver, &at.child("driver"), faults);
    pool_by_hand(slice, &at.child("pool"), faults);
    nodes(slice, &at, faults);
    if slice.shared_counters.is_some() && slice.devices.is_some() {
        faults.invalid(&at, "", "only one of `sharedCounters` or `devices` is allowed");
    }
    devices_by_hand(slice, features, &at.child("devices"), faults);
    let (sets, place) = (slice.shared_counters(), at.child("sharedCounters"));
    if sets.len() <= MOST_SETS {
        for (number, set) in sets.iter().enumerate() {
            let place = place.index(number).child("counters");
            faults.is_within(&place, set.counters.len(), MOST_COUNTERS);
        }
    }
    partition_type(slice, &at, faults);
    skipped_operations(&slice.skip_node_operations, &at.child("skipNodeOperations"), faults);
}

fn pool_by_hand(slice: &ResourceSlice, at: &Path, faults: &mut Faults) {
    pool(&slice.pool.name, &at.child("name"), faults);
    let (count, generation) = (slice.pool.slice_count, slice.pool.generation);
    if count <= 0 {
        faults.invalid_value(&at.child("resourceSliceCount"), &count, "must be greater than zero");
    }
    if generation < 0 {
        let rule = "must be greater than or equal to zero";
        faults.invalid_value(&at.child("generation"), &generation, rule);
    }
}

const ONE: &str =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

fn nodes(slice: &ResourceSlice, at: &Path, faults: &mut Faults) {
    let mut set = Vec::new();
    if let Some(name) = &slice.nodes.node_name {
        let at = at.child("nodeName");
        if name.is_empty() {
            faults.invalid(&at, name, "must be either unset or set to a non-empty string");
        } else {
            set.push("`nodeName`");
            node_name(name, &at, faults);
        }
    }
    if let Some(selector) = &slice.nodes.node_selector {
        set.push("`nodeSelector`");
        single_term(selector, &at.child("nodeSelector"), faults);
    }
    for (field, title, value) in [
        ("allNodes", "`allNodes`", slice.nodes.all_nodes),
        ("perDeviceNodeSelection", "`perDeviceNodeSelection`", slice.per_device_node_selection),
    ] {
        match value {
            Some(true) => set.push(title),
            Some(false) => {
                faults.invalid_value(&at.child(field), &false, "must be either unset or set to true");
            }
            None => {}
        }
    }
    match set.len() {
        0 => faults.required(at, ONE),
        1 => {}
        _ => {
            let rule = format!("{ONE}, but multiple fields are set");
            faults.invalid(at, &format!("{{{}}}", set.join(", ")), &rule);
        }
    }
}

fn devices_by_hand(slice: &ResourceSlice, features: Features, at: &Path, faults: &mut Faults) {
    let devices = slice.devices();
    let most = if devices.iter().any(is_advanced) { MOST_ADVANCED_DEVICES } else { MOST_DEVICES };
    if !faults.is_within(at, devices.len(), most) {
        return;
    }
    let nodes = if slice.selects_nodes_per_device() { NodesOf::Device } else { NodesOf::Slice };
    let mut seen = BTreeSet::new();
    for (number, device) in devices.iter().enumerate() {
        device::by_hand(device, nodes, features, &at.index(number), faults);
        if !seen.insert(&device.name) {
            faults.duplicate(&at.index(number), &cpuset::go_quote(&device.name));
        }
    }
}

fn is_advanced(device: &Device) -> bool {
    let has_list =
        device.attributes.values().flat_map(|attribute| &attribute.values).any(AttributeValue::is_list);
    has_list || !device.taints.is_empty() || !device.consumes.is_empty()
}

/// The attribute that names the type of a partition must be a text of each device that draws on counters.
fn partition_type(slice: &ResourceSlice, at: &Path, faults: &mut Faults) {
    let Some(name) = &slice.partition_type else { return };
    if slice.devices().iter().all(|device| device.consumes.is_empty()) {
        let rule = "may only be set on a slice which declares devices that consume counters";
        return faults.invalid(&at.child("partitionTypeAttribute"), name, rule);
    }
    if !name.contains('/') {
        return;
    }
    for (number, device) in
        slice.devices().iter().enumerate().filter(|(_, device)| !device.consumes.is_empty())
    {
        if device.attribute(&slice.driver, name).is_none() {
            let rule = "device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set";
            faults.required(&at.child("devices").index(number).child("attributes").key(name), rule);
        }
    }
}

fn skipped_operations(all: &[alloc::string::String], at: &Path, faults: &mut Faults) {
    let has = |operation| all.iter().any(|other| other == operation);
    if has("NodePrepareResources") && !has("NodeUnprepareResources") && !has("*") {
        let list: Vec<_> = all.iter().map(|operation| json::text(operation)).collect();
        let rule = "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped";
        faults.invalid_value(at, &format!("[{}]", list.join(",")), rule);
    }
}

/// What a kubelet can leave out for devices.
const OPERATIONS: [&str; 3] = ["*", "NodePrepareResources", "NodeUnprepareResources"];

pub(crate) fn declared(slice: &ResourceSlice, faults: &mut Faults) {
    let at = Path::new("spec");
    for (number, device) in slice.devices().iter().enumerate() {
        device::declared(device, &at.child("devices").index(number), faults);
    }
    sets_declared(slice.shared_counters(), &at.child("sharedCounters"), faults);
    if let Some(name) = &slice.partition_type {
        fully_qualified(name, &at.child("partitionTypeAttribute"), faults);
    }
    let at = at.child("skipNodeOperations");
    for (number, operation) in slice.skip_node_operations.iter().enumerate() {
        if slice.skip_node_operations.iter().take(number).any(|other| other == operation) {
            faults.duplicate(&at.index(number), &json::text(operation));
        }
        if !OPERATIONS.contains(&operation.as_str()) {
            faults.not_supported(&at.index(number), operation, &OPERATIONS);
        }
    }
}

fn sets_declared(sets: &[CounterSet], at: &Path, faults: &mut Faults) {
    if !faults.is_within(at, sets.len(), MOST_SETS) {
        return;
    }
    let mut seen = BTreeSet::new();
    for (number, set) in sets.iter().enumerate() {
        let at = at.index(number);
        if !seen.insert(&set.name) {
            faults.duplicate(&at, &json::counter_set(set));
        }
        declared_label(&set.name, &at.child("name"), faults);
        let at = at.child("counters");
        if set.counters.is_empty() {
            faults.required(&at, "");
        }
        for name in set.counters.keys() {
            declared_key(name, &at, faults);
        }
    }
}
