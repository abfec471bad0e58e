//! Objects of `resource.k8s.io` as JSON of version `v1`: what is read of it is the same object.

use std::collections::BTreeMap;

use dra_model::{
    AllocatedConfig, AllocationResult, Attribute, AttributeValue, Capacity, ClaimConfig, ClaimStatus,
    Constraint, Consumer, CounterConsumption, CounterName, DerivedAttribute, Device, DeviceClass,
    DeviceRequest, DeviceResult, DeviceTaint, DeviceTaintRule, DeviceToleration, Metadata, NodeSelection,
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, OpaqueConfig, RequestedDevices, ResourceClaim,
    ResourceClaimSpec, ResourceClaimTemplate, ResourceSlice, Selector,
};
use k8s_quantity::Quantity;
use pod_spec::CreationTime;
use serde_json::{Map, Value, json};

use super::ResourceObject;

impl ResourceObject {
    /// The object as JSON of version `resource.k8s.io/v1`. Read again it is the same, but for parameters of drivers that are no
    /// JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let (kind, object) = match self {
            Self::Slice(slice) => ("ResourceSlice", written_slice(slice)),
            Self::Class(class) => ("DeviceClass", written_class(class)),
            Self::Claim(claim) => ("ResourceClaim", written_claim(claim)),
            Self::Template(template) => ("ResourceClaimTemplate", written_template(template)),
            Self::TaintRule(rule) => ("DeviceTaintRule", written_rule(rule)),
        };
        object.with("apiVersion", "resource.k8s.io/v1").with("kind", kind).end()
    }
}

/// An object of JSON that is being written. Empty texts and lists, and what is absent, have no field.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    fn some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    fn text(self, key: &str, text: &str) -> Self {
        if text.is_empty() { self } else { self.with(key, text) }
    }

    fn list<T>(self, key: &str, items: &[T], one: impl Fn(&T) -> Value) -> Self {
        if items.is_empty() { self } else { self.with(key, items.iter().map(one).collect::<Vec<_>>()) }
    }

    /// Texts and names.
    fn texts<T: AsRef<str>>(self, key: &str, texts: &[T]) -> Self {
        self.list(key, texts, |text| text.as_ref().into())
    }

    fn map<K: AsRef<str>, T>(self, key: &str, map: &BTreeMap<K, T>, one: impl Fn(&T) -> Value) -> Self {
        if map.is_empty() { self } else { self.with(key, object(map, one)) }
    }

    fn node_selection(self, nodes: &NodeSelection) -> Self {
        self.some("nodeName", nodes.node_name.clone())
            .some("nodeSelector", nodes.node_selector.as_ref().map(node_selector))
            .some("allNodes", nodes.all_nodes)
    }

    fn end(self) -> Value {
        Value::Object(self.0)
    }
}

fn object<K: AsRef<str>, T>(map: &BTreeMap<K, T>, one: impl Fn(&T) -> Value) -> Value {
    map.iter().map(|(key, value)| (key.as_ref().to_owned(), one(value))).collect::<Map<_, _>>().into()
}

fn quantity(amount: &Quantity) -> Value {
    amount.to_string().into()
}

fn metadata(metadata: &Metadata) -> Value {
    let controller = metadata.controller.as_ref();
    let controller = controller.map(|owner| {
        json!([{"apiVersion": "v1", "kind": owner.kind, "name": owner.name, "uid": owner.uid, "controller": true}])
    });
    Fields::default()
        .text("name", &metadata.name)
        .text("generateName", &metadata.generate_name)
        .text("namespace", &metadata.namespace)
        .text("uid", &metadata.uid)
        .some("creationTimestamp", metadata.created.map(|at| CreationTime::at(at).to_string()))
        .map("labels", &metadata.labels, |text| text.clone().into())
        .map("annotations", &metadata.annotations, |text| text.clone().into())
        .some("ownerReferences", controller)
        .end()
}

fn node_selector(selector: &NodeSelector) -> Value {
    let requirement = |requirement: &NodeSelectorRequirement| {
        let NodeSelectorRequirement { key, operator, values } = requirement;
        Fields::default().text("key", key).text("operator", operator).texts("values", values).end()
    };
    let term = |term: &NodeSelectorTerm| {
        let labels = Fields::default().list("matchExpressions", &term.labels, requirement);
        labels.list("matchFields", &term.fields, requirement).end()
    };
    Fields::default().list("nodeSelectorTerms", &selector.terms, term).end()
}

fn selector(selector: &Selector) -> Value {
    let cel = selector.expression.as_ref().map(|expression| json!({ "expression": expression }));
    Fields::default().some("cel", cel).end()
}

fn opaque(config: &OpaqueConfig) -> Value {
    let parameters: Value = serde_json::from_str(&config.parameters).unwrap_or_default();
    let parameters = (!parameters.is_null()).then_some(parameters);
    Fields::default().text("driver", &config.driver).some("parameters", parameters).end()
}

fn taint(taint: &DeviceTaint) -> Value {
    Fields::default()
        .text("key", &taint.key)
        .text("value", &taint.value)
        .text("effect", taint.effect.as_str())
        .some("timeAdded", taint.added.clone())
        .end()
}

fn toleration(toleration: &DeviceToleration) -> Value {
    Fields::default()
        .text("key", &toleration.key)
        .text("operator", toleration.operator.as_str())
        .text("value", &toleration.value)
        .text("effect", toleration.effect.as_ref().map_or("", |effect| effect.as_str()))
        .some("tolerationSeconds", toleration.seconds)
        .end()
}

fn written_slice(slice: &ResourceSlice) -> Fields {
    let ResourceSlice { pool, devices, shared_counters, .. } = slice;
    let pool = json!({"name": pool.name.as_str(), "generation": pool.generation,
        "resourceSliceCount": pool.slice_count});
    let counters = shared_counters.as_ref().map(|sets| {
        let set = |set: &dra_model::CounterSet| {
            Fields::default().text("name", &set.name).some("counters", counters(&set.counters)).end()
        };
        sets.iter().map(set).collect::<Vec<_>>()
    });
    let devices = devices.as_ref().map(|devices| devices.iter().map(device).collect::<Vec<_>>());
    let spec = Fields::default()
        .text("driver", &slice.driver)
        .with("pool", pool)
        .node_selection(&slice.nodes)
        .some("perDeviceNodeSelection", slice.per_device_node_selection)
        .some("devices", devices)
        .some("sharedCounters", counters)
        .some("partitionTypeAttribute", slice.partition_type.as_deref())
        .texts("skipNodeOperations", &slice.skip_node_operations);
    Fields::default().with("metadata", metadata(&slice.metadata)).with("spec", spec.end())
}

fn counters(counters: &BTreeMap<CounterName, Quantity>) -> Option<Value> {
    (!counters.is_empty()).then(|| object(counters, |amount| json!({ "value": quantity(amount) })))
}

fn device(device: &Device) -> Value {
    let consumption = |consumed: &CounterConsumption| {
        let CounterConsumption { set, counters: amounts, compatibility_groups } = consumed;
        let set = Fields::default().text("counterSet", set).some("counters", counters(amounts));
        set.texts("compatibilityGroups", compatibility_groups).end()
    };
    Fields::default()
        .text("name", &device.name)
        .map("attributes", &device.attributes, attribute)
        .map("capacity", &device.capacity, capacity)
        .list("consumesCounters", &device.consumes, consumption)
        .node_selection(&device.nodes)
        .list("taints", &device.taints, taint)
        .some("bindsToNode", device.binds_to_node)
        .some("bindingConditions", device.binding_conditions.clone())
        .some("bindingFailureConditions", device.binding_failure_conditions.clone())
        .some("allowMultipleAllocations", device.allow_multiple_allocations)
        .end()
}

fn attribute(attribute: &Attribute) -> Value {
    let field = |value: &AttributeValue| {
        let json = match value {
            AttributeValue::Int(value) => json!(value),
            AttributeValue::Bool(value) => json!(value),
            AttributeValue::String(value) | AttributeValue::Version(value) => json!(value),
            AttributeValue::Ints(values) => json!(values),
            AttributeValue::Bools(values) => json!(values),
            AttributeValue::Strings(values) | AttributeValue::Versions(values) => json!(values),
        };
        (value.field().to_owned(), json)
    };
    attribute.values.iter().map(field).collect::<Map<_, _>>().into()
}

fn capacity(capacity: &Capacity) -> Value {
    let policy = capacity.policy.as_ref().map(|policy| {
        let range = policy.range.as_ref().map(|range| {
            let amounts = [("min", &range.min), ("max", &range.max), ("step", &range.step)];
            let amounts = amounts.into_iter().filter_map(|(key, amount)| Some((key, amount.as_ref()?)));
            amounts.fold(Fields::default(), |fields, (key, amount)| fields.with(key, quantity(amount))).end()
        });
        let default = Fields::default().some("default", policy.default.as_ref().map(quantity));
        default.list("validValues", &policy.values, quantity).some("validRange", range).end()
    });
    Fields::default().with("value", quantity(&capacity.value)).some("requestPolicy", policy).end()
}

fn written_class(class: &DeviceClass) -> Fields {
    let config =
        |config: &Option<OpaqueConfig>| Fields::default().some("opaque", config.as_ref().map(opaque)).end();
    let spec = Fields::default()
        .list("selectors", &class.selectors, selector)
        .list("config", &class.config, config)
        .some("extendedResourceName", class.extended_resource.clone());
    Fields::default().with("metadata", metadata(&class.metadata)).with("spec", spec.end())
}

fn written_claim(claim: &ResourceClaim) -> Fields {
    let ClaimStatus { allocation, reserved_for } = &claim.status;
    let consumer = |consumer: &Consumer| {
        let Consumer { api_group, resource, name, uid } = consumer;
        let group = Fields::default().text("apiGroup", api_group).text("resource", resource);
        group.text("name", name).text("uid", uid).end()
    };
    let status = Fields::default().some("allocation", allocation.as_ref().map(written_allocation)).list(
        "reservedFor",
        reserved_for,
        consumer,
    );
    let object = Fields::default().with("metadata", metadata(&claim.metadata));
    object.with("spec", claim_spec(&claim.spec)).with("status", status.end())
}

fn written_template(template: &ResourceClaimTemplate) -> Fields {
    let claim = json!({"metadata": metadata(&template.claim_metadata), "spec": claim_spec(&template.spec)});
    Fields::default().with("metadata", metadata(&template.metadata)).with("spec", claim)
}

fn claim_spec(spec: &ResourceClaimSpec) -> Value {
    let constraint = |constraint: &Constraint| {
        Fields::default()
            .texts("requests", &constraint.requests)
            .some("matchAttribute", constraint.match_attribute.as_deref())
            .some("distinctAttribute", constraint.distinct_attribute.as_deref())
            .end()
    };
    let config = |config: &ClaimConfig| {
        let requests = Fields::default().texts("requests", &config.requests);
        requests.some("opaque", config.opaque.as_ref().map(opaque)).end()
    };
    let devices = Fields::default()
        .list("requests", &spec.requests, request)
        .list("constraints", &spec.constraints, constraint)
        .list("config", &spec.config, config);
    json!({ "devices": devices.end() })
}

fn request(request: &DeviceRequest) -> Value {
    let exactly = request.exactly.as_ref().map(|devices| requested(devices).end());
    let alternative = |devices: &RequestedDevices| requested(devices).text("name", &devices.name).end();
    Fields::default()
        .text("name", &request.name)
        .some("exactly", exactly)
        .list("firstAvailable", &request.first_available, alternative)
        .end()
}

/// Without the name, which only alternatives have.
fn requested(devices: &RequestedDevices) -> Fields {
    let derived =
        |derived: &DerivedAttribute| json!({"name": derived.name.as_str(), "expression": derived.expression});
    let count = devices.mode.count();
    let capacity = devices.capacity.as_ref();
    let capacity = capacity.map(|amounts| Fields::default().map("requests", amounts, quantity).end());
    Fields::default()
        .text("deviceClassName", &devices.class)
        .list("selectors", &devices.selectors, selector)
        .text("allocationMode", devices.mode.as_str())
        .some("count", (count != 0).then_some(count))
        .some("adminAccess", devices.admin_access)
        .list("tolerations", &devices.tolerations, toleration)
        .some("capacity", capacity)
        .list("derivedAttributes", &devices.derived_attributes, derived)
}

fn written_allocation(allocation: &AllocationResult) -> Value {
    let config = |config: &AllocatedConfig| {
        let source = Fields::default().with("source", config.source.as_str());
        let source = source.texts("requests", &config.requests);
        source.some("opaque", config.opaque.as_ref().map(opaque)).end()
    };
    let devices = Fields::default().list("results", &allocation.results, result);
    let devices = devices.list("config", &allocation.config, config).end();
    let selector = allocation.node_selector.as_ref().map(node_selector);
    Fields::default().with("devices", devices).some("nodeSelector", selector).end()
}

fn result(result: &DeviceResult) -> Value {
    let consumed = result.consumed_capacity.as_ref().map(|amounts| object(amounts, quantity));
    Fields::default()
        .text("request", &result.request)
        .text("driver", &result.device.driver)
        .text("pool", &result.device.pool)
        .text("device", &result.device.device)
        .some("adminAccess", result.admin_access)
        .list("tolerations", &result.tolerations, toleration)
        .texts("bindingConditions", &result.binding_conditions)
        .texts("bindingFailureConditions", &result.binding_failure_conditions)
        .some("shareID", result.share.as_deref())
        .some("consumedCapacity", consumed)
        .texts("skipNodeOperations", &result.skip_node_operations)
        .end()
}

fn written_rule(rule: &DeviceTaintRule) -> Fields {
    let selector = rule.selector.as_ref().map(|selector| {
        Fields::default()
            .some("driver", selector.driver.as_deref())
            .some("pool", selector.pool.as_deref())
            .some("device", selector.device.as_deref())
            .end()
    });
    let spec = Fields::default().some("deviceSelector", selector).with("taint", taint(&rule.taint));
    Fields::default().with("metadata", metadata(&rule.metadata)).with("spec", spec.end())
}
