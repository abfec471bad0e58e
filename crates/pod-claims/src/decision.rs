//! The decision on the claims of a pod on a node.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use claim_allocator::{AllocateError, Cost, Scope};
use dra_model::{DeviceId, Features, ResourceClaim, ResourceMapping};
use thiserror::Error;

use crate::claim::{ClaimState, Obstacle, PodClaim};

/// The decision on the claims of a pod on a node.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimsDecision {
    /// The claims, in kube-scheduler's order. With [`Outcome::Allocated`] each has devices. Empty where one of them does
    /// not exist.
    pub claims: Vec<PodClaim>,
    /// Whether they get devices, and why not.
    pub outcome: Outcome,
    /// What the search costs kube-scheduler; `None`: it does not search, or the steps are not known.
    pub cost: Option<Cost>,
    /// The pod's extended resources that classes serve.
    pub served_resources: Vec<String>,
    /// Which request of the claim of its extended resources serves which container.
    pub mappings: Vec<ResourceMapping>,
    /// Pools of the node from which nothing can be allocated, each as a sentence.
    pub unusable_pools: Vec<String>,
    /// Devices of allocated claims that no slice lists, each with the name of the claim.
    pub unlisted_devices: Vec<(String, DeviceId)>,
}

/// Whether the claims get devices, and why not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Every claim has devices.
    Allocated,
    /// kube-scheduler does not search, for this reason.
    Stopped(Obstacle),
    /// This node does not have the devices.
    DoesNotFit,
    /// An error in place of an answer.
    Error(AllocateError),
    /// Not decided: the steps ran out.
    Cut,
    /// Not decided: objects are not known.
    Unknown(Missing),
}

/// Objects without which nothing can be decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Missing {
    /// No slice is given.
    #[error("no ResourceSlice is given")]
    Slices,
    /// No class is given.
    #[error("no DeviceClass is given")]
    Classes,
}

/// The release and the feature gates of a decision, as the text after "decided as".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecidedAs(pub Features);

impl fmt::Display for DecidedAs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("kube-scheduler 1.37.2 with ")?;
        if self.0 == Features::DEFAULT {
            return f.write_str("its default gates");
        }
        let mut changed = dra_model::Feature::ALL
            .into_iter()
            .filter(|feature| self.0.has(*feature) != Features::DEFAULT.has(*feature));
        let first = changed.next();
        first.into_iter().try_for_each(|feature| self.write_gate(f, "", feature))?;
        changed.try_for_each(|feature| self.write_gate(f, ",", feature))
    }
}

impl DecidedAs {
    fn write_gate(self, f: &mut fmt::Formatter<'_>, before: &str, gate: dra_model::Feature) -> fmt::Result {
        write!(f, "{before}{}={}", gate.name(), self.0.has(gate))
    }
}

impl ClaimsDecision {
    /// With these claims and this outcome; the other fields are empty.
    pub(crate) fn of(claims: Vec<PodClaim>, outcome: Outcome) -> Self {
        Self {
            claims,
            outcome,
            cost: None,
            served_resources: Vec::new(),
            mappings: Vec::new(),
            unusable_pools: Vec::new(),
            unlisted_devices: Vec::new(),
        }
    }

    /// Whether all claims have devices.
    #[must_use]
    pub fn is_allocated(&self) -> bool {
        self.outcome == Outcome::Allocated
    }

    /// Where the pod cannot get its devices: on this node or on every node; `None`: it gets them, or that is not decided.
    #[must_use]
    pub fn refused(&self) -> Option<Scope> {
        match &self.outcome {
            Outcome::Stopped(obstacle) => Some(obstacle.scope()),
            Outcome::DoesNotFit => Some(Scope::Node),
            Outcome::Error(error) => Some(error.scope()),
            Outcome::Allocated | Outcome::Cut | Outcome::Unknown(_) => None,
        }
    }

    /// The claims for which kube-scheduler searches devices, without those that it finds, each with the name that the pod gives it.
    pub fn searched(&self) -> impl Iterator<Item = (&str, ResourceClaim)> {
        let claims = self.claims.iter().filter(|claim| claim.state != ClaimState::Allocated);
        claims.map(|claim| {
            let mut object = claim.claim.clone();
            object.status.allocation = None;
            (claim.name.as_str(), object)
        })
    }

    /// Claims that kube-controller-manager has not made yet, by the names that the pod gives them.
    pub fn not_made_yet(&self) -> impl Iterator<Item = &str> {
        let claims = self.claims.iter();
        let claims = claims.filter(|claim| matches!(claim.state, ClaimState::NotMadeYet(_)));
        claims.map(|claim| claim.name.as_str())
    }
}
