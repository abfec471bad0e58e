//! A struct that is being read as Go's decoder reads it: what has the wrong type is noted and left out, unknown fields
//! are noted, and `null` is an absent field.

use std::cell::RefCell;
use std::collections::BTreeMap;

use k8s_quantity::{ParseError, Quantity};

use super::shapes::{Package, Shape};
use super::time;
use crate::node::{Field, Value};
use crate::warning::unknown_fields;
use crate::{ManifestError, Problem, Warning};

/// What was noted while an object was read.
#[derive(Default)]
pub(super) struct Log {
    /// Values of the wrong type; the decoder goes on and returns the first.
    wrong: RefCell<Vec<ManifestError>>,
    /// What ends the decoder at once: amounts and times that are none.
    fatal: RefCell<Vec<ManifestError>>,
    unknown: RefCell<Vec<Warning>>,
}

impl Log {
    /// What the decoder would have returned, and the fields that it ignored.
    pub(super) fn close(self) -> (Option<ManifestError>, Vec<Warning>) {
        let first = |errors: RefCell<Vec<ManifestError>>| {
            errors.into_inner().into_iter().min_by_key(|error| (error.line(), error.column()))
        };
        (first(self.fatal).or_else(|| first(self.wrong)), self.unknown.into_inner())
    }
}

/// A struct of an object.
pub(super) struct Object<'a> {
    field: Field<'a>,
    shape: Shape,
    /// Where it is, by the names of its fields alone; empty for the object itself.
    path: String,
    /// `v1`, `v1beta2` or `v1beta1`.
    version: &'a str,
    log: &'a Log,
}

impl<'a> Object<'a> {
    /// The object itself, which is a mapping.
    pub(super) fn root(field: Field<'a>, shape: Shape, version: &'a str, log: &'a Log) -> Self {
        Self::new(field, shape, String::new(), version, log)
    }

    fn new(field: Field<'a>, shape: Shape, path: String, version: &'a str, log: &'a Log) -> Self {
        const OF_OBJECT: &str = "a field of Kubernetes v1.37.2";
        if let Some(known) = shape.fields {
            let mut unknown = log.unknown.borrow_mut();
            // It is a mapping, so its keys can be looked at.
            let _ = unknown_fields(&field, known, OF_OBJECT, &mut unknown);
        }
        Self { field, shape, path, version, log }
    }

    /// The version of its API.
    pub(super) const fn version(&self) -> &'a str {
        self.version
    }

    /// Refuses the object for a field that this struct had in older releases, which changes what the others mean.
    pub(super) fn refuse_former(&self, key: &str, what: &str, expected: &'static str) {
        if let Some(field) = self.field.get(key).ok().flatten().filter(|field| !field.is_null()) {
            let problem = Problem::Useless { what: what.to_owned(), expected };
            self.log.fatal.borrow_mut().push(field.fail(problem));
        }
    }

    /// Whether a field is there, be it empty.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// A struct in a field.
    pub(super) fn child(&self, key: &str, shape: Shape) -> Option<Object<'a>> {
        self.as_object(key, self.get(key)?, shape)
    }

    /// The structs of a list; `None` if the field is absent.
    pub(super) fn list(&self, key: &str, shape: Shape) -> Option<Vec<Object<'a>>> {
        let items = self.items(key, &format!("[]{}", self.go_type(shape)))?;
        Some(items.into_iter().filter_map(|item| self.as_object_or_empty(key, item, shape)).collect())
    }

    /// The structs of a mapping by key; none if it is absent.
    pub(super) fn map<K: Ord + for<'k> From<&'k str>>(
        &self,
        key: &str,
        keys: &str,
        shape: Shape,
    ) -> BTreeMap<K, Object<'a>> {
        let entries = self.entries(key, &format!("map[{}]{}", self.own(keys), self.go_type(shape)));
        let read = |(name, value): (&'a str, Field<'a>)| {
            Some((K::from(name), self.as_object_or_empty(key, value, shape)?))
        };
        entries.unwrap_or_default().into_iter().filter_map(read).collect()
    }

    /// Texts by key; none if the field is absent.
    pub(super) fn texts_by_key(&self, key: &str) -> BTreeMap<String, String> {
        let entries = self.entries(key, "map[string]string").unwrap_or_default();
        let read = |(name, value): (&'a str, Field<'a>)| {
            (name.to_owned(), self.as_text(key, &value).unwrap_or_default())
        };
        entries.into_iter().map(read).collect()
    }

    /// Amounts by key; `None` if the field is absent.
    pub(super) fn amounts<K: Ord + for<'k> From<&'k str>>(&self, key: &str) -> Option<BTreeMap<K, Quantity>> {
        let entries = self.entries(key, &format!("map[{}]resource.Quantity", self.own("QualifiedName")))?;
        Some(entries.into_iter().map(|(name, value)| (K::from(name), self.as_quantity(&value))).collect())
    }

    /// A text; empty if the field is absent.
    pub(super) fn text(&self, key: &str) -> String {
        self.optional_text(key).unwrap_or_default()
    }

    /// A text, if the field is there.
    pub(super) fn optional_text(&self, key: &str) -> Option<String> {
        self.as_text(key, &self.get(key)?)
    }

    /// The texts of a list; `None` if the field is absent.
    pub(super) fn texts(&self, key: &str) -> Option<Vec<String>> {
        let items = self.items(key, "[]string")?;
        Some(items.iter().map(|item| self.as_text(key, item).unwrap_or_default()).collect())
    }

    /// A whole number, if the field is there.
    pub(super) fn integer(&self, key: &str) -> Option<i64> {
        self.as_integer(key, &self.get(key)?)
    }

    /// The whole numbers of a list; `None` if the field is absent.
    pub(super) fn integers(&self, key: &str) -> Option<Vec<i64>> {
        let items = self.items(key, "[]int64")?;
        Some(items.iter().map(|item| self.as_integer(key, item).unwrap_or_default()).collect())
    }

    /// `true` or `false`, if the field is there.
    pub(super) fn boolean(&self, key: &str) -> Option<bool> {
        self.as_boolean(key, &self.get(key)?)
    }

    /// A list of `true` and `false`; `None` if the field is absent.
    pub(super) fn booleans(&self, key: &str) -> Option<Vec<bool>> {
        let items = self.items(key, "[]bool")?;
        Some(items.iter().map(|item| self.as_boolean(key, item).unwrap_or_default()).collect())
    }

    /// An amount, if the field is there.
    pub(super) fn amount(&self, key: &str) -> Option<Quantity> {
        Some(self.as_quantity(&self.get(key)?))
    }

    /// The amounts of a list; none if the field is absent.
    pub(super) fn amount_list(&self, key: &str) -> Vec<Quantity> {
        let items = self.items(key, "[]resource.Quantity").unwrap_or_default();
        items.iter().map(|item| self.as_quantity(item)).collect()
    }

    /// A moment as it is written, if the field is there.
    pub(super) fn time(&self, key: &str) -> Option<String> {
        let field = self.get(key)?;
        let text = self.as_text(key, &field)?;
        if let Some(error) = time::fault(&text) {
            self.log.fatal.borrow_mut().push(field.fail(Problem::Time(error)));
        }
        Some(text)
    }

    /// What is in a field, unread, as compact JSON; empty if the field is absent.
    pub(super) fn raw(&self, key: &str) -> String {
        self.get(key).map_or_else(String::new, |field| field.node.to_json())
    }

    /// A field that the struct does not have is not read.
    fn get(&self, key: &str) -> Option<Field<'a>> {
        let is_known = self.shape.fields.is_none_or(|known| known.contains(&key));
        if is_known { self.field.get(key).ok().flatten() } else { None }
    }

    fn as_object(&self, key: &str, field: Field<'a>, shape: Shape) -> Option<Object<'a>> {
        if !field.is_mapping() {
            self.wrong(key, &field, &self.go_type(shape));
            return None;
        }
        Some(Self::new(field, shape, self.path_of(key), self.version, self.log))
    }

    /// The same of a member of a list or mapping, where `null` is an empty struct.
    fn as_object_or_empty(&self, key: &str, field: Field<'a>, shape: Shape) -> Option<Object<'a>> {
        if field.is_null() {
            return Some(Self::new(field, shape, self.path_of(key), self.version, self.log));
        }
        self.as_object(key, field, shape)
    }

    fn as_text(&self, key: &str, field: &Field<'a>) -> Option<String> {
        match &field.node.value {
            Value::Text(text) => return Some(text.clone()),
            Value::Null => {}
            _ => self.wrong(key, field, "string"),
        }
        None
    }

    fn as_integer(&self, key: &str, field: &Field<'a>) -> Option<i64> {
        const GO: &str = "int64";
        match &field.node.value {
            Value::Null => None,
            Value::Number(text) => {
                let number = text.parse().ok();
                if number.is_none() {
                    self.wrong_value(key, field, format!("number {text}"), GO);
                }
                number
            }
            _ => {
                self.wrong(key, field, GO);
                None
            }
        }
    }

    fn as_boolean(&self, key: &str, field: &Field<'a>) -> Option<bool> {
        match field.node.value {
            Value::Bool(value) => return Some(value),
            Value::Null => {}
            _ => self.wrong(key, field, "bool"),
        }
        None
    }

    fn as_quantity(&self, field: &Field<'a>) -> Quantity {
        let read = match &field.node.value {
            Value::Null => return Quantity::default(),
            Value::Text(text) | Value::Number(text) => text.trim().parse(),
            _ => Err(ParseError::Format),
        };
        read.unwrap_or_else(|error| {
            let text = field.node.to_json();
            self.log.fatal.borrow_mut().push(field.fail(Problem::Quantity { text, error }));
            Quantity::default()
        })
    }

    fn items(&self, key: &str, go_type: &str) -> Option<Vec<Field<'a>>> {
        let field = self.get(key)?;
        field.items().map_err(|_| self.wrong(key, &field, go_type)).ok()
    }

    fn entries(&self, key: &str, go_type: &str) -> Option<Vec<(&'a str, Field<'a>)>> {
        let field = self.get(key)?;
        let entries = field.entries().map_err(|_| self.wrong(key, &field, go_type)).ok()?;
        Some(entries.into_iter().map(|entry| (entry.key, entry.value)).collect())
    }

    fn wrong(&self, key: &str, field: &Field<'a>, go_type: &str) {
        self.wrong_value(key, field, field.node.value.json_type().to_owned(), go_type);
    }

    fn wrong_value(&self, key: &str, field: &Field<'a>, found: String, go_type: &str) {
        let name = format!("{}.{}", self.shape.name, self.path_of(key));
        let problem = Problem::WrongType { found, field: name, wanted: go_type.to_owned() };
        self.log.wrong.borrow_mut().push(field.fail(problem));
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn go_type(&self, shape: Shape) -> String {
        match shape.package {
            Package::Resource => self.own(shape.name),
            Package::V1 => format!("v1.{}", shape.name),
        }
    }

    /// A type of the object's package; basic types have none.
    fn own(&self, name: &str) -> String {
        if name == "string" { name.to_owned() } else { format!("{}.{name}", self.version) }
    }
}
