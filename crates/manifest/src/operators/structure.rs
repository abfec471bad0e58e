//! Templates of pods in objects of kinds that are not known.

use super::form::Template;
use crate::ManifestError;
use crate::node::{Field, Node, Value};

/// The most templates of one object; more are not looked for.
const MOST: usize = 100;

/// Every place with a pod's specification, in the order of the text: a mapping with a list of containers. The mapping
/// around it is the template where it has metadata too.
///
/// # Errors
/// None but those of a path.
pub(super) fn templates(object: &Field<'_>) -> Result<Vec<Template>, ManifestError> {
    let mut found = Vec::new();
    look(object, &mut found)?;
    Ok(found)
}

fn look(field: &Field<'_>, found: &mut Vec<Template>) -> Result<(), ManifestError> {
    match &field.node.value {
        Value::Map(_) => {
            if found.len() < MOST && has_containers(field)? {
                found.push(Template::of_spec(field));
                return Ok(());
            }
            for entry in field.entries()? {
                let is_template = entry.value.is_mapping()
                    && entry.value.get("spec")?.is_some_and(|spec| has_containers(&spec).unwrap_or(false));
                if is_template && found.len() < MOST {
                    let template = entry.value;
                    found.push(Template { node: template.node.clone(), path: template.path, times: 1 });
                } else {
                    look(&entry.value, found)?;
                }
            }
        }
        Value::List(_) => field.items()?.iter().try_for_each(|item| look(item, found))?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
    }
    Ok(())
}

/// Whether it is a pod's specification: the containers are a list of mappings with names, images or resources. Where none has a
/// name it is the form of something else, such as a service of Cloud Run: each container of a pod has one.
fn has_containers(spec: &Field<'_>) -> Result<bool, ManifestError> {
    if !spec.is_mapping() {
        return Ok(false);
    }
    let Some(list) = spec.get("containers")? else { return Ok(false) };
    let Value::List(items) = &list.node.value else { return Ok(false) };
    let is_container =
        |value: &Value| ["name", "image", "resources"].iter().any(|key| value.get(key).is_some());
    let has_name = |item: &Node| item.value.get("name").is_some();
    Ok(items.iter().all(|item| is_container(&item.value)) && items.iter().any(has_name))
}
