//! Workflows of Argo: their parameters, and templates that make an object, which is in the manifest of `resource.manifest`.
//!
//! `{{workflow.parameters.NAME}}` is the default of the parameter, if it has one. Everything else between braces is known while the
//! workflow runs: what cannot be read without it is refused.

use std::collections::BTreeMap;

use super::tree::with_texts;
use crate::node::{Field, Node, Value};
use crate::yaml::{RepeatedKey, documents};
use crate::{ManifestError, Problem, Source};

/// The API group of workflows.
pub(super) const GROUP: &str = "argoproj.io";

/// The workflow with the defaults of its parameters; `None`: it has none.
///
/// # Errors
/// Its parameters are no list of mappings.
pub(super) fn with_parameters(object: &Field<'_>) -> Result<Option<Node>, ManifestError> {
    let spec = object
        .descend(&["spec", "workflowSpec"])?
        .map_or_else(|| object.get("spec"), |spec| Ok(Some(spec)))?;
    let list = spec.map_or(Ok(None), |spec| spec.descend(&["arguments", "parameters"]))?;
    let mut values = BTreeMap::new();
    for parameter in list.map_or(Ok(Vec::new()), |list| list.items())? {
        let (Some(name), Some(value)) = (parameter.get("name")?, parameter.get("value")?) else { continue };
        let value = match &value.node.value {
            Value::Bool(switch) => switch.to_string(),
            _ => value.scalar("a default as a text")?.to_owned(),
        };
        // YAML takes a bare `n` or `y` for a switch, and Argo for a name.
        let name = match name.node.value {
            Value::Bool(_) => object.source.text.get(name.node.span.clone()).unwrap_or_default(),
            _ => name.text("the name of a parameter")?,
        };
        values.insert(name, value);
    }
    let filled = |text: &str| Value::Text(filled(text, &values));
    Ok((!values.is_empty()).then(|| with_texts(object.node, &mut |text, _| filled(text))))
}

fn filled(text: &str, values: &BTreeMap<&str, String>) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        made.push_str(before);
        let found = after.split_once("}}").and_then(|(place, behind)| {
            let name = place.trim().strip_prefix("workflow.parameters.")?;
            Some((values.get(name)?, behind))
        });
        if let Some((value, behind)) = found {
            made.push_str(value);
            rest = behind;
        } else {
            made.push_str("{{");
            rest = after;
        }
    }
    made + rest
}

/// What to give in place of a workflow of which something is known while it runs.
const RUNNING: &str =
    "the pods that it has made: `kubectl get pods -l workflows.argoproj.io/workflow=NAME -o yaml`";

/// The same error, or that a value is known while the workflow runs.
pub(super) fn explained(error: ManifestError) -> ManifestError {
    let problem = error.problem();
    let what = problem.to_string();
    if !problem.is_open() || !what.contains("{{") {
        return error;
    }
    let field = error.field().to_owned();
    error.about(&field, Problem::OtherForm { what, instead: RUNNING })
}

/// What a template of a workflow makes.
pub(super) struct Manifest<'a> {
    /// The text.
    pub(super) text: Field<'a>,
    /// The objects in it, each of whose places is that of the text.
    pub(super) objects: Vec<Node>,
    /// What the template is called; may be empty.
    pub(super) name: &'a str,
}

/// The objects that a template makes; `None`: it makes none, or changes one that is there.
///
/// # Errors
/// The manifest cannot be read.
pub(super) fn manifest<'a>(template: &Field<'a>) -> Result<Option<Manifest<'a>>, ManifestError> {
    let Some(resource) = template.get("resource")? else { return Ok(None) };
    let action = resource.get("action")?.and_then(|action| action.text("").ok());
    let text = resource.get("manifest")?.filter(|_| matches!(action, Some("create" | "apply")));
    let Some(text) = text else { return Ok(None) };
    let source = Source { name: template.source.name, text: text.text("a manifest as a text")? };
    let nodes = documents(&source, RepeatedKey::LastCounts);
    let mut objects = nodes.map_err(|error| match error.problem() {
        Problem::Template { .. } if source.text.contains("{{") => {
            let what = "what stands between {{ and }} is known while the workflow runs".to_owned();
            text.fail(Problem::OtherForm { what, instead: RUNNING })
        }
        problem => text.fail(problem.clone()),
    })?;
    for object in &mut objects {
        move_to(object, text.node);
    }
    let name = template.get("name")?.and_then(|name| name.text("").ok()).unwrap_or_default();
    Ok(Some(Manifest { text, objects, name }))
}

/// Gives all of a node the place of another one.
fn move_to(node: &mut Node, place: &Node) {
    node.span = place.span.clone();
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| move_to(item, place)),
        Value::Map(entries) => {
            for entry in entries {
                entry.key_span = place.span.clone();
                move_to(&mut entry.value, place);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
    }
}
