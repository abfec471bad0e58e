//! Parts of objects that are not in the text: they have the place of what they are made of.

use core::ops::Range;

use crate::node::{Entry, Field, Node, Value};

/// Makes values whose place is that of one field.
#[derive(Clone)]
pub(super) struct Tree(Range<usize>);

impl Tree {
    pub(super) fn at(field: &Field<'_>) -> Self {
        Self(field.node.span.clone())
    }

    fn node(&self, value: Value) -> Node {
        Node { value, span: self.0.clone() }
    }

    pub(super) fn text(&self, text: impl Into<String>) -> Node {
        self.node(Value::Text(text.into()))
    }

    pub(super) fn number(&self, number: u32) -> Node {
        self.node(Value::Number(number.to_string()))
    }

    pub(super) fn list(&self, items: Vec<Node>) -> Node {
        self.node(Value::List(items))
    }

    pub(super) fn map(&self, entries: impl IntoIterator<Item = (String, Node)>) -> Node {
        let entry = |(key, value)| Entry { key, key_span: self.0.clone(), value };
        self.node(Value::Map(entries.into_iter().map(entry).collect()))
    }

    /// Amounts by resource.
    pub(super) fn amounts(&self, amounts: &[(String, String)]) -> Node {
        self.map(amounts.iter().map(|(resource, amount)| (resource.clone(), self.text(amount.clone()))))
    }

    /// A container that has no more than a name and resources.
    pub(super) fn container(
        &self,
        name: &str,
        requests: &[(String, String)],
        limits: &[(String, String)],
    ) -> Node {
        let resources = [("requests", requests), ("limits", limits)];
        let resources = resources.map(|(key, amounts)| (key.to_owned(), self.amounts(amounts)));
        self.map([("name".to_owned(), self.text(name)), ("resources".to_owned(), self.map(resources))])
    }

    /// The same as a sidecar: an init container that goes on.
    pub(super) fn sidecar(
        &self,
        name: &str,
        requests: &[(String, String)],
        limits: &[(String, String)],
    ) -> Node {
        let mut fields = entries(&self.container(name, requests, limits));
        fields.push(("restartPolicy".to_owned(), self.text("Always")));
        self.map(fields)
    }

    /// A template of a pod.
    pub(super) fn template(&self, metadata: Option<&Node>, spec: Node) -> Node {
        let metadata = metadata.map(|node| ("metadata".to_owned(), node.clone()));
        self.map(metadata.into_iter().chain([("spec".to_owned(), spec)]))
    }
}

/// The entries of a mapping; what is none has none.
pub(super) fn entries(node: &Node) -> Vec<(String, Node)> {
    match &node.value {
        Value::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), entry.value.clone())).collect(),
        _ => Vec::new(),
    }
}

/// The fields of a mapping that have these names.
pub(super) fn picked(node: &Node, keys: &[&str]) -> Vec<(String, Node)> {
    entries(node).into_iter().filter(|(key, _)| keys.contains(&key.as_str())).collect()
}

/// Puts `value` under `key` unless something is there.
pub(super) fn set_default(fields: &mut Vec<(String, Node)>, key: &str, value: Node) {
    if !fields.iter().any(|(own, node)| own == key && node.value != Value::Null) {
        fields.retain(|(own, _)| own != key);
        fields.push((key.to_owned(), value));
    }
}

/// The same with other values in place of texts; a key becomes what its text becomes if that is a text.
pub(super) fn with_texts(node: &Node, fill: &mut impl FnMut(&str, &Range<usize>) -> Value) -> Node {
    let value = match &node.value {
        Value::Text(text) => fill(text, &node.span),
        Value::List(items) => Value::List(items.iter().map(|item| with_texts(item, fill)).collect()),
        Value::Map(entries) => Value::Map(entries.iter().map(|entry| with_key(entry, fill)).collect()),
        other => other.clone(),
    };
    Node { value, span: node.span.clone() }
}

fn with_key(
    Entry { key, key_span, value }: &Entry,
    fill: &mut impl FnMut(&str, &Range<usize>) -> Value,
) -> Entry {
    let key = match fill(key, key_span) {
        Value::Text(text) => text,
        _ => key.clone(),
    };
    Entry { key, key_span: key_span.clone(), value: with_texts(value, fill) }
}
