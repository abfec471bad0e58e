//! Objects that someone else judges: what is found in them, at its place in the text.

use super::ResourceObject;
use crate::node::{Field, Node, Value};
use crate::{ManifestError, Problem, Refusal, Warning};

/// What is found in one object. Fields are paths in version `v1`, as `spec.devices[0].name`; texts are sentences.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ObjectFindings {
    /// Why an API server refuses it: field and text.
    pub errors: Vec<(String, String)>,
    /// What else is to be known: field and text.
    pub warnings: Vec<(String, String)>,
}

/// What was found in the objects of a text.
#[derive(Clone, Debug, Default)]
pub struct CheckedObjects {
    /// How many objects of `resource.k8s.io` there are.
    pub objects: usize,
    /// Those that are refused, or cannot be decoded.
    pub refused: Vec<Refusal>,
    /// Warnings, and fields that objects do not have and that are ignored.
    pub warnings: Vec<Warning>,
}

/// Judges objects.
pub(super) type Judge<'j> = &'j mut dyn FnMut(&ResourceObject) -> ObjectFindings;

/// What is found in an object, at its places.
pub(super) fn placed(object: &Field<'_>, found: ObjectFindings) -> (Vec<ManifestError>, Vec<Warning>) {
    let at = |(path, text): (String, String)| place(object, &path).fail(Problem::Judged(text));
    (
        found.errors.into_iter().map(at).collect(),
        found.warnings.into_iter().map(|warning| Warning(at(warning))).collect(),
    )
}

/// The value at a path; where there is none, the nearest value around it. The path stays that of what is meant.
fn place<'a>(object: &Field<'a>, path: &str) -> Field<'a> {
    let mut node = object.node;
    for step in steps(path) {
        match child(node, &step) {
            Some(next) => node = next,
            // Older versions have no such level.
            None if matches!(step.as_str(), "exactly" | "basic") => {}
            None => break,
        }
    }
    Field { source: object.source, node, path: path.to_owned() }
}

fn child<'a>(node: &'a Node, step: &str) -> Option<&'a Node> {
    match &node.value {
        Value::List(items) => items.get(step.parse::<usize>().ok()?),
        Value::Map(_) => node.value.get(step),
        _ => None,
    }
}

/// Keys and indices: `a.b[0][example.com/c]` has `a`, `b`, `0` and `example.com/c`.
fn steps(path: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let (step, behind) = match rest.strip_prefix('[') {
            Some(inner) => inner.split_once(']').unwrap_or((inner, "")),
            None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
        };
        if !step.is_empty() {
            steps.push(step.to_owned());
        }
        rest = behind.strip_prefix('.').unwrap_or(behind);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::steps;

    #[test]
    fn a_path_has_keys_and_indices() {
        for (path, expected) in [
            ("spec.devices[0].name", &["spec", "devices", "0", "name"][..]),
            (
                "spec.devices[1].attributes[gpu.example.com/model].string",
                &["spec", "devices", "1", "attributes", "gpu.example.com/model", "string"],
            ),
            ("metadata", &["metadata"]),
            ("", &[]),
            ("a[", &["a"]),
        ] {
            assert_eq!(steps(path), expected, "{path}");
        }
    }
}
