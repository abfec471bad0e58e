//! A document as a tree whose every part knows its place, and a cursor that knows the path it came by.

use core::ops::Range;

use crate::position::{Position, TextPosition};
use crate::problem::Quoted;
use crate::{ManifestError, Problem, Source};

/// A value and the bytes it was read from.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) span: Range<usize>,
}

/// A value; a number is the text that it has in JSON.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One key of a mapping.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) value: Node,
}

/// A node, the source it is of and the path to it.
#[derive(Clone, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) source: &'a Source<'a>,
    pub(crate) node: &'a Node,
    /// Empty for a document.
    pub(crate) path: String,
}

/// A key with its place, and its value.
pub(crate) struct MapEntry<'a> {
    pub(crate) key: &'a str,
    pub(crate) key_span: &'a Range<usize>,
    pub(crate) value: Field<'a>,
}

impl Node {
    /// The members of a list; what is none is its own only one.
    pub(crate) fn into_items(self) -> Vec<Self> {
        match self.value {
            Value::List(items) => items,
            _ => vec![self],
        }
    }
}

impl<'a> Field<'a> {
    pub(crate) fn document(source: &'a Source<'a>, node: &'a Node) -> Self {
        Self { source, node, path: String::new() }
    }

    pub(crate) fn fail(&self, problem: Problem) -> ManifestError {
        self.fail_at(&self.node.span, problem)
    }

    pub(crate) fn fail_at(&self, span: &Range<usize>, problem: Problem) -> ManifestError {
        ManifestError::at(self.source, &self.path, span, problem)
    }

    /// The place for a person.
    pub(crate) fn place(&self) -> TextPosition {
        let position = Position::of(self.source.text, self.node.span.start);
        TextPosition { file: self.source.name.to_owned(), position }
    }

    pub(crate) fn unexpected(&self, expected: &'static str) -> ManifestError {
        self.fail(Problem::Unexpected { found: self.node.value.describe(), expected })
    }

    /// The same place by another path.
    pub(crate) fn at_path(&self, path: String) -> Self {
        Self { path, ..self.clone() }
    }

    /// The place of a key: its value, or where that is absent, what should have it.
    pub(crate) fn child_or_self(&self, key: &str) -> Result<Self, ManifestError> {
        Ok(self.get(key)?.unwrap_or_else(|| self.at_path(self.path_of(key))))
    }

    /// The path of a key.
    pub(crate) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.node.value == Value::Null
    }

    pub(crate) fn is_mapping(&self) -> bool {
        matches!(self.node.value, Value::Map(_))
    }

    pub(crate) fn is_true(&self) -> bool {
        self.node.value == Value::Bool(true)
    }

    /// The keys of a mapping in their order; `null` has none.
    pub(crate) fn entries(&self) -> Result<Vec<MapEntry<'a>>, ManifestError> {
        match &self.node.value {
            Value::Null => Ok(Vec::new()),
            Value::Map(entries) => Ok(entries.iter().map(|entry| self.keyed(entry)).collect()),
            _ => Err(self.unexpected("a mapping")),
        }
    }

    /// The value of a key; `None` where it is absent or `null`.
    pub(crate) fn get(&self, key: &str) -> Result<Option<Field<'a>>, ManifestError> {
        match &self.node.value {
            Value::Null => Ok(None),
            // Where a key may be repeated, the last one counts.
            Value::Map(entries) => Ok(entries
                .iter()
                .rfind(|entry| entry.key == key)
                .filter(|entry| entry.value.value != Value::Null)
                .map(|entry| self.keyed(entry).value)),
            _ => Err(self.unexpected("a mapping")),
        }
    }

    /// The value at the end of a path of keys; `None` where one of them is absent or `null`.
    pub(crate) fn descend(&self, path: &[&str]) -> Result<Option<Field<'a>>, ManifestError> {
        let mut field = Some(self.clone());
        for key in path {
            field = field.map_or(Ok(None), |field| field.get(key))?;
        }
        Ok(field)
    }

    pub(crate) fn require(
        &self,
        key: &'static str,
        expected: &'static str,
    ) -> Result<Field<'a>, ManifestError> {
        self.get(key)?.ok_or_else(|| self.fail(Problem::Missing { field: key, expected }))
    }

    /// The members of a list; `null` has none.
    pub(crate) fn items(&self) -> Result<Vec<Field<'a>>, ManifestError> {
        match &self.node.value {
            Value::Null => Ok(Vec::new()),
            Value::List(items) => Ok(items
                .iter()
                .enumerate()
                .map(|(at, node)| Field { source: self.source, node, path: format!("{}[{at}]", self.path) })
                .collect()),
            _ => Err(self.unexpected("a list")),
        }
    }

    pub(crate) fn text(&self, expected: &'static str) -> Result<&'a str, ManifestError> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.unexpected(expected)),
        }
    }

    /// A number as it stands in the source, or text: for names that look like numbers, such as `020700`.
    pub(crate) fn written(&self, expected: &'static str) -> Result<&'a str, ManifestError> {
        match &self.node.value {
            Value::Number(text) => Ok(self.source.text.get(self.node.span.clone()).unwrap_or(text).trim()),
            _ => self.text(expected),
        }
    }

    /// A number, or text.
    pub(crate) fn scalar(&self, expected: &'static str) -> Result<&'a str, ManifestError> {
        match &self.node.value {
            Value::Text(text) | Value::Number(text) => Ok(text),
            _ => Err(self.unexpected(expected)),
        }
    }

    fn keyed(&self, entry: &'a Entry) -> MapEntry<'a> {
        let plain = entry.key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let path = match (self.path.is_empty(), plain) {
            (true, true) => entry.key.clone(),
            (false, true) => format!("{}.{}", self.path, entry.key),
            (_, false) => format!("{}[{}]", self.path, Quoted(&entry.key)),
        };
        let value = Field { source: self.source, node: &entry.value, path };
        MapEntry { key: &entry.key, key_span: &entry.key_span, value }
    }
}

impl Node {
    /// It as compact JSON, with keys in their order.
    pub(crate) fn to_json(&self) -> String {
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
    pub(crate) fn weight(&self) -> usize {
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
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        match self {
            Self::Map(entries) => entries.iter().rfind(|own| own.key == key).map(|own| &own.value),
            _ => None,
        }
    }

    /// What a person would call it.
    fn describe(&self) -> String {
        match self {
            Self::Null => "nothing".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Number(text) => format!("number {}", Quoted(text)),
            Self::Text(text) => format!("text {}", Quoted(text)),
            Self::List(_) => "a list".to_owned(),
            Self::Map(_) => "a mapping".to_owned(),
        }
    }

    /// What JSON calls it.
    pub(crate) const fn json_type(&self) -> &'static str {
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

/// Refuses a mapping with a key that is none of `known`; `expected` names those.
pub(crate) fn known_fields(
    field: &Field<'_>,
    known: &[&str],
    expected: &'static str,
) -> Result<(), ManifestError> {
    match field.entries()?.iter().find(|entry| !known.contains(&entry.key)) {
        None => Ok(()),
        Some(entry) => {
            Err(field
                .fail_at(entry.key_span, Problem::UnknownField { found: entry.key.to_owned(), expected }))
        }
    }
}
