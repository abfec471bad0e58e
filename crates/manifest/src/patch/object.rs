//! An object's text with some of its values changed and every other byte as it was.

use kubernetes_yaml::edit::set;
use serde_json::{Map, Value as Json};

use super::error::PatchError;
use crate::kubelet::documents_of;
use crate::node::{Node, Value};
use crate::{ManifestError, Source};

/// The text of an object such as a `PerformanceProfile` with the values of `fields` laid over it, mapping by mapping. What is an
/// empty mapping there changes nothing.
///
/// # Errors
/// The text cannot be read, a value is tied to others, or the text is written in a way that is not edited.
pub fn patch_object(source: &Source<'_>, fields: &Json) -> Result<String, PatchError> {
    let text = laid(source, fields, documents_of)?;
    let read = |text: &str| -> Result<Option<Json>, PatchError> {
        Ok(documents_of(&Source { name: source.name, text })?.first().map(json))
    };
    let mut expected = read(source.text)?.unwrap_or_default();
    lay_over(&mut expected, fields);
    if read(&text)?.as_ref() == Some(&expected) {
        Ok(text)
    } else {
        Err(PatchError::Tied(source.name.to_owned()))
    }
}

/// The text with the values of `fields` laid over its first document.
pub(super) fn laid(
    source: &Source<'_>,
    fields: &Json,
    documents: fn(&Source<'_>) -> Result<Vec<Node>, ManifestError>,
) -> Result<String, PatchError> {
    let mut text = source.text.to_owned();
    let mut leaves = Vec::new();
    leaves_of(fields, &mut Vec::new(), &mut leaves);
    for (path, value) in &leaves {
        let tied = || PatchError::Tied(path.join("."));
        let nodes = documents(&Source { name: source.name, text: &text })?;
        let document = nodes.first().ok_or_else(tied)?;
        // Mappings on the way that are not there yet are part of the value.
        let there = (1..path.len())
            .rev()
            .find(|length| is_mapping(document, path.get(..*length).unwrap_or_default()));
        let (own, missing) = path.split_at_checked(there.unwrap_or_default() + 1).ok_or_else(tied)?;
        let value = missing
            .iter()
            .rev()
            .fold((*value).clone(), |value, key| Json::Object(Map::from_iter([((*key).to_owned(), value)])));
        text = set(&text, document, own, &value)
            .map_err(|obstacle| PatchError::of(obstacle, &path.join(".")))?;
    }
    Ok(text)
}

/// The values of an object with their paths.
fn leaves_of<'a>(fields: &'a Json, path: &mut Vec<&'a str>, leaves: &mut Vec<(Vec<&'a str>, &'a Json)>) {
    match fields {
        Json::Object(entries) => {
            for (key, value) in entries {
                path.push(key);
                leaves_of(value, path, leaves);
                path.pop();
            }
        }
        value => leaves.push((path.clone(), value)),
    }
}

fn is_mapping(document: &Node, path: &[&str]) -> bool {
    let there = path.iter().try_fold(document, |node, key| node.value.get(key));
    there.is_some_and(|node| matches!(node.value, Value::Map(_)))
}

fn lay_over(to: &mut Json, fields: &Json) {
    match (to, fields) {
        (Json::Object(to), Json::Object(fields)) => {
            for (key, value) in fields {
                lay_over(to.entry(key).or_insert_with(|| Json::Object(Map::new())), value);
            }
        }
        (to, fields) => *to = fields.clone(),
    }
}

/// A part of a document as JSON.
pub(super) fn json(node: &Node) -> Json {
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
