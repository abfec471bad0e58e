//! Objects as a whole: pods, and what makes pods of a template.

use std::collections::BTreeMap;

use cpuset::go_quote;

use super::metadata::{check_labels, check_metadata};
use super::names::{Wrong, dns_label, dns_subdomain, label_value};
use super::pod::check_spec;
use super::spec_owner::SpecOwner;
use super::{Complaint, Findings};
use crate::ManifestError;
use crate::constraints::{integer, read_labels};
use crate::node::Field;
use crate::workload::Kind;

/// All that an API server would complain of.
///
/// # Errors
/// A field of the wrong type.
pub(crate) fn check(object: &Field<'_>, kind: Kind) -> Result<Vec<ManifestError>, ManifestError> {
    let mut found = Findings::default();
    check_metadata(object, |name| name_rule(kind, name), &mut found)?;
    if kind == Kind::Pod {
        check_spec(object, SpecOwner::Pod, &mut found)?;
        return Ok(found.found);
    }
    for path in kind.counts() {
        check_count(object, path, &mut found)?;
    }
    let template = object.descend(kind.template())?;
    let Some(template) = template else {
        let path = format!("{}.spec.containers", kind.template().join("."));
        found.add(&object.child_or_self("spec")?.at_path(path), Complaint::REQUIRED);
        return Ok(found.found);
    };
    check_template_labels(object, &template, kind, &mut found)?;
    if kind.has_selector() || kind == Kind::ReplicationController {
        check_selected(object, &template, kind, &mut found)?;
    }
    check_spec(&template, SpecOwner::Template, &mut found)?;
    check_restart(&template, kind, &mut found)?;
    Ok(found.found)
}

/// All that an API server would complain of in the pods of a template of another object; it does not see the template.
///
/// # Errors
/// A field of the wrong type.
pub(crate) fn check_template(template: &Field<'_>) -> Result<Vec<ManifestError>, ManifestError> {
    let mut found = Findings::default();
    if let Some(labels) = template.descend(&["metadata", "labels"])? {
        check_labels(&labels, &template.path_of("metadata.labels"), &mut found)?;
    }
    check_spec(template, SpecOwner::Template, &mut found)?;
    Ok(found.found)
}

fn name_rule(kind: Kind, name: &str) -> Wrong {
    /// A `CronJob`'s jobs have eleven more.
    const MAX_CRON_JOB: usize = 52;
    match kind {
        Kind::StatefulSet => dns_label(name),
        Kind::CronJob => {
            let mut wrong = dns_subdomain(name);
            if name.len() > MAX_CRON_JOB {
                wrong.push(format!("must be no more than {MAX_CRON_JOB} characters").into());
            }
            wrong
        }
        _ => dns_subdomain(name),
    }
}

fn check_count(object: &Field<'_>, path: &[&str], found: &mut Findings) -> Result<(), ManifestError> {
    let Some(field) = object.descend(path)? else { return Ok(()) };
    let count = integer::<i32>(&field, "a number, zero or more")?;
    if count < 0 {
        found.add(&field, Complaint::invalid_number(count, "must be greater than or equal to 0"));
    }
    Ok(())
}

fn check_template_labels(
    object: &Field<'_>,
    template: &Field<'_>,
    kind: Kind,
    found: &mut Findings,
) -> Result<(), ManifestError> {
    let labels = template.descend(&["metadata", "labels"])?;
    if let Some(labels) = &labels {
        if kind == Kind::Job && object.descend(&["metadata", "labels"])?.is_none() {
            // A job without labels has those of its pods.
            check_labels(labels, "metadata.labels", found)?;
        }
        // The path is the API server's, which leaves a part out.
        check_labels(labels, &template.path_of("labels"), found)?;
    }
    // The pods of a job are labelled with its name.
    if let Some(name) = object.descend(&["metadata", "name"])?.filter(|_| kind == Kind::Job) {
        let text = name.text("a name")?;
        found.add_all(&name.at_path(template.path_of("labels")), text, label_value(text));
    }
    Ok(())
}

/// The selector of a workload selects its own pods. One that an API server cannot read has other complaints there.
fn check_selected(
    object: &Field<'_>,
    template: &Field<'_>,
    kind: Kind,
    found: &mut Findings,
) -> Result<(), ManifestError> {
    let Some(selector) = object.descend(&["spec", "selector"])? else { return Ok(()) };
    let written = template.descend(&["metadata", "labels"])?;
    let labels = written.as_ref().map(read_labels).transpose()?.unwrap_or_default();
    let is_met = match kind {
        // It has labels alone.
        Kind::ReplicationController => has_all(&labels, &selector)?,
        _ => selects(&selector, &labels)?,
    };
    if !is_met {
        let value = written.as_ref().map_or_else(|| "null".to_owned(), |_| json_labels(&labels));
        let must = Complaint::SELECTED.into();
        let place = written.unwrap_or(selector).at_path(template.path_of("metadata.labels"));
        found.add(&place, Complaint::Invalid { value, must });
    }
    Ok(())
}

type Labels = BTreeMap<String, String>;

fn has_all(labels: &Labels, wanted: &Field<'_>) -> Result<bool, ManifestError> {
    Ok(read_labels(wanted)?.iter().all(|(key, value)| labels.get(key) == Some(value)))
}

/// Whether a label selector selects what has these labels; an operator that there is not selects everything.
fn selects(selector: &Field<'_>, labels: &Labels) -> Result<bool, ManifestError> {
    if let Some(wanted) = selector.get("matchLabels")?
        && !has_all(labels, &wanted)?
    {
        return Ok(false);
    }
    for demand in selector.get("matchExpressions")?.map_or(Ok(Vec::new()), |list| list.items())? {
        let text = |key| demand.get(key)?.map_or(Ok(""), |field| field.text("a text"));
        let label = labels.get(text("key")?).map(String::as_str);
        let values = demand.get("values")?.map_or(Ok(Vec::new()), |list| list.items())?;
        let is_listed = values.iter().any(|value| value.text("").ok() == label && label.is_some());
        let is_met = match text("operator")? {
            "In" => is_listed,
            "NotIn" => !is_listed,
            "Exists" => label.is_some(),
            "DoesNotExist" => label.is_none(),
            _ => true,
        };
        if !is_met {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Labels as an API server writes them in a complaint.
fn json_labels(labels: &Labels) -> String {
    let pairs = labels.iter().map(|(key, value)| format!("{}:{}", go_quote(key), go_quote(value)));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
}

/// Pods of jobs end, others do not.
fn check_restart(template: &Field<'_>, kind: Kind, found: &mut Findings) -> Result<(), ManifestError> {
    let Some(spec) = template.get("spec")? else { return Ok(()) };
    let place = spec.child_or_self("restartPolicy")?;
    let written = spec.get("restartPolicy")?;
    let policy = written.as_ref().map_or(Ok(""), |policy| policy.text("a restart policy"))?;
    match (kind, policy) {
        (Kind::Job | Kind::CronJob, "" | "Always") => {
            found.add(&place, Complaint::Required("valid values: \"OnFailure\", \"Never\"".into()));
        }
        (Kind::Job | Kind::CronJob, "OnFailure" | "Never") | (_, "" | "Always") => {}
        (Kind::Job | Kind::CronJob, _) => {
            found.add(&place, Complaint::not_supported(policy, &["OnFailure", "Never"]));
        }
        _ => found.add(&place, Complaint::not_supported(policy, &["Always"])),
    }
    Ok(())
}
