//! RFC 7386: mappings are merged key by key, `null` takes a key away, all else replaces.

use crate::node::{Entry, Node, Value};

/// Lays `patch` over `into`.
pub(crate) fn merge(into: &mut Node, patch: Node) {
    let Value::Map(entries) = patch.value else {
        *into = patch;
        return;
    };
    if !matches!(into.value, Value::Map(_)) {
        into.value = Value::Map(Vec::new());
    }
    let Value::Map(own) = &mut into.value else { return };
    for Entry { key, key_span, value } in entries {
        match own.iter_mut().find(|entry| entry.key == key) {
            _ if value.value == Value::Null => own.retain(|entry| entry.key != key),
            Some(entry) => merge(&mut entry.value, value),
            None => {
                let mut made = Node { value: Value::Null, span: value.span.clone() };
                merge(&mut made, value);
                own.push(Entry { key, key_span, value: made });
            }
        }
    }
}

/// The value at the end of a path of keys, to be changed.
pub(crate) fn at_mut<'a>(node: &'a mut Node, path: &[&str]) -> Option<&'a mut Node> {
    let mut node = node;
    for key in path {
        let Value::Map(entries) = &mut node.value else { return None };
        node = &mut entries.iter_mut().rfind(|entry| entry.key == *key)?.value;
    }
    Some(node)
}
