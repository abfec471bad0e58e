//! Claims of devices that a pod has. A scheduler allocates them and drivers prepare them, so that no decision here is
//! about them, and none may read as if it were.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use pod_spec::{ContainerName, Pod};
use topology_model::{NodeId, NodeIds};

use crate::facts::full_name;
use crate::notice::Notice;
use crate::words::{and_more, joined};

/// Claims that were not decided on; at least one. Displays as the verdict on a pod that has them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UndecidedClaims {
    names: Vec<String>,
    why: WhyUndecided,
    /// On which NUMA nodes the devices of some of them are, which CPUs and memory follow.
    followed: Vec<(String, NodeIds)>,
}

/// Why claims were not decided on.
#[derive(Clone, PartialEq, Eq, Debug)]
enum WhyUndecided {
    /// They are not decided here at all.
    NotHere,
    /// Nothing was given to decide by, and how to give it: the end of a sentence.
    NothingGiven(String),
    /// What was given does not decide them.
    Because(String),
}

impl UndecidedClaims {
    /// Those of a pod; `None`: it has none.
    #[must_use]
    pub fn of(pod: &Pod) -> Option<Self> {
        let claims = &pod.constraints.claims;
        let names = claims.iter().map(|claim| claim.name.clone()).collect();
        let mut followed: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
        for device in &pod.constraints.claim_places.known {
            followed.entry(&device.claim).or_default().push(NodeId(device.node));
        }
        let followed = followed.into_iter().map(|(claim, nodes)| (claim.into(), nodes.into_iter().collect()));
        let followed = followed.collect();
        (!claims.is_empty()).then_some(Self { names, why: WhyUndecided::NotHere, followed })
    }

    /// The same, which are not decided for this reason.
    #[must_use]
    pub fn because(self, why: impl Into<String>) -> Self {
        Self { why: WhyUndecided::Because(why.into()), ..self }
    }

    /// The same, for which nothing was given to decide by: `since` says what, and how to give it.
    #[must_use]
    pub fn without(self, since: impl Into<String>) -> Self {
        Self { why: WhyUndecided::NothingGiven(since.into()), ..self }
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
        match &self.why {
            WhyUndecided::NotHere => {
                write!(f, "admitted without its claims, which are not decided here: {names}")?;
                let hints = self.followed.iter().map(|(claim, nodes)| format!("{claim} for NUMA {nodes}"));
                let hints: Vec<String> = hints.collect();
                if hints.is_empty() {
                    return Ok(());
                }
                write!(f, "; hints of their devices: {}", joined(&hints, ", "))
            }
            WhyUndecided::NothingGiven(since) => {
                write!(f, "admitted without its claims, which are not decided here: {names}, since {since}")
            }
            WhyUndecided::Because(why) => {
                write!(f, "admitted without its claims, which are not decided: {names}: {why}")
            }
        }
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
