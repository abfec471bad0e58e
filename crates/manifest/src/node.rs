//! A cursor in the tree of a document that knows the path it came by.

use core::ops::Range;

pub(crate) use kubernetes_yaml::{Entry, Node, Value};
use kubernetes_yaml::{Position, TextPosition};

use crate::problem::Quoted;
use crate::{ManifestError, Problem, Source};

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
        self.fail(Problem::Unexpected { found: describe(&self.node.value), expected })
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

/// What a person would call it.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(text) => format!("number {}", Quoted(text)),
        Value::Text(text) => format!("text {}", Quoted(text)),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a mapping".to_owned(),
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
