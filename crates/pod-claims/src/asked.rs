//! The claims of a pod, in kube-scheduler's order, and what keeps it from looking for devices.

use alloc::string::String;

use claim_allocator::Scope;
use dra_model::{ClassName, RequestName, ResourceClaim};
use thiserror::Error;

/// A claim of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodClaim {
    /// What the pod calls it; empty: the claim of its extended resources.
    pub name: String,
    /// What there is of it.
    pub state: ClaimState,
    /// The object. One that is still to be made is called `POD-CLAIM`; kube-controller-manager adds a random end. Once it is
    /// decided, `status.allocation` has its devices.
    pub claim: ResourceClaim,
}

/// What there is of a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClaimState {
    /// It has devices already.
    Allocated,
    /// The object is there, without devices.
    Pending,
    /// It will be made of the template of this name when the pod is created.
    FromTemplate(String),
    /// The pod is there, and its claim is not made of the template of this name yet: kube-scheduler waits for that.
    NotMadeYet(String),
    /// kube-scheduler itself makes it, of the pod's extended resources.
    ExtendedResources,
}

/// What keeps kube-scheduler from looking for devices.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Obstacle {
    /// Containers use a claim that the pod does not have.
    #[error("the pod has no claim {0:?}: an API server refuses a pod whose containers name one")]
    NotListed(String),
    /// The claim is not there.
    #[error("claim {claim}: ResourceClaim {object} does not exist; the pod waits until it does")]
    NoClaim {
        /// What the pod calls it.
        claim: String,
        /// `namespace/name`.
        object: String,
    },
    /// The template is not there.
    #[error("claim {claim}: ResourceClaimTemplate {object} does not exist, so that the claim is never made")]
    NoTemplate {
        /// What the pod calls it.
        claim: String,
        /// `namespace/name`.
        object: String,
    },
    /// The claim of this name was made for another pod.
    #[error(
        "claim {claim}: ResourceClaim {object} was not created for this pod (the pod is not its owner{})",
        owned_by(.owner)
    )]
    OfAnotherPod {
        /// What the pod calls it.
        claim: String,
        /// `namespace/name`.
        object: String,
        /// Name of the pod that owns it; empty: nothing does.
        owner: String,
    },
    /// As many pods use it as can.
    #[error("claim {claim}: resourceclaim in use: {object} is reserved for 256 pods, and no more can use it")]
    ReservedToLimit {
        /// What the pod calls it.
        claim: String,
        /// `namespace/name`.
        object: String,
    },
    /// A request names a class that is not there.
    #[error("claim {claim}: request {request}: device class {class} does not exist")]
    NoClass {
        /// `namespace/name`.
        claim: String,
        /// The request, or `request/alternative`.
        request: RequestName,
        /// The class.
        class: ClassName,
    },
    /// Its devices cannot be used on this node.
    #[error(
        "claim {claim}: resourceclaim not available on the node: {object} has devices that other nodes have"
    )]
    Elsewhere {
        /// What the pod calls it.
        claim: String,
        /// `namespace/name`.
        object: String,
    },
    /// The node selector of its allocation cannot be parsed.
    #[error("claim {claim}: {error}")]
    BadNodeSelector {
        /// `namespace/name`.
        claim: String,
        /// Why not.
        error: String,
    },
}

impl Obstacle {
    /// Whether it stops the pod on every node.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        match self {
            Self::Elsewhere { .. } => Scope::Node,
            _ => Scope::Pod,
        }
    }
}

fn owned_by(owner: &str) -> String {
    if owner.is_empty() { String::new() } else { alloc::format!("; pod {owner} is") }
}
