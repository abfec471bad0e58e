//! What OpenShift's machine config operator refuses in a `KubeletConfig` beside fields that no such object may have.
//!
//! `validateUserKubeletConfig` and `validateStaticPodPathGivenPool` in `pkg/controller/kubelet-config/helpers.go` of
//! openshift/machine-config-operator.

use super::kind::names;
use super::roles::is_of_control_plane;
use crate::ManifestError;
use crate::forbidden_fields::{WITHOUT, forbidden, is_empty, refusal};
use crate::node::Field;

/// The first thing for which the operator refuses the object; `None`: it takes it, or the object is another.
///
/// # Errors
/// A part has another type than it has in the object.
pub(crate) fn refused_by_operator(document: &Field<'_>) -> Result<Option<ManifestError>, ManifestError> {
    let (kind, version) = names(document);
    if kind != "KubeletConfig" || !version.starts_with("machineconfiguration.openshift.io/") {
        return Ok(None);
    }
    let Some(own) = document.descend(&["spec", "kubeletConfig"])?.filter(Field::is_mapping) else {
        return Ok(None);
    };
    if let Some(error) = forbidden(&own)? {
        return Ok(Some(error));
    }
    if let Some(field) = own.get("staticPodPath")?
        && (is_of_control_plane(document.node) || !is_empty(&field))
    {
        return Ok(Some(refusal(&field, "staticPodPath", WITHOUT)));
    }
    let is_sized = document.descend(&["spec", "autoSizingReserved"])?.is_some_and(|switch| switch.is_true());
    let reserved = own.get("systemReserved")?.filter(|field| is_sized && !is_empty(field));
    Ok(reserved.map(|field| refusal(&field, "systemReserved beside autoSizingReserved", "one of the two")))
}
