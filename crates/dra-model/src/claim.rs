//! Claims, and templates of claims.

use alloc::string::String;
use alloc::vec::Vec;

use crate::{AllocationResult, ClaimConfig, DeviceRequest, Metadata, QualifiedName, RequestName};

/// A `ResourceClaim`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResourceClaim {
    /// `metadata`.
    pub metadata: Metadata,
    /// What it asks for.
    pub spec: ResourceClaimSpec,
    /// What it has.
    pub status: ClaimStatus,
}

/// A `ResourceClaimTemplate`: a claim for each pod.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResourceClaimTemplate {
    /// `metadata`.
    pub metadata: Metadata,
    /// `spec.metadata`: labels and annotations of the claims.
    pub claim_metadata: Metadata,
    /// `spec.spec`.
    pub spec: ResourceClaimSpec,
}

/// `spec.devices` of a claim.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResourceClaimSpec {
    /// Served in order, all or none.
    pub requests: Vec<DeviceRequest>,
    /// What must hold between devices of several requests.
    pub constraints: Vec<Constraint>,
    /// Parameters for drivers.
    pub config: Vec<ClaimConfig>,
}

/// A constraint. Valid ones have exactly one of the two attributes, each `domain/id`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Constraint {
    /// The requests, or `request/alternative`, that it is about; none: all.
    pub requests: Vec<RequestName>,
    /// `matchAttribute`: all devices have the same value.
    pub match_attribute: Option<QualifiedName>,
    /// `distinctAttribute`: no two devices have the same value.
    pub distinct_attribute: Option<QualifiedName>,
}

/// `status` of a claim.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClaimStatus {
    /// The devices, once they are allocated.
    pub allocation: Option<AllocationResult>,
    /// `reservedFor`: who may use the claim.
    pub reserved_for: Vec<Consumer>,
}

/// Who may use a claim.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Consumer {
    /// `apiGroup`; empty for the core group.
    pub api_group: String,
    /// `pods`.
    pub resource: String,
    /// Name, in the claim's namespace.
    pub name: String,
    /// UID.
    pub uid: String,
}
