//! Allocations as JSON, as API servers have them.

use dra_model::{
    AllocatedConfig, AllocationResult, DeviceResult, DeviceToleration, NodeSelector, NodeSelectorRequirement,
};
use serde_json::{Map, Value, json};

/// Fields that are left out where they are empty.
fn object(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    };
    let kept = fields.into_iter().filter(|(_, value)| !is_empty(value));
    Value::Object(kept.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}

fn texts<T: ToString>(list: &[T]) -> Value {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().into()
}

pub(super) fn allocation(allocation: &AllocationResult) -> Value {
    let devices = object([
        ("results", allocation.results.iter().map(result).collect()),
        ("config", allocation.config.iter().map(config).collect()),
    ]);
    object([
        ("devices", devices),
        ("nodeSelector", allocation.node_selector.as_ref().map_or(Value::Null, selector)),
    ])
}

fn result(result: &DeviceResult) -> Value {
    let amounts = result.consumed_capacity.as_ref().map(|amounts| {
        amounts
            .iter()
            .map(|(name, amount)| (name.to_string(), json!(amount.to_string())))
            .collect::<Map<_, _>>()
    });
    object([
        ("request", json!(result.request.as_str())),
        ("driver", json!(result.device.driver.as_str())),
        ("pool", json!(result.device.pool.as_str())),
        ("device", json!(result.device.device.as_str())),
        ("adminAccess", json!(result.admin_access)),
        ("tolerations", result.tolerations.iter().map(toleration).collect()),
        ("bindingConditions", texts(&result.binding_conditions)),
        ("bindingFailureConditions", texts(&result.binding_failure_conditions)),
        ("shareID", json!(result.share.as_ref().map(dra_model::ShareId::as_str))),
        ("consumedCapacity", amounts.map_or(Value::Null, Value::Object)),
        ("skipNodeOperations", texts(&result.skip_node_operations)),
    ])
}

fn toleration(toleration: &DeviceToleration) -> Value {
    object([
        ("key", json!(toleration.key)),
        ("operator", json!(toleration.operator.as_str())),
        ("value", json!(toleration.value)),
        ("effect", json!(toleration.effect.as_ref().map(dra_model::TaintEffect::as_str))),
        ("tolerationSeconds", json!(toleration.seconds)),
    ])
}

fn config(config: &AllocatedConfig) -> Value {
    let opaque = config.opaque.as_ref().map(|opaque| {
        let parameters: Value = serde_json::from_str(&opaque.parameters).unwrap_or_default();
        json!({ "driver": opaque.driver.as_str(), "parameters": parameters })
    });
    object([
        ("source", json!(config.source.as_str())),
        ("requests", texts(&config.requests)),
        ("opaque", opaque.unwrap_or_default()),
    ])
}

fn selector(selector: &NodeSelector) -> Value {
    let requirement = |requirement: &NodeSelectorRequirement| {
        object([
            ("key", json!(requirement.key)),
            ("operator", json!(requirement.operator)),
            ("values", texts(&requirement.values)),
        ])
    };
    let terms = selector.terms.iter().map(|term| {
        object([
            ("matchExpressions", term.labels.iter().map(requirement).collect()),
            ("matchFields", term.fields.iter().map(requirement).collect()),
        ])
    });
    json!({ "nodeSelectorTerms": terms.collect::<Vec<_>>() })
}
