//! A document as a tree whose every part knows its place.

use core::ops::Range;

/// A value and the bytes it was read from.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// What it is.
    pub value: Value,
    /// In bytes of the text: of a scalar its whole, of a list or mapping where it begins.
    pub span: Range<usize>,
}

/// A value; a number is the text that it has in JSON.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping, its keys in their order.
    Map(Vec<Entry>),
}

/// One key of a mapping.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// Its text.
    pub key: String,
    /// Where it stands.
    pub key_span: Range<usize>,
    /// What is behind it.
    pub value: Node,
}

impl Node {
    /// The members of a list; what is none is its own only one.
    #[must_use]
    pub fn into_items(self) -> Vec<Self> {
        match self.value {
            Value::List(items) => items,
            _ => vec![self],
        }
    }

    /// It as compact JSON, with keys in their order.
    #[must_use]
    pub fn to_json(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let joined = |parts: Vec<String>| parts.join(",");
        match &self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Number(text) => text.clone(),
            Value::Text(text) => quoted(text),
            Value::List(items) => format!("[{}]", joined(items.iter().map(Node::to_json).collect())),
            Value::Map(entries) => {
                let entry = |entry: &Entry| format!("{}:{}", quoted(&entry.key), entry.value.to_json());
                format!("{{{}}}", joined(entries.iter().map(entry).collect()))
            }
        }
    }

    /// How much there is of it: values, and the bytes of their text.
    #[must_use]
    pub fn weight(&self) -> usize {
        1 + match &self.value {
            Value::Null | Value::Bool(_) => 0,
            Value::Number(text) | Value::Text(text) => text.len(),
            Value::List(items) => items.iter().map(Node::weight).sum(),
            Value::Map(entries) => entries.iter().map(|entry| entry.key.len() + entry.value.weight()).sum(),
        }
    }
}

impl Value {
    /// The value of a key of a mapping; of repeated ones the last.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        match self {
            Self::Map(entries) => entries.iter().rfind(|own| own.key == key).map(|own| &own.value),
            _ => None,
        }
    }

    /// What JSON calls it.
    #[must_use]
    pub const fn json_type(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::List(_) => "array",
            Self::Map(_) => "object",
        }
    }
}
