//! Slices, classes and claims, checked beside each other.

use admission_report::Notice;
use anyhow::bail;
use claim_advice::{ClaimAdvice, Findings};
use dra_model::Features;
use node_output::{CheckedClaims, manifest_error};
use pod_claims::ClusterObjects;
use topology_manifest::{
    CheckedObjects, ObjectFindings, ResourceObject, check_resource_objects, read_resource_objects,
};

use crate::asked::Listener;
use crate::object_text::{ObjectText, cluster_objects};

/// What is wrong with the objects of all texts, each beside all others, in a cluster with these gates. `listener` hears of texts
/// without such objects.
///
/// # Errors
/// A text cannot be read, or none has any object of `resource.k8s.io`.
pub fn check_claims(
    texts: &[ObjectText],
    features: Features,
    listener: &impl Listener,
) -> anyhow::Result<CheckedClaims> {
    let mut objects = ClusterObjects::default();
    for text in texts {
        let read = text.source().and_then(|source| read_resource_objects(&source));
        objects.extend(cluster_objects(read.map_err(manifest_error)?));
    }
    let mut advice = ClaimAdvice::new(&objects, features);
    let mut checked = CheckedClaims::default();
    for text in texts {
        let mut judge = |object: &ResourceObject| findings(&mut advice, object);
        let read = text
            .source()
            .and_then(|source| check_resource_objects(&source, &mut judge))
            .map_err(manifest_error)?;
        if read.objects == 0 {
            listener.warn(Notice::warning(format!("{} has no object of resource.k8s.io", text.name())));
        }
        let CheckedObjects { objects, refused, warnings } = read;
        checked.add(objects, refused, warnings);
    }
    if checked.objects() == 0 {
        bail!(
            "there is nothing to check: expected ResourceSlices, DeviceClasses, ResourceClaims, ResourceClaimTemplates or \
             DeviceTaintRules, as `kubectl get resourceslices,deviceclasses,resourceclaims -A -o yaml` prints them"
        );
    }
    Ok(checked)
}

fn findings(advice: &mut ClaimAdvice<'_>, object: &ResourceObject) -> ObjectFindings {
    let Findings { errors, warnings } = match object {
        ResourceObject::Slice(slice) => advice.slice(slice),
        ResourceObject::Class(class) => advice.class(class),
        ResourceObject::Claim(claim) => advice.claim(claim),
        ResourceObject::Template(template) => advice.template(template),
        ResourceObject::TaintRule(rule) => advice.taint_rule(rule),
    };
    ObjectFindings {
        errors: errors.into_iter().map(|error| (error.field, error.message)).collect(),
        warnings: warnings.into_iter().map(|warning| (warning.field, warning.text)).collect(),
    }
}
