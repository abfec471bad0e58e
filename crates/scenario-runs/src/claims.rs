//! Claims of devices, which are not decided here.

use admission_report::UndecidedClaims;
use pod_spec::Pod;

/// The claims of a pod, by name.
pub(crate) fn claims(pod: &Pod) -> Vec<String> {
    UndecidedClaims::of(pod).map(|claims| claims.names().to_vec()).unwrap_or_default()
}
