//! JSON schemas of [`Document`](crate::Document)s, made from the types of what they contain.
//!
//! A schema says what is always there, and which values a member can have where the code has a closed list of them. It
//! allows members that it does not name: a later version may write more.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::document::API_VERSION;

/// One form that documents of a kind have.
#[derive(Clone, Copy)]
pub struct Form {
    /// What documents name as their `kind`.
    pub kind: &'static str,
    /// Where it comes from, in a few words.
    pub from: &'static str,
    content: fn(&mut SchemaGenerator) -> Schema,
}

impl Form {
    /// Of documents that contain a `T`.
    #[must_use]
    pub const fn new<T: JsonSchema>(kind: &'static str, from: &'static str) -> Self {
        Self { kind, from, content: T::json_schema }
    }

    /// Whether both are of one kind and type.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let schema = |form: &Self| form.schema(&mut generator("#/"));
        self.kind == other.kind && schema(self) == schema(other)
    }

    /// The schema; types that it names are defined in `generator`.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let mut schema = (self.content)(generator);
        let members = json!({
            "apiVersion": { "const": API_VERSION, "type": "string" },
            "kind": { "const": self.kind, "type": "string" },
            "rulesOf": { "type": "string", "description": "The kubelet release whose answers these are." },
        });
        let object = schema.ensure_object();
        let properties = object.entry("properties").or_insert_with(|| json!({}));
        if let (Value::Object(properties), Value::Object(members)) = (properties, members) {
            properties.extend(members);
        }
        let required = object.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(required) = required {
            required.splice(0..0, ["apiVersion", "kind", "rulesOf"].map(Value::from));
        }
        object.insert("title".to_owned(), self.kind.into());
        schema
    }
}

/// What makes schemas of what is written, with definitions at `place`, which ends in a slash.
#[must_use]
pub fn generator(place: &'static str) -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.with(|settings| settings.definitions_path = place.trim_end_matches('/').into()).into_generator()
}

/// The schema of documents of one kind, which have one of these forms.
#[must_use]
pub fn document(forms: &[Form]) -> Value {
    let mut generator = generator("#/$defs/");
    let mut each: Vec<Schema> = forms.iter().map(|form| form.schema(&mut generator)).collect();
    let mut schema = match (each.len(), each.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            for (form, schema) in forms.iter().zip(each.iter_mut()) {
                schema.insert("title".to_owned(), form.from.into());
            }
            let last = last.map(|mut last| {
                last.insert("title".to_owned(), forms.last().map_or("", |form| form.from).into());
                last
            });
            let each: Vec<Schema> = each.into_iter().chain(last).collect();
            json_schema!({ "title": forms.first().map_or("", |form| form.kind), "anyOf": each })
        }
    };
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    let mut schema = schema.to_value();
    simplify(&mut schema);
    schema
}

/// Makes schemas easier to read for people and for generators of clients, without a change of what they allow: lists of
/// constants become one `enum`, a member that is left out when it is `null` is never `null`, and descriptions speak of
/// JSON.
pub fn simplify(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Object(object) => {
            constants(object);
            absent(object);
            object.values_mut().for_each(simplify);
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = spoken(text);
            }
        }
        _ => {}
    }
}

/// `oneOf` constants with descriptions, as one `enum` with all of them in its description.
fn constants(object: &mut Map<String, Value>) {
    let Some(Value::Array(options)) = object.get("oneOf") else { return };
    let mut names = Vec::new();
    let mut lines = Vec::new();
    for option in options {
        let listed = option["enum"].as_array().into_iter().flatten();
        let all: Vec<&Value> = listed.chain(option.get("const")).collect();
        if all.is_empty() || !all.iter().all(|value| value.is_string()) {
            return;
        }
        if let (Some(text), [Value::String(name)]) = (option["description"].as_str(), all.as_slice()) {
            lines.push(format!("- `{name}`: {text}"));
        }
        names.extend(all.into_iter().cloned());
    }
    let head = object.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let description = [vec![head, String::new()], lines].concat().join("\n");
    object.remove("oneOf");
    object.insert("type".to_owned(), "string".into());
    object.insert("enum".to_owned(), names.into());
    object.insert("description".to_owned(), description.trim().into());
}

/// Members that are not required are left out where there is no value.
fn absent(object: &mut Map<String, Value>) {
    let required: Vec<Value> = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = object.get_mut("properties") else { return };
    for (name, property) in properties {
        let is_required = required.iter().any(|other| other == name);
        let Value::Object(property) = property else { continue };
        let is_name = property
            .get("enum")
            .and_then(Value::as_array)
            .is_some_and(|names| names.contains(&json!("None")));
        if let Some(Value::String(text)) = property.get_mut("description").filter(|_| !is_name) {
            *text = text.replace("`None`", if is_required { "`null`" } else { "absent" });
        }
        if is_required {
            continue;
        }
        if let Some(Value::Array(types)) = property.get_mut("type") {
            types.retain(|kind| kind != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                property.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(options)) = property.get_mut("anyOf") {
            options.retain(|option| option["type"] != "null");
            if let [Value::Object(only)] = options.as_slice() {
                let only = only.clone();
                property.remove("anyOf");
                for (key, value) in only {
                    property.entry(key).or_insert(value);
                }
            }
        }
    }
}

/// A description without links to code, each paragraph and each item of a list in one line.
fn spoken(text: &str) -> String {
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("[`") {
        let (before, link) = rest.split_at(at);
        said.push_str(before);
        let Some(end) = link.find("`]") else { break };
        said.push_str(&link[1..=end]);
        rest = &link[end + 2..];
        if let Some(target) = rest.strip_prefix('(') {
            rest = target.split_once(')').map_or("", |(_, after)| after);
        }
    }
    said.push_str(rest);
    let lines: Vec<&str> = said.split('\n').collect();
    let mut said = String::with_capacity(said.len());
    for (at, line) in lines.iter().enumerate() {
        let ends =
            |other: Option<&&str>| other.is_none_or(|other| other.is_empty() || other.starts_with("- "));
        said.push_str(line);
        if at + 1 < lines.len() {
            said.push(if line.is_empty() || ends(lines.get(at + 1)) { '\n' } else { ' ' });
        }
    }
    let mut chars = said.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The policy of the CPU manager.
pub(crate) fn cpu_policy(_: &mut SchemaGenerator) -> Schema {
    admission_report::schema::one_of(["none", "static"])
}

/// The policy of the memory manager.
pub(crate) fn memory_policy(_: &mut SchemaGenerator) -> Schema {
    admission_report::schema::one_of(["None", "Static"])
}

/// How bad a finding about a claim is.
pub(crate) fn claim_severity(_: &mut SchemaGenerator) -> Schema {
    admission_report::schema::one_of(["error", "warning"])
}

/// The program that decides.
#[must_use]
pub fn decided_by(_: &mut SchemaGenerator) -> Schema {
    admission_report::schema::one_of(["kubelet", "topolet"])
}
