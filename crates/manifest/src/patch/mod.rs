//! A kubelet configuration's text with some fields changed and every other byte as it was: comments, order, style.
//!
//! Each change is one edit at the place of its key, after which the text is read anew. Of a mapping only the keys that
//! differ are edited; a list is written anew. At the end the text is compared with the original: a text in which
//! anything else would mean something else, as may come of anchors and merged keys, is refused.

mod edit;
mod flow;
mod write;

use serde_json::Value as Json;
use thiserror::Error;

use self::edit::{remove, set};
use self::write::Language;
use crate::kubelet::{body, documents_of};
use crate::node::{Node, Value};
use crate::{ManifestError, Source};

/// A field of the configuration that is to be otherwise.
#[derive(Clone, PartialEq, Debug)]
pub struct FieldChange {
    /// Its name.
    pub field: String,
    /// What is to be there; `None`: nothing.
    pub value: Option<Json>,
}

/// Why a text cannot be patched.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PatchError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ManifestError),
    /// The change of this field would change something else.
    #[error("{0} cannot be changed in place: anchors, aliases or merged keys tie it to other fields")]
    Tied(String),
}

/// The text with all `changes` made. OpenShift's `KubeletConfig` stays one; of what a kubelet answers at `/configz` a
/// `KubeletConfiguration` is made, which a kubelet reads.
///
/// # Errors
/// The text cannot be read, or a field is tied to others.
pub fn patch_kubelet_config(source: &Source<'_>, changes: &[FieldChange]) -> Result<String, PatchError> {
    let mut text = source.text.to_owned();
    for change in changes {
        for step in steps(source.name, &text, change)? {
            let path: Vec<&str> = step.path.iter().map(String::as_str).collect();
            let tied = || PatchError::Tied(change.field.clone());
            let now = Source { name: source.name, text: &text };
            let nodes = documents_of(&now)?;
            let mapping = body(&now, nodes.first().ok_or_else(tied)?)?;
            text = match &step.value {
                Some(value) => set(&text, mapping.node, &path, value),
                None => remove(&text, mapping.node, &path),
            }
            .ok_or_else(tied)?;
        }
    }
    unchanged_but(source, &text, changes)?;
    Ok(standing_alone(source.name, text)?)
}

/// One key to be set or removed.
struct Step {
    path: Vec<String>,
    value: Option<Json>,
}

/// A change as steps: of a mapping that stays one, the keys that differ.
fn steps(name: &str, text: &str, change: &FieldChange) -> Result<Vec<Step>, PatchError> {
    let source = Source { name, text };
    let nodes = documents_of(&source)?;
    let Some(first) = nodes.first() else { return Ok(Vec::new()) };
    let body = body(&source, first)?;
    let whole = || vec![Step { path: vec![change.field.clone()], value: change.value.clone() }];
    let Some(old) = body.get(&change.field)? else {
        let is_written = matches!(&body.node.value, Value::Map(entries) if entries.iter().any(|own| own.key == change.field));
        return Ok(if change.value.is_some() || is_written { whole() } else { Vec::new() });
    };
    let (Value::Map(entries), Some(Json::Object(new))) = (&old.node.value, &change.value) else {
        return Ok(whole());
    };
    if entries.is_empty() || new.is_empty() {
        return Ok(whole());
    }
    let old_value = |key: &String| entries.iter().rfind(|own| own.key == *key).map(|own| &own.value);
    let step = |key: &String, value| Step { path: vec![change.field.clone(), key.clone()], value };
    let differs = |(key, value): &(&String, &Json)| old_value(key).is_none_or(|old| !is_same(old, value));
    let set = new.iter().filter(differs).map(|(key, value)| step(key, Some(value.clone())));
    let gone = entries.iter().filter(|own| !new.contains_key(&own.key)).map(|own| step(&own.key, None));
    Ok(set.chain(gone).collect())
}

fn is_same(old: &Node, new: &Json) -> bool {
    match (&old.value, new) {
        (Value::Null, Json::Null) => true,
        (Value::Bool(old), Json::Bool(new)) => old == new,
        (Value::Number(old), Json::Number(new)) => *old == new.to_string(),
        (Value::Text(old), Json::String(new)) => old == new,
        (Value::List(old), Json::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| is_same(old, new))
        }
        (Value::Map(old), Json::Object(new)) => {
            old.len() == new.len()
                && old.iter().all(|own| new.get(&own.key).is_some_and(|new| is_same(&own.value, new)))
        }
        _ => false,
    }
}

/// Whether `text` says what `source` does but for the changes, and those.
fn unchanged_but(source: &Source<'_>, text: &str, changes: &[FieldChange]) -> Result<(), PatchError> {
    let tied = || PatchError::Tied(changes.first().map(|change| change.field.clone()).unwrap_or_default());
    let patched = Source { name: source.name, text };
    let (before, after) = (documents_of(source)?, documents_of(&patched).map_err(|_| tied())?);
    let (before, after) = (before.first().ok_or_else(tied)?, after.first().ok_or_else(tied)?);
    let body_after = body(&patched, after).map_err(|_| tied())?;
    for change in changes {
        let is = body_after.node.value.get(&change.field).filter(|node| node.value != Value::Null);
        let is_right = match (&change.value, is) {
            (None, None) => true,
            (Some(new), Some(is)) => is_same(is, new),
            _ => false,
        };
        if !is_right {
            return Err(PatchError::Tied(change.field.clone()));
        }
    }
    let fields: Vec<&str> = changes.iter().map(|change| change.field.as_str()).collect();
    let body_before = body(source, before)?;
    let (before, after) =
        (without(before, body_before.node, &fields), without(after, body_after.node, &fields));
    if before == after { Ok(()) } else { Err(tied()) }
}

/// A document as text in a fixed form, without some fields of its `body`.
fn without(node: &Node, body: &Node, fields: &[&str]) -> String {
    match &node.value {
        Value::Map(entries) => {
            let is_body = core::ptr::eq(node, body);
            let kept = entries.iter().filter(|own| !is_body || !fields.contains(&own.key.as_str()));
            let shown: Vec<_> =
                kept.map(|own| format!("{:?}: {}", own.key, without(&own.value, body, fields))).collect();
            format!("{{{}}}", shown.join(", "))
        }
        Value::List(items) => {
            format!("[{}]", items.iter().map(|own| without(own, body, fields)).collect::<Vec<_>>().join(", "))
        }
        other => format!("{other:?}"),
    }
}

/// What was below `kubeletconfig` as a file of its own; any other text as it is.
fn standing_alone(name: &str, text: String) -> Result<String, ManifestError> {
    let source = Source { name, text: &text };
    let nodes = documents_of(&source)?;
    let Some(configz) = nodes.first().and_then(|first| first.value.get("kubeletconfig")) else {
        return Ok(text);
    };
    let header = [("apiVersion", "kubelet.config.k8s.io/v1beta1"), ("kind", "KubeletConfiguration")];
    let missing = header.iter().filter(|(field, _)| configz.value.get(field).is_none());
    let fields = missing.map(|(field, value)| ((*field).to_owned(), Json::from(*value)));
    let mut alone: Vec<(String, Json)> = fields.collect();
    if let Value::Map(entries) = &configz.value {
        alone.extend(entries.iter().map(|own| (own.key.clone(), json(&own.value))));
    }
    Ok(write::document(&alone, Language::of(&text)))
}

fn json(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Number(text) => serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.clone())),
        Value::Text(text) => Json::String(text.clone()),
        Value::List(items) => Json::Array(items.iter().map(json).collect()),
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|own| (own.key.clone(), json(&own.value))).collect())
        }
    }
}
