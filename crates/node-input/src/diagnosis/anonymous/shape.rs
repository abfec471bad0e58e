//! What of a tree of JSON is kept, and how: members that are named here, each by what it is.
//!
//! A member that is not named becomes one called `leftOut1` without content, since a kubelet may refuse what it does not know:
//! that a file has more than is known stays known, and what stays unknown.

use serde_json::{Map, Value};

use super::names::{NameKind, Names};
use super::plain::{is_gate, is_list};

/// What a value is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// A number, a boolean, or a text that is plain; another text gets a made-up one.
    Scalar,
    /// A number, as a number or as text; nothing else.
    Number,
    /// A list of CPUs as text.
    Cpus,
    /// A name of this kind.
    Name(NameKind),
    /// A namespace.
    Namespace,
    /// A name of a resource.
    Resource,
    /// A device of a plugin.
    Device,
    /// A name of a feature gate; it is a key.
    Gate,
    /// The key of a label or taint.
    LabelKey,
    /// Always an empty text: it is known to be there.
    Emptied,
    /// A list.
    List(&'static Shape),
    /// Members by name.
    Object(&'static [(&'static str, Shape)]),
    /// Members whose names are of a shape.
    Map(&'static Shape, &'static Shape),
    /// A text that is JSON.
    Text(&'static Shape),
}

/// How much was left out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct LeftOut {
    /// Members that are not known.
    pub(super) members: usize,
}

impl Shape {
    /// What is kept of a value.
    pub(super) fn kept(self, value: &Value, names: &mut Names, left_out: &mut LeftOut) -> Value {
        match (self, value) {
            (_, Value::Null) => Value::Null,
            (Self::Emptied, _) => Value::from(""),
            (Self::Text(_), Value::String(text)) if text.is_empty() => value.clone(),
            (Self::Text(shape), Value::String(text)) => match serde_json::from_str(text) {
                Ok(inner) => Value::from(shape.kept(&inner, names, left_out).to_string()),
                // It stays a text that is no JSON.
                Err(_) => Value::from("{"),
            },
            (Self::List(shape), Value::Array(items)) => {
                items.iter().map(|item| shape.kept(item, names, left_out)).collect()
            }
            (Self::Object(known), Value::Object(members)) => object(known, members, names, left_out),
            (Self::Map(key, of), Value::Object(members)) => {
                let member = |(name, value): (&String, &Value)| {
                    (key.key(name, names), of.kept(value, names, left_out))
                };
                Value::Object(members.iter().map(member).collect())
            }
            // A value of another kind than its place has stays one, without what it says.
            (_, Value::Array(_)) => Value::Array(Vec::new()),
            (_, Value::Object(_)) => Value::Object(Map::new()),
            (Self::Scalar | Self::Number | Self::Cpus, Value::Number(_)) | (_, Value::Bool(_)) => {
                value.clone()
            }
            (_, Value::Number(_)) => Value::from(0),
            (shape, Value::String(text)) => Value::from(shape.key(text, names)),
        }
    }

    /// What is kept of a text.
    fn key(self, text: &str, names: &mut Names) -> String {
        match self {
            Self::Name(kind) => names.name(kind, text),
            Self::Namespace => names.namespace(text),
            Self::Resource => names.resource(text),
            Self::Device => names.device(text),
            Self::LabelKey => names.label_key(text),
            Self::Gate if is_gate(text) => text.to_owned(),
            Self::Cpus if is_list(text) || text.is_empty() => text.to_owned(),
            Self::Number if text.parse::<i128>().is_ok() => text.to_owned(),
            Self::Scalar => names.scalar(text),
            Self::Gate | Self::Cpus | Self::Number => names.name(NameKind::Text, text),
            Self::Emptied | Self::List(_) | Self::Object(_) | Self::Map(..) | Self::Text(_) => String::new(),
        }
    }
}

fn object(
    known: &[(&str, Shape)],
    members: &Map<String, Value>,
    names: &mut Names,
    left_out: &mut LeftOut,
) -> Value {
    let mut kept = Map::new();
    let mut others = 0;
    for (name, value) in members {
        // Go takes a member whatever its letters' case.
        if let Some((_, shape)) = known.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)) {
            kept.insert(name.clone(), shape.kept(value, names, left_out));
        } else {
            others += 1;
            left_out.members += 1;
            kept.insert(format!("leftOut{others}"), Value::Null);
        }
    }
    Value::Object(kept)
}
