//! Fields for which OpenShift's machine config operator refuses a `KubeletConfig`: it applies nothing of such an object, whether a
//! user writes it or the node tuning operator makes it of a `PerformanceProfile`.
//!
//! `validateUserKubeletConfig` in `pkg/controller/kubelet-config/helpers.go` of openshift/machine-config-operator; `failSwapOn` and
//! `swapBehavior` are among them since 4.21. A field counts if it is not empty.

use crate::node::{Field, Value};
use crate::{ManifestError, Problem};

/// Fields that the operator sets alone, and what to do instead.
const ITS_OWN: [(&[&str], &str); 6] = [
    (&["cgroupDriver"], WITHOUT),
    (&["clusterDNS"], WITHOUT),
    (&["clusterDomain"], WITHOUT),
    (
        &["featureGates"],
        "the object without the field; feature gates of a cluster are those of its FeatureGate object",
    ),
    (&["failSwapOn"], WITHOUT),
    (&["memorySwap", "swapBehavior"], WITHOUT),
];

pub(crate) const WITHOUT: &str = "the object without the field";

/// The refusal for the first of the kubelet's fields in `own` that the operator does not take; `None`: it takes all.
///
/// # Errors
/// A part is no mapping.
pub(crate) fn forbidden(own: &Field<'_>) -> Result<Option<ManifestError>, ManifestError> {
    for (path, instead) in ITS_OWN {
        // A switch that is off is set, too.
        if let Some(field) = own.descend(path)?.filter(|field| !is_empty(field)) {
            return Ok(Some(refusal(&field, path.last().unwrap_or(&""), instead)));
        }
    }
    if let (Some(reserved), Some(cgroups)) = (own.get("systemReservedCgroup")?, own.get("systemCgroups")?)
        && !is_empty(&reserved)
        && !is_empty(&cgroups)
        && reserved.node.value != cgroups.node.value
    {
        const DIFFER: &str = "another systemReservedCgroup than systemCgroups";
        return Ok(Some(refusal(&reserved, DIFFER, "the same in both")));
    }
    Ok(None)
}

/// That the operator refuses an object for a field.
pub(crate) fn refusal(field: &Field<'_>, what: &str, instead: &'static str) -> ManifestError {
    let what = format!(
        "{what}, for which OpenShift's machine config operator refuses a KubeletConfig: it applies nothing of it"
    );
    field.fail(Problem::OtherForm { what, instead })
}

/// Whether a field is there in vain.
pub(crate) fn is_empty(field: &Field<'_>) -> bool {
    match &field.node.value {
        Value::Null => true,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
