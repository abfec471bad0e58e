//! A kubelet configuration's text with some fields changed and every other byte as it was: comments, order, style.
//!
//! Each change is one edit at the place of its key, after which the text is read anew. Of a mapping only the keys that
//! differ are edited; a list is written anew. At the end the text is compared with the original: a text in which
//! anything else would mean something else, as anchors and merged keys can cause, is refused.

mod error;
mod object;
mod respelt;

use kubernetes_yaml::edit::{Language, document, remove, set};
use serde_json::{Value as Json, json};

pub use self::error::PatchError;
pub use self::object::patch_object;
use self::object::{json as json_of, laid};
pub use self::respelt::respelt;
use crate::config_forms::{Envelope, body as body_of, envelope, form_fields, has_own_names, kind_of};
use crate::kubelet::{documents_of, read_documents};
use crate::node::{Field, Node, Value};
use crate::{ManifestError, Source};

/// A field of the configuration that is to be otherwise.
#[derive(Clone, PartialEq, Debug)]
pub struct FieldChange {
    /// The name of the field, a key of the document's mapping.
    pub field: String,
    /// What is to be there; `None`: nothing.
    pub value: Option<Json>,
}

/// What some editors begin a text with.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text with all `changes` made. OpenShift's `KubeletConfig` stays one; of what a kubelet answers at `/configz` a
/// `KubeletConfiguration` is made, which a kubelet reads.
///
/// # Errors
/// The text cannot be read, a field is tied to others, or the text is written in a way that is not edited.
pub fn patch_kubelet_config(source: &Source<'_>, changes: &[FieldChange]) -> Result<String, PatchError> {
    let rest = source.text.trim_start_matches(BYTE_ORDER_MARK);
    let mark = source.text.get(..source.text.len() - rest.len()).unwrap_or_default();
    let source = Source { name: source.name, text: rest };
    if let Some(Envelope { text, range: Some(range), .. }) = envelope(&source)? {
        let text = patched(&Source { text: &text, ..source }, changes)?;
        let part = |range| rest.get(range).unwrap_or_default();
        let within = text.get(range.start..).unwrap_or_default();
        return Ok(format!("{mark}{}{within}{}", part(0..range.start), part(range.end..rest.len())));
    }
    let text = patched(&source, changes)?;
    Ok(format!("{mark}{}", standing_alone(source.name, text)?))
}

/// The mapping with the fields of a document.
fn body<'a>(source: &'a Source<'a>, document: &'a Node) -> Result<Field<'a>, ManifestError> {
    body_of(&Field::document(source, document))
}

/// The text with all `changes` made in place.
fn patched(source: &Source<'_>, changes: &[FieldChange]) -> Result<String, PatchError> {
    if let Some(document) = documents_of(source)?.first() {
        body(source, document)?;
    }
    let mut text = source.text.to_owned();
    for change in changes {
        // What could be read before an edit and no longer can has lost an anchor.
        let tied = |_| PatchError::Tied(change.field.clone());
        for step in steps(source.name, &text, change).map_err(tied)? {
            let now = Source { name: source.name, text: &text };
            let nodes = documents_of(&now).map_err(tied)?;
            let Some(document) = nodes.first() else { continue };
            let body = body(&now, document).map_err(tied)?;
            let above = body.path.split('.').filter(|key| !key.is_empty());
            let kind = kind_of(&Field::document(&now, document));
            if let (Some(value), true) = (&step.value, has_own_names(kind)) {
                let whole = step.path.iter().rev().fold(value.clone(), |value, key| json!({key: value}));
                let Json::Object(whole) = whole else { continue };
                let fields =
                    above.rev().fold(json!(form_fields(kind, whole)), |value, key| json!({key: value}));
                text = laid(&now, &fields, as_written)?;
                continue;
            }
            let path: Vec<&str> = above.chain(step.path.iter().map(String::as_str)).collect();
            text = match &step.value {
                Some(value) => set(&text, document, &path, value),
                None => remove(&text, document, &path),
            }
            .map_err(|obstacle| PatchError::of(obstacle, &change.field))?;
            documents_of(&Source { name: source.name, text: &text }).map_err(tied)?;
        }
    }
    if is_unchanged_but(source, &text, changes) {
        return Ok(text);
    }
    let is_tied = |change: &&FieldChange| patched(source, core::slice::from_ref(change)).is_err();
    let culprit = if changes.len() > 1 { changes.iter().find(is_tied) } else { None };
    let culprit = culprit.or_else(|| changes.first());
    Err(PatchError::Tied(culprit.map(|change| change.field.clone()).unwrap_or_default()))
}

/// The one document of a text, with the keys that it has.
fn as_written(source: &Source<'_>) -> Result<Vec<Node>, ManifestError> {
    let mut nodes = read_documents(source)?.nodes;
    if nodes.len() > 1 {
        nodes.clear();
    }
    Ok(nodes)
}

/// One key to be set or removed.
struct Step {
    path: Vec<String>,
    value: Option<Json>,
}

/// A change as steps: of a mapping that stays one, the keys that differ.
fn steps(name: &str, text: &str, change: &FieldChange) -> Result<Vec<Step>, ManifestError> {
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
fn is_unchanged_but(source: &Source<'_>, text: &str, changes: &[FieldChange]) -> bool {
    let patched = Source { name: source.name, text };
    let (Ok(before), Ok(after)) = (documents_of(source), documents_of(&patched)) else { return false };
    let (Some(before), Some(after)) = (before.first(), after.first()) else { return false };
    let (Ok(body_before), Ok(body_after)) = (body(source, before), body(&patched, after)) else {
        return false;
    };
    let is_made = |change: &FieldChange| {
        let is = body_after.node.value.get(&change.field).filter(|node| node.value != Value::Null);
        match (&change.value, is) {
            (None, None) => true,
            (Some(new), Some(is)) => is_same(is, new),
            _ => false,
        }
    };
    let fields: Vec<&str> = changes.iter().map(|change| change.field.as_str()).collect();
    changes.iter().all(is_made)
        && without(before, body_before.node, &fields) == without(after, body_after.node, &fields)
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

/// What is below `kubeletconfig`, as a separate document; any other text as it is.
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
        alone.extend(entries.iter().map(|own| (own.key.clone(), json_of(&own.value))));
    }
    Ok(document(&alone, Language::of(&text)))
}
