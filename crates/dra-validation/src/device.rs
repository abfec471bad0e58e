//! Devices of a slice.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use dra_model::text::is_label_key;
use dra_model::{AttributeValue, CounterConsumption, Device, Features};

use crate::errors::Faults;
use crate::names::{LONGEST_QUALIFIED, declared_key, declared_label, label, qualified, shortened};
use crate::node_selector::{node_name, node_selector};
use crate::path::Path;
use crate::{attributes, json, policy, taint};

const MOST_PROPERTIES: usize = 32;
const MOST_VALUES: usize = 48;
const MOST_TAINTS: usize = 16;
const MOST_CONDITIONS: usize = 4;
const MOST_CONSUMPTIONS: usize = 2;
const MOST_COUNTERS: usize = 32;
const MOST_GROUPS: usize = 2;

/// Whether devices say on which nodes they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodesOf {
    Device,
    Slice,
}

pub(crate) fn by_hand(device: &Device, nodes: NodesOf, features: Features, at: &Path, faults: &mut Faults) {
    label(&device.name, &at.child("name"), faults);
    numbers(device, at, faults);
    for (name, attribute) in &device.attributes {
        let at = at.child("attributes");
        qualified(name, &at, faults);
        attributes::by_hand(attribute, &at.key(&shortened(name, LONGEST_QUALIFIED)), faults);
    }
    for (name, capacity) in &device.capacity {
        let at = at.child("capacity");
        qualified(name, &at, faults);
        let at = at.key(&shortened(name, LONGEST_QUALIFIED));
        if device.is_shareable() {
            policy::shared(capacity, features, &at, faults);
        } else {
            policy::exclusive(capacity, &at, faults);
        }
    }
    let place = at.child("taints");
    if faults.is_within(&place, device.taints.len(), MOST_TAINTS) {
        for (number, taint) in device.taints.iter().enumerate() {
            taint::by_hand(taint, &place.index(number), faults);
        }
    }
    consumptions_by_hand(&device.consumes, &at.child("consumesCounters"), faults);
    match nodes {
        NodesOf::Device => own_nodes(device, at, faults),
        NodesOf::Slice => no_nodes(device, at, faults),
    }
    binding(device, at, faults);
}

fn numbers(device: &Device, at: &Path, faults: &mut Faults) {
    let properties = device.attributes.len() + device.capacity.len();
    if properties > MOST_PROPERTIES {
        let rule = format!("the total number of attributes and capacities must not exceed {MOST_PROPERTIES}");
        faults.invalid_value(at, &properties, &rule);
    }
    let of_attribute =
        |values: &[AttributeValue]| values.iter().map(AttributeValue::list_len).sum::<usize>().max(1);
    let values: usize = device.attributes.values().map(|attribute| of_attribute(&attribute.values)).sum();
    if values > MOST_VALUES {
        let rule = format!("the total number of attribute values must not exceed {MOST_VALUES}");
        faults.invalid_value(at, &values, &rule);
    }
}

fn consumptions_by_hand(all: &[CounterConsumption], at: &Path, faults: &mut Faults) {
    if all.len() > MOST_CONSUMPTIONS {
        return;
    }
    for (number, consumption) in all.iter().enumerate() {
        faults.is_within(&at.index(number).child("counters"), consumption.counters.len(), MOST_COUNTERS);
    }
}

const ONE: &str = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set \
                   to true in the ResourceSlice spec";

fn own_nodes(device: &Device, at: &Path, faults: &mut Faults) {
    let mut set = Vec::new();
    if let Some(name) = &device.nodes.node_name {
        let at = at.child("nodeName");
        if name.is_empty() {
            faults.invalid(&at, name, "must not be empty");
        } else {
            set.push("`nodeName`");
            node_name(name, &at, faults);
        }
    }
    if let Some(selector) = &device.nodes.node_selector {
        set.push("`nodeSelector`");
        node_selector(selector, &at.child("nodeSelector"), faults);
    }
    match device.nodes.all_nodes {
        Some(true) => set.push("`allNodes`"),
        Some(false) => {
            faults.invalid_value(&at.child("allNodes"), &false, "must be either unset or set to true");
        }
        None => {}
    }
    match set.len() {
        0 => faults.required(at, ONE),
        1 => {}
        _ => faults.invalid(at, &format!("{{{}}}", set.join(", ")), ONE),
    }
}

fn no_nodes(device: &Device, at: &Path, faults: &mut Faults) {
    let nodes = &device.nodes;
    if nodes.node_name.is_some() || nodes.node_selector.is_some() || nodes.all_nodes.is_some() {
        let rule = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in \
                    the ResourceSlice spec";
        faults.invalid_value(at, &"null", rule);
    }
}

/// Binding conditions and binding failure conditions.
fn binding(device: &Device, at: &Path, faults: &mut Faults) {
    let (conditions, failures) = (device.conditions(), device.failure_conditions());
    let (place, failure_place) = (at.child("bindingConditions"), at.child("bindingFailureConditions"));
    for (all, place) in [(conditions, &place), (failures, &failure_place)] {
        if all.len() <= MOST_CONDITIONS {
            for (number, condition) in all.iter().enumerate() {
                faults.invalid_for(&place.index(number), condition, is_label_key(condition));
            }
        }
    }
    for (all, place) in [(conditions, &place), (failures, &failure_place)] {
        let mut seen = BTreeSet::new();
        for (number, condition) in all.iter().enumerate() {
            if !seen.insert(condition) {
                faults.duplicate(&place.index(number), &cpuset::go_quote(condition));
            }
        }
    }
    for (number, failure) in failures.iter().enumerate().filter(|(_, failure)| conditions.contains(failure)) {
        let rule = "bindingFailureConditions must not overlap with bindingConditions";
        faults.invalid(&failure_place.index(number), failure, rule);
    }
    if conditions.is_empty() && !failures.is_empty() {
        let rule = "bindingConditions are required to use bindingFailureConditions";
        faults.invalid_value(&place, &written(device.binding_conditions.as_ref()), rule);
    }
    if failures.is_empty() && !conditions.is_empty() {
        let rule = "bindingFailureConditions are required to use bindingConditions";
        faults.invalid_value(&failure_place, &written(device.binding_failure_conditions.as_ref()), rule);
    }
}

/// A list without members as JSON has it: one that is written differs from one that is absent.
const fn written(list: Option<&Vec<String>>) -> &'static str {
    if list.is_some() { "[]" } else { "null" }
}

pub(crate) fn declared(device: &Device, at: &Path, faults: &mut Faults) {
    for (name, attribute) in &device.attributes {
        attributes::declared(attribute, &at.child("attributes").key(name), faults);
    }
    for (number, taint) in device.taints.iter().enumerate() {
        taint::declared(taint, &at.child("taints").index(number), faults);
    }
    let conditions = [
        ("bindingConditions", device.conditions()),
        ("bindingFailureConditions", device.failure_conditions()),
    ];
    for (field, conditions) in conditions {
        faults.is_within(&at.child(field), conditions.len(), MOST_CONDITIONS);
    }
    let at = at.child("consumesCounters");
    if !faults.is_within(&at, device.consumes.len(), MOST_CONSUMPTIONS) {
        return;
    }
    let mut seen = BTreeSet::new();
    for (number, consumption) in device.consumes.iter().enumerate() {
        if !seen.insert(&consumption.set) {
            faults.duplicate(&at.index(number), &json::consumption(consumption));
        }
        consumption_declared(consumption, &at.index(number), faults);
    }
}

fn consumption_declared(consumption: &CounterConsumption, at: &Path, faults: &mut Faults) {
    declared_label(&consumption.set, &at.child("counterSet"), faults);
    let place = at.child("counters");
    if consumption.counters.is_empty() {
        faults.required(&place, "");
    }
    for name in consumption.counters.keys() {
        declared_key(name, &place, faults);
    }
    let place = at.child("compatibilityGroups");
    let groups = &consumption.compatibility_groups;
    if faults.is_within(&place, groups.len(), MOST_GROUPS) {
        for (number, group) in groups.iter().enumerate() {
            declared_key(group, &place.index(number), faults);
            if groups.iter().take(number).any(|other| other == group) {
                faults.duplicate(&place.index(number), &cpuset::go_quote(group));
            }
        }
    }
}
