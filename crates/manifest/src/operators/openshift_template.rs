//! OpenShift's `Template`: the objects that `oc process` makes of it with the defaults of its parameters.
//!
//! `${NAME}` in a text becomes the value of a parameter, and a text that is `${{NAME}}` the value as JSON. A required parameter
//! without a default stays as it is written, since only its user knows it, and another one is empty: an object that cannot be
//! read so is refused with the name of the parameter.

use std::collections::BTreeMap;

use core::ops::Range;

use kubernetes_yaml::Position;

use super::tree::with_texts;
use crate::node::{Entry, Field, Node, Value};
use crate::{ManifestError, Problem};

/// The objects of a template.
pub(crate) struct Processed {
    pub(crate) objects: Vec<Node>,
    /// With which values, as a fragment behind the template's name.
    pub(crate) remark: String,
    /// Where parameters without a default are used.
    open: Vec<(Position, String)>,
}

impl Processed {
    /// The same error, or that a parameter has no default if one is used where the error is.
    pub(crate) fn explained(&self, error: ManifestError) -> ManifestError {
        let place = Position { line: error.line(), column: error.column() };
        let Some((_, name)) = self.open.iter().find(|(at, _)| *at == place) else { return error };
        let what = format!(
            "parameter {name} has no default: `oc process --local -f FILE -p {name}=VALUE -o yaml > OBJECTS`"
        );
        let field = error.field().to_owned();
        error.about(&field, Problem::OtherForm { what, instead: "a value of it: OBJECTS in place of FILE" })
    }
}

/// Whether an object is a template.
pub(crate) fn is_template(version: &str, kind: &str) -> bool {
    kind == "Template" && matches!(crate::names::group_of(version), "template.openshift.io" | "")
}

/// The objects of `template`.
///
/// # Errors
/// Its objects or its parameters are no lists.
pub(crate) fn processed(template: &Field<'_>) -> Result<Processed, ManifestError> {
    let mut values = BTreeMap::new();
    // Those without a value, and of them those that need one.
    let (mut empty, mut open) = (Vec::new(), Vec::new());
    for parameter in template.get("parameters")?.map_or(Ok(Vec::new()), |list| list.items())? {
        let Some(name) = parameter.get("name")? else { continue };
        let name = name.text("the name of a parameter")?;
        let value = parameter.get("value")?;
        let value = value.map_or(Ok(""), |value| value.scalar("a default as a text"))?;
        if !value.is_empty() {
            values.insert(name, value.to_owned());
        } else if parameter.get("generate")?.is_some() {
            // Which letters are chosen matters to no place.
            values.insert(name, "generated".to_owned());
        } else {
            empty.push(name);
            if parameter.get("required")?.is_some_and(|required| required.is_true()) {
                open.push(name);
            } else {
                values.insert(name, String::new());
            }
        }
    }
    let list = template.get("objects")?;
    let list = list.map_or(Ok(Vec::new()), |list| list.items())?;
    let mut used = Vec::new();
    let mut fill = |text: &str, span: &Range<usize>| {
        let uses =
            |name: &&&str| text.contains(&format!("${{{name}}}")) || text == format!("${{{{{name}}}}}");
        if let Some(name) = empty.iter().find(uses) {
            used.push((Position::of(template.source.text, span.start), (*name).to_owned()));
        }
        filled_text(text, span, &values)
    };
    let objects = list.into_iter().map(|object| with_texts(object.node, &mut fill)).collect();
    let mut remark = "read with the defaults of its parameters".to_owned();
    if !open.is_empty() {
        remark.push_str(&format!("; without a default are {}", open.join(", ")));
    }
    remark.push_str(
        ": `oc process --local -f FILE -p NAME=VALUE -o yaml > OBJECTS` writes the objects with others",
    );
    Ok(Processed { objects, remark, open: used })
}

fn filled_text(text: &str, span: &Range<usize>, values: &BTreeMap<&str, String>) -> Value {
    let whole = text.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}"));
    if let Some(value) = whole.and_then(|name| values.get(name)) {
        return serde_json::from_str(value)
            .map_or_else(|_| Value::Text(value.clone()), |json| of_json(json, span));
    }
    let mut made = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        made.push_str(before);
        let found = after.split_once('}').and_then(|(name, behind)| Some((values.get(name)?, behind)));
        if let Some((value, behind)) = found {
            made.push_str(value);
            rest = behind;
        } else {
            made.push_str("${");
            rest = after;
        }
    }
    Value::Text(made + rest)
}

/// A value of JSON, all of which has one place.
fn of_json(value: serde_json::Value, span: &Range<usize>) -> Value {
    use serde_json::Value as Json;
    let node = |value| Node { value: of_json(value, span), span: span.clone() };
    match value {
        Json::Null => Value::Null,
        Json::Bool(switch) => Value::Bool(switch),
        Json::Number(number) => Value::Number(number.to_string()),
        Json::String(text) => Value::Text(text),
        Json::Array(items) => Value::List(items.into_iter().map(node).collect()),
        Json::Object(entries) => {
            let entry = |(key, value)| Entry { key, key_span: span.clone(), value: node(value) };
            Value::Map(entries.into_iter().map(entry).collect())
        }
    }
}
