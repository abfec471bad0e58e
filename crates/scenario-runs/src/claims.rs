//! Resource claims (DRA), which are not decided here: pods are admitted without them.

use admission_report::UndecidedClaims;
use pod_spec::Pod;

/// The names of a pod's resource claims.
pub(crate) fn claims(pod: &Pod) -> Vec<String> {
    UndecidedClaims::of(pod).map(|claims| claims.names().to_vec()).unwrap_or_default()
}
