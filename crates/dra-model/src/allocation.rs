//! What a claim was given.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use k8s_quantity::Quantity;

use crate::{DeviceId, DeviceToleration, NodeSelector, OpaqueConfig, QualifiedName, RequestName, ShareId};

/// `status.allocation` of a claim.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AllocationResult {
    /// `devices.results`, in order of choice.
    pub results: Vec<DeviceResult>,
    /// `devices.config`.
    pub config: Vec<AllocatedConfig>,
    /// The nodes on which the devices can be used; `None`: all.
    pub node_selector: Option<NodeSelector>,
}

/// A device that a request was given.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceResult {
    /// The request, or `request/alternative`.
    pub request: RequestName,
    /// The device.
    pub device: DeviceId,
    /// `adminAccess`: the device is not taken by this.
    pub admin_access: Option<bool>,
    /// Those of the request.
    pub tolerations: Vec<DeviceToleration>,
    /// `bindingConditions` of the device.
    pub binding_conditions: Vec<String>,
    /// `bindingFailureConditions` of the device.
    pub binding_failure_conditions: Vec<String>,
    /// Which share of a device with several allocations.
    pub share: Option<ShareId>,
    /// What it takes of a device with several allocations; `None` if the field is absent.
    pub consumed_capacity: Option<BTreeMap<QualifiedName, Quantity>>,
    /// `skipNodeOperations` of the slice.
    pub skip_node_operations: Vec<String>,
}

/// Parameters that go with an allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllocatedConfig {
    /// Where they are from.
    pub source: ConfigSource,
    /// The requests, or `request/alternative`, that they are for; none: all.
    pub requests: Vec<RequestName>,
    /// The parameters.
    pub opaque: Option<OpaqueConfig>,
}

/// Where parameters are from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ConfigSource {
    /// `FromClass`.
    Class,
    /// `FromClaim`.
    Claim,
}

impl ConfigSource {
    /// Its text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Class => "FromClass",
            Self::Claim => "FromClaim",
        }
    }
}

impl DeviceResult {
    /// Whether it leaves the device to others.
    #[must_use]
    pub fn is_admin_access(&self) -> bool {
        self.admin_access == Some(true)
    }
}
