//! Why claims are not decided: errors with kube-scheduler's texts, and whom they stop.

use alloc::string::String;

use dra_model::{ClassName, DeviceId, Metadata, QualifiedName, RequestName};
use thiserror::Error;

use crate::capacity::CapacityError;

/// An error in place of a decision.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum AllocateError {
    /// A pool cannot be looked at.
    #[error("gather pool information: {0}")]
    Pools(String),
    /// No pool serves the claims, and some are invalid.
    #[error("invalid resource pools were encountered")]
    InvalidPools,
    /// The implementation that was chosen lacks a feature that is on.
    #[error(
        "internal error: no allocator available for feature set {features}, enabled allocators: {implementation}"
    )]
    NoImplementation {
        /// The features, as Go prints them.
        features: String,
        /// Name of the implementation.
        implementation: &'static str,
    },
    /// A request or a constraint is not usable.
    #[error("claim {claim}, {place}")]
    Claim {
        /// `namespace/name`.
        claim: String,
        /// Where, and what is wrong there.
        place: ClaimFault,
    },
    /// An expression of a class.
    #[error("class {class}: selector #{selector}{fault}")]
    ClassSelector {
        /// Name of the class.
        class: String,
        /// Which of its selectors, from 0.
        selector: usize,
        /// What is wrong.
        fault: SelectorFault,
    },
    /// An expression of a request.
    #[error("claim {claim}: selector #{selector}{fault}")]
    ClaimSelector {
        /// `namespace/name`.
        claim: String,
        /// Which of the request's selectors, from 0.
        selector: usize,
        /// What is wrong.
        fault: SelectorFault,
    },
    /// The node selector of a device cannot be parsed.
    #[error("{0}")]
    NodeSelector(String),
    /// A derived attribute does not compile.
    #[error("compile derived attribute {name} failed: {error}")]
    DerivedCompile {
        /// Its name.
        name: QualifiedName,
        /// Why not.
        error: String,
    },
    /// A derived attribute has no value for a device.
    #[error("evaluate derived attribute {name} on device {device} failed: {error}")]
    DerivedRuntime {
        /// Its name.
        name: QualifiedName,
        /// The device.
        device: DeviceId,
        /// Why not.
        error: String,
    },
    /// The result has devices whose node selectors cannot be merged.
    #[error(
        "create NodeSelector for claim {claim}: unsupported ResourceSlice.NodeSelector with {terms} terms"
    )]
    ResultSelector {
        /// Name of the claim.
        claim: String,
        /// Number of terms.
        terms: usize,
    },
}

/// What is wrong with a claim.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ClaimFault {
    /// `firstAvailable` without its feature.
    #[error("request {0}: has subrequests, but the DRAPrioritizedList feature is disabled")]
    Subrequests(RequestName),
    /// Capacity without its feature.
    #[error("request {0}: has capacity requests, but the DRAConsumableCapacity feature is disabled")]
    Capacity(RequestName),
    /// Capacity of an alternative without its feature.
    #[error("subrequest {0}: has capacity requests, but the DRAConsumableCapacity feature is disabled")]
    SubrequestCapacity(RequestName),
    /// Derived attributes without their feature.
    #[error("request {0}: cannot handle request with derived attributes, the feature is disabled")]
    DerivedAttributes(RequestName),
    /// A selector that is no expression.
    #[error("request {0}, selector #{1}: CEL expression empty (unsupported selector type?)")]
    EmptySelector(RequestName, usize),
    /// Admin access without its feature.
    #[error("request {0}: admin access is requested, but the feature is disabled")]
    AdminAccess(RequestName),
    /// No class.
    #[error("request {0}: missing device class name (unsupported request type?)")]
    NoClass(RequestName),
    /// A class that is not there.
    #[error(
        "request {0}: could not retrieve device class {1}: deviceclasses.resource.k8s.io \"{1}\" not found"
    )]
    UnknownClass(RequestName, ClassName),
    /// A mode that is neither a count nor all.
    #[error("request {0}: unsupported count mode {1}")]
    Mode(RequestName, String),
    /// All devices, while a pool is incomplete.
    #[error("request {0}: asks for all devices, but resource pool {1} is currently being updated")]
    IncompletePool(RequestName, String),
    /// All devices, while a pool is invalid.
    #[error("request {0}: asks for all devices, but resource pool {1} is currently invalid")]
    InvalidPool(RequestName, String),
    /// More devices than a claim can have.
    #[error(
        "request {request}: adding {count} devices exceeds the claim limit of 32, with {before} already accounted for"
    )]
    TooMany {
        /// The request.
        request: RequestName,
        /// How many devices it needs at least.
        count: i64,
        /// How many the requests before it need.
        before: i64,
    },
    /// A constraint without an attribute.
    #[error("constraint #{0}: empty constraint (unsupported constraint type?)")]
    EmptyConstraint(usize),
    /// One of all devices does not satisfy a constraint.
    #[error("request {0}: cannot add device {1} because a claim constraint would not be satisfied")]
    Unsatisfied(RequestName, DeviceId),
    /// A capacity that cannot be worked out.
    #[error("request {0}: checking capacity for device {1}: capacity {2:?}: {3}")]
    DeviceCapacity(RequestName, String, QualifiedName, CapacityError),
    /// Neither `exactly` nor `firstAvailable`: kube-scheduler itself crashes on it.
    #[error("request {0}: neither exactly nor firstAvailable is set")]
    NoForm(RequestName),
}

/// What is wrong with a selector.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SelectorFault {
    /// It does not compile.
    #[error(": CEL compile error: {0}")]
    Compile(String),
    /// It has no answer for a device.
    #[error(" on device {device}: CEL runtime error: {error}")]
    Runtime {
        /// The device.
        device: DeviceId,
        /// Why not.
        error: String,
    },
}

/// Whom an error stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The pod: kube-scheduler tries no other node, and the pod again only later.
    Pod,
    /// This node alone.
    Node,
}

impl AllocateError {
    /// Whom it stops.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        match self {
            Self::InvalidPools => Scope::Node,
            _ => Scope::Pod,
        }
    }
}

/// `namespace/name`, or the name alone.
pub(crate) fn reference(object: &Metadata) -> String {
    if object.namespace.is_empty() {
        return object.name.clone();
    }
    alloc::format!("{}/{}", object.namespace, object.name)
}
