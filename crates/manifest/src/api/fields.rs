//! Fields that an object's type does not have: what an API server's strict decoding refuses, which kubectl asks for.
//!
//! The names are those of Kubernetes v1.36.3, from its `OpenAPI` document (`cargo xtask object-fields`). Case counts, as
//! it does for an API server. Labels, quantities and other values whose type has no fields are not checked.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use terminal_text::nearest;

use crate::node::{Field, Value};
use crate::workload::Kind;
use crate::{ManifestError, Problem};

use super::MAX_COMPLAINTS;

/// The fields of a type by name, each with the type of what is in it, if that has fields too.
type Fields = BTreeMap<&'static str, Option<&'static str>>;

/// Every type by name.
static TYPES: LazyLock<BTreeMap<&'static str, Fields>> =
    LazyLock::new(|| parse(include_str!("../generated/object_fields.txt")));

/// A line for each type: its name, then `NAME` or `NAME:TYPE` for each field. Lines with `#` are comments.
fn parse(table: &'static str) -> BTreeMap<&'static str, Fields> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let types = lines.filter_map(|line| {
        let mut words = line.split(' ');
        let name = words.next()?;
        let fields = words.map(|word| match word.split_once(':') {
            Some((field, inner)) => (field, Some(inner)),
            None => (word, None),
        });
        Some((name, fields.collect()))
    });
    types.collect()
}

/// Every field of the object that its kind does not have, in the order of the text; the first hundred.
pub(crate) fn unknown_fields(object: &Field<'_>, kind: Kind) -> Vec<ManifestError> {
    unknown_fields_of(object, kind.name())
}

/// The same for a part of an object, of the type `name`.
pub(crate) fn unknown_fields_of(part: &Field<'_>, name: &str) -> Vec<ManifestError> {
    let mut found = Vec::new();
    if let Some(fields) = TYPES.get(name) {
        look(part, fields, &mut found);
    }
    found
}

fn look(field: &Field<'_>, fields: &Fields, found: &mut Vec<ManifestError>) {
    match &field.node.value {
        Value::Map(_) => {
            for entry in field.entries().unwrap_or_default() {
                match fields.get(entry.key) {
                    None if found.len() == MAX_COMPLAINTS => return,
                    None => found.push(unknown(&entry.value, entry.key, entry.key_span, fields)),
                    Some(None) => {}
                    Some(Some(inner)) => {
                        if let Some(inner) = TYPES.get(inner) {
                            look(&entry.value, inner, found);
                        }
                    }
                }
            }
        }
        Value::List(_) => {
            for item in field.items().unwrap_or_default() {
                look(&item, fields, found);
            }
        }
        // Of the wrong type, if it is not `null`: another check's.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
    }
}

fn unknown(value: &Field<'_>, key: &str, span: &core::ops::Range<usize>, fields: &Fields) -> ManifestError {
    let names: Vec<&'static str> = fields.keys().copied().collect();
    let problem = Problem::UnknownObjectField { path: value.path.clone(), meant: nearest(key, &names) };
    // The path is in the text, as in an API server's.
    value.at_path(String::new()).fail_at(span, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_a_field_has_is_in_the_table() {
        for fields in TYPES.values() {
            for inner in fields.values().flatten() {
                assert!(TYPES.contains_key(inner), "{inner}");
            }
        }
        for kind in Kind::ALL {
            let fields = TYPES.get(kind.name()).unwrap();
            assert!(["apiVersion", "kind", "metadata", "spec"].iter().all(|name| fields.contains_key(name)));
        }
    }
}
