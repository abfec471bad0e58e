//! Fields whose gate is off: an API server drops them from new objects without a word.

use dra_model::{
    AttributeValue, Device, DeviceClass, Feature, Features, NodeSelection, ResourceClaimSpec, ResourceSlice,
};

/// A new slice as it is stored.
#[must_use]
pub fn drop_disabled_slice_fields(slice: &ResourceSlice, features: Features) -> ResourceSlice {
    let mut slice = slice.clone();
    if !features.has(Feature::PartitionableDevices) {
        slice.shared_counters = None;
        slice.per_device_node_selection = None;
    }
    if !features.has(Feature::PartitionableDevicesType) {
        slice.partition_type = None;
    }
    if !features.has(Feature::OptionalNodeOperations) {
        slice.skip_node_operations.clear();
    }
    slice.devices.iter_mut().flatten().for_each(|device| of_device(device, features));
    slice
}

fn of_device(device: &mut Device, features: Features) {
    if !features.has(Feature::DeviceTaints) {
        device.taints.clear();
    }
    if !features.has(Feature::PartitionableDevices) {
        device.consumes.clear();
        device.nodes = NodeSelection::default();
    }
    if !features.has(Feature::DeviceBindingConditions) {
        device.binding_conditions = None;
        device.binding_failure_conditions = None;
        device.binds_to_node = None;
    }
    if !features.has(Feature::ConsumableCapacity) {
        device.allow_multiple_allocations = None;
        device.capacity.values_mut().for_each(|capacity| capacity.policy = None);
    }
    if !features.has(Feature::DeviceCompatibilityGroups) {
        device.consumes.iter_mut().for_each(|consumption| consumption.compatibility_groups.clear());
    }
    if !features.has(Feature::ListTypeAttributes) {
        let attributes = device.attributes.values_mut();
        attributes.for_each(|attribute| attribute.values.retain(|value| !AttributeValue::is_list(value)));
    }
}

/// What a new claim or template asks for, as it is stored.
#[must_use]
pub fn drop_disabled_claim_fields(spec: &ResourceClaimSpec, features: Features) -> ResourceClaimSpec {
    let mut spec = spec.clone();
    if !features.has(Feature::ConsumableCapacity) {
        spec.constraints.iter_mut().for_each(|constraint| constraint.distinct_attribute = None);
    }
    for request in &mut spec.requests {
        if !features.has(Feature::PrioritizedList) {
            request.first_available.clear();
        }
        for devices in request.exactly.iter_mut().chain(&mut request.first_available) {
            if !features.has(Feature::DeviceTaints) {
                devices.tolerations.clear();
            }
            if !features.has(Feature::AdminAccess) {
                devices.admin_access = None;
            }
            if !features.has(Feature::ConsumableCapacity) {
                devices.capacity = None;
            }
            if !features.has(Feature::DerivedAttributes) {
                devices.derived_attributes.clear();
            }
        }
    }
    spec
}

/// A new class as it is stored.
#[must_use]
pub fn drop_disabled_class_fields(class: &DeviceClass, features: Features) -> DeviceClass {
    let mut class = class.clone();
    if !features.has(Feature::ExtendedResource) {
        class.extended_resource = None;
    }
    class
}
