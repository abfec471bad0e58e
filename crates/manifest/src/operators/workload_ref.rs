//! A Rollout of Argo whose template is that of a workload beside it, which `spec.workloadRef` names.

use crate::ManifestError;
use crate::names::group_of;
use crate::node::{Entry, Field, Node, Value};

/// The objects of a text that Rollouts may name, also those in lists.
pub(crate) fn named_workloads(nodes: &[Node]) -> Vec<Node> {
    let mut found = Vec::new();
    for node in nodes {
        match node.value.get("items").map(|items| &items.value) {
            Some(Value::List(items)) => found.extend(named_workloads(items)),
            _ if node.value.get("spec").is_some_and(|spec| spec.value.get("template").is_some()) => {
                found.push(node.clone());
            }
            _ => {}
        }
    }
    found
}

/// A Rollout with the template of the workload that it names, and a remark.
pub(super) struct Referring {
    pub(super) node: Node,
    pub(super) remark: String,
}

/// The Rollout with that template; `None`: it names no workload, or one that is not among `workloads`.
///
/// # Errors
/// Something on the way is no mapping or no text.
pub(super) fn with_template(
    object: &Field<'_>,
    workloads: &[Node],
) -> Result<Option<Referring>, ManifestError> {
    let Some(reference) = object.descend(&["spec", "workloadRef"])? else { return Ok(None) };
    let text = |field: &Field<'_>, path: &[&str]| {
        let field = field.descend(path)?;
        Ok::<_, ManifestError>(field.map_or(Ok(""), |field| field.text("a text"))?.to_owned())
    };
    let namespace = |field: &Field<'_>| {
        let own = text(field, &["metadata", "namespace"])?;
        Ok::<_, ManifestError>(if own.is_empty() { "default".to_owned() } else { own })
    };
    let (version, kind, name) =
        (text(&reference, &["apiVersion"])?, text(&reference, &["kind"])?, text(&reference, &["name"])?);
    for node in workloads {
        let other = Field::document(object.source, node);
        let is_it = group_of(&text(&other, &["apiVersion"])?) == group_of(&version)
            && text(&other, &["kind"])? == kind
            && text(&other, &["metadata", "name"])? == name
            && namespace(&other)? == namespace(object)?;
        let Some(template) = other.descend(&["spec", "template"])?.filter(|_| is_it) else { continue };
        let entry = Entry {
            key: "template".to_owned(),
            key_span: reference.node.span.clone(),
            value: template.node.clone(),
        };
        let mut node = object.node.clone();
        if let Value::Map(fields) = &mut node.value
            && let Some(spec) = fields.iter_mut().find(|field| field.key == "spec")
            && let Value::Map(fields) = &mut spec.value.value
        {
            fields.push(entry);
        }
        let remark = format!("its template is that of {kind} {name}, whose own pods count too");
        return Ok(Some(Referring { node, remark }));
    }
    Ok(None)
}
