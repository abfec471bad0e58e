//! What a memory manager answers: what can be allocated, and hints.

use memory_manager::{Holdings, Opinion, Silent, Static};
use pod_spec::{ResourceName, Unit};
use serde_json::{Value, json};
use topology_hint::Answers;
use topology_model::Nodes;

use super::leeway;
use crate::cpu::listed;

/// What clients see, in order of nodes and names. The kubelet's policy `Static` gives no list where nothing is
/// allocatable; its policy `None` gives an empty one.
pub(super) fn allocatable(policy: &Static, nodes: &Nodes) -> Value {
    let block = |(node, resource, size): (_, &ResourceName, u64)| {
        let ids: Vec<i64> = nodes.id(node).into_iter().map(|id| id.0).collect();
        json!({ "numaAffinity": ids, "type": resource.as_str(), "size": size })
    };
    let blocks: Vec<Value> = policy.allocatable().map(block).collect();
    if blocks.is_empty() { Value::Null } else { Value::Array(blocks) }
}

/// The answer for a unit: `null` and `{}` are two ways of the kubelet to have no opinion.
pub(super) fn answer(
    policy: &Static,
    nodes: &Nodes,
    held: &Holdings,
    unit: Unit<'_>,
    answers: &mut Answers,
) -> Value {
    match (policy.hints(held, unit, answers), unit) {
        (Opinion::None(Silent::NothingFits), _)
        | (Opinion::None(Silent::NothingAsked), Unit::Container(..)) => json!({}),
        // Of a pod releases say either.
        (Opinion::None(Silent::NothingAsked), Unit::Pod(_)) => leeway::any_of(&[Value::Null, json!({})]),
        (Opinion::None(_), _) => Value::Null,
        (Opinion::Given, _) => {
            let each = answers.iter();
            let each = each.map(|(resource, answer)| (resource.to_string(), listed(nodes, answer)));
            Value::Object(each.collect())
        }
    }
}
