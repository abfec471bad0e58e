//! Names, namespaces and labels.

use super::names::{Wrong, dns_label, label_value, qualified};
use super::{Complaint, Findings};
use crate::ManifestError;
use crate::node::{Field, MapEntry};

/// `metadata` of an object. `name_rule` says what is wrong with a name of its kind.
pub(super) fn check_metadata(
    object: &Field<'_>,
    name_rule: impl Fn(&str) -> Wrong,
    found: &mut Findings,
) -> Result<(), ManifestError> {
    let metadata = object.child_or_self("metadata")?;
    let text = |key| {
        let field = if object.get("metadata")?.is_some() { metadata.get(key)? } else { None };
        let text = field.as_ref().map_or(Ok(""), |field| field.text("a text"))?;
        Ok::<_, ManifestError>((field.unwrap_or_else(|| metadata.at_path(metadata.path_of(key))), text))
    };
    let (generated, prefix) = text("generateName")?;
    if !prefix.is_empty() {
        // What is put behind it follows a dash, mostly.
        found.add_all(&generated, prefix, name_rule(&masked(prefix)));
    }
    let (place, name) = text("name")?;
    match (name.is_empty(), prefix.is_empty()) {
        (true, true) => found.add(&place, Complaint::Required("name or generateName is required".into())),
        (true, false) => {}
        (false, _) => found.add_all(&place, name, name_rule(name)),
    }
    let (place, namespace) = text("namespace")?;
    if !namespace.is_empty() {
        found.add_all(&place, namespace, dns_label(namespace));
    }
    let labels = if object.get("metadata")?.is_some() { metadata.get("labels")? } else { None };
    labels.map_or(Ok(()), |labels| check_labels(&labels, &labels.path, found))
}

/// As the API server does it: the dash at the end and the letter before it are one letter.
fn masked(prefix: &str) -> String {
    let head = prefix.strip_suffix('-').map(|head| head.char_indices().next_back());
    match head {
        Some(Some((at, _))) => format!("{}a", prefix.get(..at).unwrap_or_default()),
        _ => prefix.to_owned(),
    }
}

/// Labels, or what selects by them; complaints have the path of the whole.
pub(super) fn check_labels(
    labels: &Field<'_>,
    path: &str,
    found: &mut Findings,
) -> Result<(), ManifestError> {
    for MapEntry { key, key_span, value } in labels.entries()? {
        let place = value.at_path(path.to_owned());
        for must in qualified(key) {
            found.push(key_span, &place, Complaint::invalid(key, must));
        }
        let text =
            if value.is_null() { "" } else { value.text("a text; a number or a boolean needs quotes")? };
        found.add_all(&place, text, label_value(text));
    }
    Ok(())
}
