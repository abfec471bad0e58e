//! Objects as a whole: pods, and what makes pods of a template.

use super::metadata::{check_labels, check_metadata};
use super::names::{Wrong, dns_label, dns_subdomain, label_value};
use super::pod::check_spec;
use super::spec_owner::SpecOwner;
use super::{Complaint, Findings};
use crate::ManifestError;
use crate::constraints::integer;
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
