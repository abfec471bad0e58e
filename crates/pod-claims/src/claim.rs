//! A claim of a pod, its state before the search, and the obstacles for which kube-scheduler does not search.

use alloc::string::String;

use claim_allocator::Scope;
use dra_model::{ClassName, RequestName, ResourceClaim};
use thiserror::Error;

/// A claim of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodClaim {
    /// What the pod calls it; empty: the claim of its extended resources.
    pub name: String,
    /// Its state before the search.
    pub state: ClaimState,
    /// The object. One that does not exist yet is called `POD-CLAIM`; kube-controller-manager appends a random suffix. After the
    /// decision `status.allocation` has its devices.
    pub claim: ResourceClaim,
}

/// The state of a claim before the search for devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClaimState {
    /// It has devices already.
    Allocated,
    /// The object exists, without devices.
    Pending,
    /// It will be made of the template of this name when the pod is created.
    FromTemplate(String),
    /// The pod exists, and its claim has not been made of the template of this name yet: kube-scheduler waits for that.
    NotMadeYet(String),
    /// kube-scheduler makes it for the pod's extended resources when it binds the pod.
    ExtendedResources,
}

/// Why kube-scheduler does not search for devices.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Obstacle {
    /// Containers use a claim that the pod does not have.
    #[error("the pod has no claim {0:?}: an API server refuses a pod whose containers name one")]
    NotListed(String),
    /// The claim does not exist.
    #[error("claim {claim}: ResourceClaim {object} does not exist; the pod waits until it does")]
    NoClaim {
        /// What the pod calls it.
        claim: String,
        /// `namespace/name`.
        object: String,
    },
    /// The template does not exist.
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
        /// Name of the pod that owns it; empty: it has no owner.
        owner: String,
    },
    /// It is reserved for as many pods as a claim can be.
    #[error("claim {claim}: resourceclaim in use: {object} is reserved for 256 pods, and no more can use it")]
    ReservedToLimit {
        /// What the pod calls it.
        claim: String,
        /// `namespace/name`.
        object: String,
    },
    /// A request names a class that does not exist.
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
        /// The error of the parser.
        error: String,
    },
}

impl Obstacle {
    /// Whether it holds on this node only, or on every node.
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
