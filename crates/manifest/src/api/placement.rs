//! What a pod says of the node that it wants: selectors, affinity, tolerations, a name.

use super::metadata::check_labels;
use super::names::{dns_subdomain, label_value, qualified};
use super::{Complaint, Findings};
use crate::ManifestError;
use crate::node::Field;

type Checked = Result<(), ManifestError>;

/// `nodeSelector`.
pub(super) fn check_selector(spec: &Field<'_>, found: &mut Findings) -> Checked {
    spec.get("nodeSelector")?.map_or(Ok(()), |labels| check_labels(&labels, &labels.path, found))
}

/// `affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`.
pub(super) fn check_affinity(spec: &Field<'_>, found: &mut Findings) -> Checked {
    let path = ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
    let Some(required) = spec.descend(&path)? else { return Ok(()) };
    let terms = items(&required, "nodeSelectorTerms")?;
    if terms.is_empty() {
        let place = required.child_or_self("nodeSelectorTerms")?;
        found.add(&place, Complaint::Required("must have at least one node selector term".into()));
    }
    for term in &terms {
        for requirement in items(term, "matchExpressions")? {
            check_expression(&requirement, found)?;
        }
        for requirement in items(term, "matchFields")? {
            check_field(&requirement, found)?;
        }
    }
    Ok(())
}

fn items<'a>(field: &Field<'a>, key: &str) -> Result<Vec<Field<'a>>, ManifestError> {
    field.get(key)?.map_or(Ok(Vec::new()), |list| list.items())
}

fn text<'a>(field: &Field<'a>, key: &str) -> Result<&'a str, ManifestError> {
    field.get(key)?.map_or(Ok(""), |field| field.text("a text"))
}

const NO_OPERATOR: &str = "not a valid selector operator";

/// By labels of the node.
fn check_expression(requirement: &Field<'_>, found: &mut Findings) -> Checked {
    let values = items(requirement, "values")?;
    let operator = text(requirement, "operator")?;
    let complaint = match (operator, values.len()) {
        ("In" | "NotIn", 0) => {
            Some(Complaint::Required("must be specified when `operator` is 'In' or 'NotIn'".into()))
        }
        ("Exists" | "DoesNotExist", 1..) => {
            Some(Complaint::Forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
        }
        ("Gt" | "Lt", 0 | 2..) => {
            Some(Complaint::Required("must be specified single value when `operator` is 'Lt' or 'Gt'".into()))
        }
        ("In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt", _) => None,
        _ => {
            let place = requirement.child_or_self("operator")?;
            found.add(&place, Complaint::invalid(operator, NO_OPERATOR));
            None
        }
    };
    if let Some(complaint) = complaint {
        found.add(&requirement.child_or_self("values")?, complaint);
    }
    let key = text(requirement, "key")?;
    found.add_all(&requirement.child_or_self("key")?, key, qualified(key));
    for value in &values {
        let text = value.text("a text")?;
        found.add_all(value, text, label_value(text));
    }
    Ok(())
}

/// By fields of the node, of which there is one: its name.
fn check_field(requirement: &Field<'_>, found: &mut Findings) -> Checked {
    let values = items(requirement, "values")?;
    let operator = text(requirement, "operator")?;
    if !matches!(operator, "In" | "NotIn") {
        let place = requirement.child_or_self("operator")?;
        found.add(&place, Complaint::invalid(operator, NO_OPERATOR));
    } else if values.len() != 1 {
        let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
        found.add(&requirement.child_or_self("values")?, Complaint::Required(why.into()));
    }
    let key = text(requirement, "key")?;
    if key == "metadata.name" {
        for value in &values {
            let text = value.text("a text")?;
            found.add_all(value, text, dns_subdomain(text));
        }
    } else {
        let place = requirement.child_or_self("key")?;
        found.add(&place, Complaint::invalid(key, "not a valid field selector key"));
    }
    Ok(())
}

/// `nodeName`.
pub(super) fn check_node_name(spec: &Field<'_>, found: &mut Findings) -> Checked {
    let name = text(spec, "nodeName")?;
    if !name.is_empty() {
        found.add_all(&spec.child_or_self("nodeName")?, name, dns_subdomain(name));
    }
    Ok(())
}

/// `tolerations`.
pub(super) fn check_tolerations(spec: &Field<'_>, found: &mut Findings) -> Checked {
    for toleration in items(spec, "tolerations")? {
        let (key, operator) = (text(&toleration, "key")?, text(&toleration, "operator")?);
        let value = text(&toleration, "value")?;
        let place = toleration.child_or_self("operator")?;
        if !key.is_empty() {
            found.add_all(&toleration.child_or_self("key")?, key, qualified(key));
        }
        if key.is_empty() && operator != "Exists" {
            let must =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            found.add(&place, Complaint::invalid(operator, must));
        }
        match operator {
            "" | "Equal" => {
                let wrong = label_value(value);
                if !wrong.is_empty() {
                    found.add(&place, Complaint::invalid(value, wrong.join(";")));
                }
            }
            "Exists" if value.is_empty() => {}
            "Exists" => {
                found.add(
                    &place,
                    Complaint::invalid(value, "value must be empty when `operator` is 'Exists'"),
                );
            }
            "Lt" | "Gt" => {
                found.add(&place, Complaint::not_supported(operator, &["Equal", "Exists", "Lt", "Gt"]));
            }
            _ => found.add(&place, Complaint::not_supported(operator, &["Equal", "Exists"])),
        }
        let effect = text(&toleration, "effect")?;
        if !matches!(effect, "" | "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
            let complaint =
                Complaint::not_supported(effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
            found.add(&toleration.child_or_self("effect")?, complaint);
        }
    }
    Ok(())
}
