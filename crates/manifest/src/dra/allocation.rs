//! `status` of a claim: what it was given, and who may use it.

use dra_model::{
    AllocatedConfig, AllocationResult, ClaimStatus, ConfigSource, Consumer, DeviceId, DeviceResult,
};

use super::common::{names, node_selector, opaque, tolerations};
use super::object::Object;
use super::shapes::{ALLOCATED, ALLOCATED_CONFIG, ALLOCATION, CONSUMER, RESULT, STATUS};

pub(super) fn status(object: &Object<'_>) -> ClaimStatus {
    let Some(status) = object.child("status", STATUS) else { return ClaimStatus::default() };
    let consumers = status.list("reservedFor", CONSUMER).unwrap_or_default();
    ClaimStatus {
        allocation: status.child("allocation", ALLOCATION).map(|allocation| read_allocation(&allocation)),
        reserved_for: consumers.iter().map(consumer).collect(),
    }
}

fn consumer(object: &Object<'_>) -> Consumer {
    Consumer {
        api_group: object.text("apiGroup"),
        resource: object.text("resource"),
        name: object.text("name"),
        uid: object.text("uid"),
    }
}

fn read_allocation(object: &Object<'_>) -> AllocationResult {
    let devices = object.child("devices", ALLOCATED);
    let list = |key, shape| devices.as_ref().and_then(|devices| devices.list(key, shape)).unwrap_or_default();
    AllocationResult {
        results: list("results", RESULT).iter().map(result).collect(),
        config: list("config", ALLOCATED_CONFIG).iter().map(config).collect(),
        node_selector: node_selector(object),
    }
}

fn result(object: &Object<'_>) -> DeviceResult {
    let device = DeviceId {
        driver: object.text("driver").into(),
        pool: object.text("pool").into(),
        device: object.text("device").into(),
    };
    DeviceResult {
        request: object.text("request").into(),
        device,
        admin_access: object.boolean("adminAccess"),
        tolerations: tolerations(object),
        binding_conditions: object.texts("bindingConditions").unwrap_or_default(),
        binding_failure_conditions: object.texts("bindingFailureConditions").unwrap_or_default(),
        share: object.optional_text("shareID").map(Into::into),
        consumed_capacity: object.amounts("consumedCapacity"),
        skip_node_operations: object.texts("skipNodeOperations").unwrap_or_default(),
    }
}

fn config(object: &Object<'_>) -> AllocatedConfig {
    let is_of_class = object.text("source") == ConfigSource::Class.as_str();
    AllocatedConfig {
        source: if is_of_class { ConfigSource::Class } else { ConfigSource::Claim },
        requests: names(object, "requests"),
        opaque: opaque(object),
    }
}
