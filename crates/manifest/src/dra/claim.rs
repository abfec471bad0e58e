//! `ResourceClaim` and `ResourceClaimTemplate`.

use dra_model::{
    AllocationMode, ClaimConfig, Constraint, DerivedAttribute, DeviceRequest, RequestedDevices,
    ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate,
};

use super::allocation::status;
use super::common::{metadata, names, opaque, selectors, tolerations};
use super::object::Object;
use super::shapes::{
    ALTERNATIVE, CAPACITY_REQUIREMENTS, CLAIM_CONFIG, CLAIM_SPEC, CONSTRAINT, DERIVED, DEVICE_CLAIM, EXACTLY,
    OLD_REQUEST, REQUEST, TEMPLATE_SPEC,
};
use super::version::V1BETA1;

pub(super) fn claim(object: &Object<'_>) -> ResourceClaim {
    ResourceClaim { metadata: metadata(object), spec: spec(object), status: status(object) }
}

pub(super) fn template(object: &Object<'_>) -> ResourceClaimTemplate {
    let inner = object.child("spec", TEMPLATE_SPEC);
    ResourceClaimTemplate {
        metadata: metadata(object),
        claim_metadata: inner.as_ref().map(metadata).unwrap_or_default(),
        spec: inner.as_ref().map(spec).unwrap_or_default(),
    }
}

fn spec(object: &Object<'_>) -> ResourceClaimSpec {
    let devices = object.child("spec", CLAIM_SPEC).and_then(|spec| spec.child("devices", DEVICE_CLAIM));
    let Some(devices) = devices else { return ResourceClaimSpec::default() };
    let is_old = devices.version() == V1BETA1;
    let (shape, read): (_, fn(&Object<'_>) -> DeviceRequest) =
        if is_old { (OLD_REQUEST, old_request) } else { (REQUEST, request) };
    let requests = devices.list("requests", shape).unwrap_or_default();
    let constraints = devices.list("constraints", CONSTRAINT).unwrap_or_default();
    let config = devices.list("config", CLAIM_CONFIG).unwrap_or_default();
    ResourceClaimSpec {
        requests: requests.iter().map(read).collect(),
        constraints: constraints.iter().map(constraint).collect(),
        config: config
            .iter()
            .map(|config| ClaimConfig { requests: names(config, "requests"), opaque: opaque(config) })
            .collect(),
    }
}

fn constraint(object: &Object<'_>) -> Constraint {
    Constraint {
        requests: names(object, "requests"),
        match_attribute: object.optional_text("matchAttribute").map(Into::into),
        distinct_attribute: object.optional_text("distinctAttribute").map(Into::into),
    }
}

fn request(object: &Object<'_>) -> DeviceRequest {
    DeviceRequest {
        name: object.text("name").into(),
        exactly: object.child("exactly", EXACTLY).map(|exactly| requested(&exactly, Defaults::Always)),
        first_available: alternatives(object),
    }
}

/// What of a `v1beta1` request makes it one without alternatives.
const OF_EXACTLY: [&str; 5] = ["selectors", "adminAccess", "tolerations", "capacity", "derivedAttributes"];

fn old_request(object: &Object<'_>) -> DeviceRequest {
    let has_any = !object.text("deviceClassName").is_empty()
        || !object.text("allocationMode").is_empty()
        || object.integer("count").is_some_and(|count| count != 0)
        || OF_EXACTLY.into_iter().any(|key| object.has(key));
    let exactly =
        has_any.then(|| RequestedDevices { name: "".into(), ..requested(object, Defaults::WithClass) });
    DeviceRequest { name: object.text("name").into(), exactly, first_available: alternatives(object) }
}

fn alternatives(object: &Object<'_>) -> Vec<RequestedDevices> {
    let alternatives = object.list("firstAvailable", ALTERNATIVE).unwrap_or_default();
    alternatives.iter().map(|alternative| requested(alternative, Defaults::Always)).collect()
}

/// Where the API server fills in mode and count.
#[derive(Clone, Copy, PartialEq)]
enum Defaults {
    Always,
    /// Only if a class is named.
    WithClass,
}

fn requested(object: &Object<'_>, defaults: Defaults) -> RequestedDevices {
    let class = object.text("deviceClassName");
    let (mode, count) = (object.text("allocationMode"), object.integer("count").unwrap_or_default());
    let mode = if defaults == Defaults::WithClass && class.is_empty() {
        AllocationMode::as_written(&mode, count)
    } else {
        AllocationMode::with_defaults(&mode, count)
    };
    let capacity = object.child("capacity", CAPACITY_REQUIREMENTS);
    let derived = object.list("derivedAttributes", DERIVED).unwrap_or_default();
    RequestedDevices {
        name: object.text("name").into(),
        class: class.into(),
        selectors: selectors(object),
        mode,
        admin_access: object.boolean("adminAccess"),
        tolerations: tolerations(object),
        capacity: capacity.map(|capacity| capacity.amounts("requests").unwrap_or_default()),
        derived_attributes: derived.iter().map(derived_attribute).collect(),
    }
}

fn derived_attribute(object: &Object<'_>) -> DerivedAttribute {
    DerivedAttribute { name: object.text("name").into(), expression: object.text("expression") }
}
