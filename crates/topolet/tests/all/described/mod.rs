//! Schemas, as strict as documents of this version are: what a schema does not name is an error.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

/// What lies below `docs` of the repository.
pub fn document(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(path)
}

/// A schema, and what documents have had of it.
pub struct Described {
    /// With all definitions.
    whole: Value,
    checked: jsonschema::Validator,
    /// Properties that have been met, as `DEFINITION.PROPERTY`.
    met: BTreeSet<String>,
}

impl Described {
    /// Of a kind of document, as it is published.
    pub fn kind(kind: &str) -> Self {
        let path = document(&format!("schemas/{kind}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{kind} is not described"));
        Self::of(serde_json::from_str(&text).unwrap())
    }

    pub fn of(mut whole: Value) -> Self {
        close(&mut whole, false);
        let checked =
            jsonschema::draft202012::new(&whole).unwrap_or_else(|error| panic!("no schema: {error}"));
        Self { whole, checked, met: BTreeSet::new() }
    }

    /// What a document has is what the schema says.
    pub fn check(&mut self, document: &Value, from: &str) {
        let faults: Vec<String> = self
            .checked
            .iter_errors(document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{from}: {}\n{document:#}", faults.join("\n"));
        let whole = self.whole.clone();
        self.meet("", &whole, document);
    }

    /// Properties that no document has had, but for those of the definitions.
    pub fn unmet(&self) -> Vec<String> {
        let mut all = BTreeSet::new();
        properties("", &self.whole, &mut all);
        for (name, schema) in self.whole["$defs"].as_object().into_iter().flatten() {
            properties(name, schema, &mut all);
        }
        all.difference(&self.met).cloned().collect()
    }

    fn meet(&mut self, name: &str, schema: &Value, value: &Value) {
        if let Some(target) = schema["$ref"].as_str() {
            let pointed = self.whole.pointer(&target[1..]).unwrap().clone();
            self.meet(target.rsplit('/').next().unwrap(), &pointed, value);
        }
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(value) = value.get(key) {
                self.met.insert(format!("{name}.{key}"));
                self.meet(&format!("{name}.{key}"), property, value);
            }
        }
        for part in ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten()
        {
            self.meet(name, part, value);
        }
        for item in value.as_array().into_iter().flatten() {
            self.meet(name, &schema["items"], item);
        }
        if schema["additionalProperties"].is_object() {
            for item in value.as_object().into_iter().flatten().map(|(_, item)| item) {
                self.meet(name, &schema["additionalProperties"], item);
            }
        }
    }
}

/// The properties of a schema that no name leads away from.
fn properties(name: &str, schema: &Value, all: &mut BTreeSet<String>) {
    if !schema.is_object() {
        return;
    }
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        all.insert(format!("{name}.{key}"));
        properties(&format!("{name}.{key}"), property, all);
    }
    let parts = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    for part in parts.chain([&schema["items"], &schema["additionalProperties"]]) {
        properties(name, part, all);
    }
}

/// Forbids what a schema does not name. A part of an object is not closed by itself.
fn close(schema: &mut Value, is_part: bool) {
    let Value::Object(object) = schema else { return };
    let is_object = object.contains_key("properties");
    for key in ["anyOf", "oneOf", "allOf"] {
        for part in object.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            close(part, is_part || is_object);
        }
    }
    for key in ["$defs", "schemas", "properties"] {
        for (_, inner) in object.get_mut(key).and_then(Value::as_object_mut).into_iter().flatten() {
            close(inner, false);
        }
    }
    for key in ["components", "items", "additionalProperties"] {
        if let Some(inner) = object.get_mut(key) {
            close(inner, false);
        }
    }
    if is_object && !is_part && !object.contains_key("additionalProperties") {
        object.insert("unevaluatedProperties".to_owned(), json!(false));
    }
}
