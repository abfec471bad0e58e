//! Claims of devices that a pod has. A scheduler allocates them and drivers prepare them, so that no decision here is
//! about them, and none may read as if it were.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use pod_spec::{ContainerName, Pod};

use crate::facts::full_name;
use crate::notice::Notice;
use crate::words::{and_more, joined};

/// Claims that were not decided on; at least one. Displays as the verdict on a pod that has them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UndecidedClaims {
    names: Vec<String>,
    /// Why not; empty: claims are not decided here at all.
    why: String,
}

impl UndecidedClaims {
    /// Those of a pod; `None`: it has none.
    #[must_use]
    pub fn of(pod: &Pod) -> Option<Self> {
        let claims = &pod.constraints.claims;
        let names = claims.iter().map(|claim| claim.name.clone()).collect();
        (!claims.is_empty()).then(|| Self { names, why: String::new() })
    }

    /// The same, which are not decided for this reason.
    #[must_use]
    pub fn because(self, why: impl Into<String>) -> Self {
        Self { why: why.into(), ..self }
    }

    /// Their names in the pod.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

impl fmt::Display for UndecidedClaims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = joined(&self.names, ", ");
        if self.why.is_empty() {
            return write!(f, "admitted without its claims, which are not decided here: {names}");
        }
        write!(f, "admitted without its claims, which are not decided: {names}: {}", self.why)
    }
}

/// That the claims of pods are left open, in a sentence for where they are decided on without a report; `None`: they have
/// none.
pub fn claims_notice<'a>(pods: impl IntoIterator<Item = &'a Pod>) -> Option<Notice> {
    let with_claims = pods.into_iter().filter_map(|pod| Some((pod, UndecidedClaims::of(pod)?)));
    let named =
        with_claims.map(|(pod, claims)| format!("{} ({})", full_name(pod), joined(&claims.names, ", ")));
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| {
        let shown = and_more(&named, 4, ", ");
        Notice::warning(format!(
            "claims of devices are not decided here; these pods are decided on without theirs: {shown}"
        ))
    })
}

/// The claims that a container uses, by name.
pub(crate) fn claims_of(pod: &Pod, container: &ContainerName) -> Vec<String> {
    let used = pod.constraints.claims.iter().filter(|claim| claim.containers.contains(container));
    used.map(|claim| claim.name.clone()).collect()
}
