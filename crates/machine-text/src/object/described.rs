//! What an object describes, and parts of its tree.

use kubernetes_yaml::Node as Value;
use topology_model::MachineParts;

use crate::lack::Lack;

/// A machine as far as an object describes it.
pub(super) struct Described {
    pub(super) parts: MachineParts,
    pub(super) lacks: Vec<Lack>,
    pub(super) assumed: Vec<String>,
}

pub(super) fn string(node: &Value) -> Option<&str> {
    match &node.value {
        kubernetes_yaml::Value::Text(text) | kubernetes_yaml::Value::Number(text) => Some(text),
        _ => None,
    }
}

/// The members of a list; none where it is no list.
pub(super) fn items(node: Option<&Value>) -> &[Value] {
    match node.map(|node| &node.value) {
        Some(kubernetes_yaml::Value::List(items)) => items,
        _ => &[],
    }
}

pub(super) fn name(object: &Value) -> String {
    let name = object.value.get("metadata").and_then(|metadata| string(metadata.value.get("name")?));
    name.unwrap_or("one without a name").to_owned()
}
