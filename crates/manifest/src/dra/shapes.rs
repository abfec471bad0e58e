//! The structs of `resource.k8s.io` as Go names them, with their fields: for unknown fields and the decoder's texts.

/// A struct.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Its name in Go.
    pub(super) name: &'static str,
    pub(super) package: Package,
    /// Its fields; `None` takes every key, unread.
    pub(super) fields: Option<&'static [&'static str]>,
}

/// Where a struct is declared.
#[derive(Clone, Copy)]
pub(super) enum Package {
    /// With the object, in the package of its version.
    Resource,
    /// In the core or metadata package, which are both called `v1`.
    V1,
}

const fn of(name: &'static str, fields: &'static [&'static str]) -> Shape {
    Shape { name, package: Package::Resource, fields: Some(fields) }
}

const fn core(name: &'static str, fields: &'static [&'static str]) -> Shape {
    Shape { name, package: Package::V1, fields: Some(fields) }
}

pub(super) const METADATA: Shape = Shape { name: "ObjectMeta", package: Package::V1, fields: None };
pub(super) const OWNER: Shape = Shape { name: "OwnerReference", package: Package::V1, fields: None };

const OBJECT: &[&str] = &["apiVersion", "kind", "metadata", "spec"];
const OBJECT_WITH_STATUS: &[&str] = &["apiVersion", "kind", "metadata", "spec", "status"];

pub(super) const SLICE: Shape = of("ResourceSlice", OBJECT);
pub(super) const CLASS: Shape = of("DeviceClass", OBJECT);
pub(super) const CLAIM: Shape = of("ResourceClaim", OBJECT_WITH_STATUS);
pub(super) const TEMPLATE: Shape = of("ResourceClaimTemplate", OBJECT);
pub(super) const TAINT_RULE: Shape = of("DeviceTaintRule", OBJECT_WITH_STATUS);

pub(super) const SLICE_SPEC: Shape = of(
    "ResourceSliceSpec",
    &[
        "driver",
        "pool",
        "nodeName",
        "nodeSelector",
        "allNodes",
        "devices",
        "perDeviceNodeSelection",
        "sharedCounters",
        "partitionTypeAttribute",
        "skipNodeOperations",
    ],
);
pub(super) const POOL: Shape = of("ResourcePool", &["name", "generation", "resourceSliceCount"]);
pub(super) const COUNTER_SET: Shape = of("CounterSet", &["name", "counters"]);
pub(super) const COUNTER: Shape = of("Counter", &["value"]);

const DEVICE_FIELDS: &[&str] = &[
    "name",
    "attributes",
    "capacity",
    "consumesCounters",
    "nodeName",
    "nodeSelector",
    "allNodes",
    "taints",
    "bindsToNode",
    "bindingConditions",
    "bindingFailureConditions",
    "allowMultipleAllocations",
    "nodeAllocatableResources",
];
pub(super) const DEVICE: Shape = of("Device", DEVICE_FIELDS);
/// A device up to `v1beta1`, whose properties are one level deeper.
pub(super) const OLD_DEVICE: Shape = of("Device", &["name", "basic"]);
pub(super) const BASIC_DEVICE: Shape = of("BasicDevice", DEVICE_FIELDS);
pub(super) const ATTRIBUTE: Shape =
    of("DeviceAttribute", &["int", "bool", "string", "version", "ints", "bools", "strings", "versions"]);
pub(super) const CAPACITY: Shape = of("DeviceCapacity", &["value", "requestPolicy"]);
pub(super) const POLICY: Shape = of("CapacityRequestPolicy", &["default", "validValues", "validRange"]);
pub(super) const RANGE: Shape = of("CapacityRequestPolicyRange", &["min", "max", "step"]);
pub(super) const CONSUMPTION: Shape =
    of("DeviceCounterConsumption", &["counterSet", "counters", "compatibilityGroups"]);
pub(super) const TAINT: Shape = of("DeviceTaint", &["key", "value", "effect", "timeAdded"]);

pub(super) const CLASS_SPEC: Shape =
    of("DeviceClassSpec", &["selectors", "config", "extendedResourceName", "suitableNodes"]);
pub(super) const CLASS_CONFIG: Shape = of("DeviceClassConfiguration", &["opaque"]);
pub(super) const OPAQUE: Shape = of("OpaqueDeviceConfiguration", &["driver", "parameters"]);
pub(super) const SELECTOR: Shape = of("DeviceSelector", &["cel"]);
pub(super) const CEL: Shape = of("CELDeviceSelector", &["expression"]);

pub(super) const CLAIM_SPEC: Shape = of("ResourceClaimSpec", &["devices"]);
pub(super) const TEMPLATE_SPEC: Shape = of("ResourceClaimTemplateSpec", &["metadata", "spec"]);
pub(super) const DEVICE_CLAIM: Shape = of("DeviceClaim", &["requests", "constraints", "config"]);
pub(super) const REQUEST: Shape = of("DeviceRequest", &["name", "exactly", "firstAvailable"]);
const EXACT_FIELDS: &[&str] = &[
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
    "derivedAttributes",
];
pub(super) const EXACTLY: Shape = of("ExactDeviceRequest", EXACT_FIELDS);
/// A request up to `v1beta1`, which has the fields of `exactly` itself.
pub(super) const OLD_REQUEST: Shape = of(
    "DeviceRequest",
    &[
        "name",
        "firstAvailable",
        "deviceClassName",
        "selectors",
        "allocationMode",
        "count",
        "adminAccess",
        "tolerations",
        "capacity",
        "derivedAttributes",
    ],
);
pub(super) const ALTERNATIVE: Shape = of(
    "DeviceSubRequest",
    &[
        "name",
        "deviceClassName",
        "selectors",
        "allocationMode",
        "count",
        "tolerations",
        "capacity",
        "derivedAttributes",
    ],
);
pub(super) const CAPACITY_REQUIREMENTS: Shape = of("CapacityRequirements", &["requests"]);
pub(super) const DERIVED: Shape = of("DeviceDerivedAttribute", &["name", "expression"]);
pub(super) const TOLERATION: Shape =
    of("DeviceToleration", &["key", "operator", "value", "effect", "tolerationSeconds"]);
pub(super) const CONSTRAINT: Shape =
    of("DeviceConstraint", &["requests", "matchAttribute", "distinctAttribute"]);
pub(super) const CLAIM_CONFIG: Shape = of("DeviceClaimConfiguration", &["requests", "opaque"]);

pub(super) const STATUS: Shape = of("ResourceClaimStatus", &["allocation", "reservedFor", "devices"]);
pub(super) const CONSUMER: Shape =
    of("ResourceClaimConsumerReference", &["apiGroup", "resource", "name", "uid"]);
pub(super) const ALLOCATION: Shape =
    of("AllocationResult", &["devices", "nodeSelector", "allocationTimestamp"]);
pub(super) const ALLOCATED: Shape = of("DeviceAllocationResult", &["results", "config"]);
pub(super) const RESULT: Shape = of(
    "DeviceRequestAllocationResult",
    &[
        "request",
        "driver",
        "pool",
        "device",
        "adminAccess",
        "tolerations",
        "bindingConditions",
        "bindingFailureConditions",
        "shareID",
        "consumedCapacity",
        "skipNodeOperations",
    ],
);
pub(super) const ALLOCATED_CONFIG: Shape =
    of("DeviceAllocationConfiguration", &["source", "requests", "opaque"]);

pub(super) const TAINT_RULE_SPEC: Shape = of("DeviceTaintRuleSpec", &["deviceSelector", "taint"]);
pub(super) const TAINT_SELECTOR: Shape = of("DeviceTaintSelector", &["driver", "pool", "device"]);

pub(super) const NODE_SELECTOR: Shape = core("NodeSelector", &["nodeSelectorTerms"]);
pub(super) const TERM: Shape = core("NodeSelectorTerm", &["matchExpressions", "matchFields"]);
pub(super) const REQUIREMENT: Shape = core("NodeSelectorRequirement", &["key", "operator", "values"]);
