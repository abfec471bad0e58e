//! `ResourceSlice`: its pool, devices and counters.

use std::collections::BTreeMap;

use dra_model::{
    Attribute, AttributeValue, Capacity, CounterConsumption, CounterName, CounterSet, Device, NodeSelection,
    Pool, RequestPolicy, ResourceSlice, ValidRange,
};
use k8s_quantity::Quantity;

use super::common::{metadata, node_selection, taints};
use super::object::Object;
use super::shapes::{
    ATTRIBUTE, BASIC_DEVICE, CAPACITY, CONSUMPTION, COUNTER, COUNTER_SET, DEVICE, OLD_DEVICE, POLICY, POOL,
    RANGE, SLICE_SPEC,
};
use super::version::V1BETA1;

pub(super) fn slice(object: &Object<'_>) -> ResourceSlice {
    let mut slice = ResourceSlice { metadata: metadata(object), ..ResourceSlice::default() };
    let Some(spec) = object.child("spec", SLICE_SPEC) else { return slice };
    slice.driver = spec.text("driver").into();
    slice.pool = spec.child("pool", POOL).map(|pool| read_pool(&pool)).unwrap_or_default();
    slice.nodes = nodes(&spec);
    slice.per_device_node_selection = spec.boolean("perDeviceNodeSelection");
    slice.devices = if spec.version() == V1BETA1 {
        spec.list("devices", OLD_DEVICE).map(|devices| devices.iter().map(old_device).collect())
    } else {
        spec.list("devices", DEVICE).map(|devices| devices.iter().map(device).collect())
    };
    let sets = spec.list("sharedCounters", COUNTER_SET);
    slice.shared_counters = sets.map(|sets| sets.iter().map(counter_set).collect());
    slice.partition_type = spec.optional_text("partitionTypeAttribute").map(Into::into);
    slice.skip_node_operations = spec.texts("skipNodeOperations").unwrap_or_default();
    slice
}

/// In `v1beta1` an empty name and `false` are absent fields.
fn nodes(spec: &Object<'_>) -> NodeSelection {
    let mut nodes = node_selection(spec);
    if spec.version() == V1BETA1 {
        nodes.node_name = nodes.node_name.filter(|name| !name.is_empty());
        nodes.all_nodes = nodes.all_nodes.filter(|all| *all);
    }
    nodes
}

fn read_pool(pool: &Object<'_>) -> Pool {
    Pool {
        name: pool.text("name").into(),
        generation: pool.integer("generation").unwrap_or_default(),
        slice_count: pool.integer("resourceSliceCount").unwrap_or_default(),
    }
}

fn counter_set(set: &Object<'_>) -> CounterSet {
    CounterSet { name: set.text("name").into(), counters: counters(set) }
}

fn counters(object: &Object<'_>) -> BTreeMap<CounterName, Quantity> {
    let counters = object.map::<CounterName>("counters", "string", COUNTER);
    counters.into_iter().map(|(name, counter)| (name, counter.amount("value").unwrap_or_default())).collect()
}

fn old_device(object: &Object<'_>) -> Device {
    let basic = object.child("basic", BASIC_DEVICE).map(|basic| device(&basic));
    Device { name: object.text("name").into(), ..basic.unwrap_or_default() }
}

fn device(object: &Object<'_>) -> Device {
    let attributes = object.map("attributes", "QualifiedName", ATTRIBUTE);
    let capacity = object.map("capacity", "QualifiedName", CAPACITY);
    let consumes = object.list("consumesCounters", CONSUMPTION).unwrap_or_default();
    Device {
        name: object.text("name").into(),
        attributes: attributes.into_iter().map(|(name, value)| (name, attribute(&value))).collect(),
        capacity: capacity.into_iter().map(|(name, value)| (name, read_capacity(&value))).collect(),
        consumes: consumes.iter().map(consumption).collect(),
        nodes: node_selection(object),
        taints: taints(object),
        binds_to_node: object.boolean("bindsToNode"),
        binding_conditions: object.texts("bindingConditions"),
        binding_failure_conditions: object.texts("bindingFailureConditions"),
        allow_multiple_allocations: object.boolean("allowMultipleAllocations"),
    }
}

fn attribute(object: &Object<'_>) -> Attribute {
    let values = [
        object.integer("int").map(AttributeValue::Int),
        object.boolean("bool").map(AttributeValue::Bool),
        object.optional_text("string").map(AttributeValue::String),
        object.optional_text("version").map(AttributeValue::Version),
        object.integers("ints").map(AttributeValue::Ints),
        object.booleans("bools").map(AttributeValue::Bools),
        object.texts("strings").map(AttributeValue::Strings),
        object.texts("versions").map(AttributeValue::Versions),
    ];
    Attribute { values: values.into_iter().flatten().collect() }
}

fn read_capacity(object: &Object<'_>) -> Capacity {
    let policy = object.child("requestPolicy", POLICY);
    let policy = policy.map(|policy| RequestPolicy {
        default: policy.amount("default"),
        values: policy.amount_list("validValues"),
        range: policy.child("validRange", RANGE).map(|range| ValidRange {
            min: range.amount("min"),
            max: range.amount("max"),
            step: range.amount("step"),
        }),
    });
    Capacity { value: object.amount("value").unwrap_or_default(), policy }
}

fn consumption(object: &Object<'_>) -> CounterConsumption {
    CounterConsumption {
        set: object.text("counterSet").into(),
        counters: counters(object),
        compatibility_groups: object.texts("compatibilityGroups").unwrap_or_default(),
    }
}
