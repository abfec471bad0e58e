//! What a claim asks for.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use k8s_quantity::Quantity;

use crate::{ClassName, DeviceToleration, QualifiedName, RequestName};

/// A request of a claim.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceRequest {
    /// Its name in the claim.
    pub name: RequestName,
    /// `exactly`: the devices without alternative.
    pub exactly: Option<RequestedDevices>,
    /// `firstAvailable`: alternatives, the best first.
    pub first_available: Vec<RequestedDevices>,
}

/// The devices of a request, or of one of its alternatives.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestedDevices {
    /// The alternative's name within the request; empty for `exactly`.
    pub name: RequestName,
    /// `deviceClassName`.
    pub class: ClassName,
    /// Expressions that must all hold, behind those of the class.
    pub selectors: Vec<Selector>,
    /// How many devices.
    pub mode: AllocationMode,
    /// `adminAccess`: also devices in use, for a look at them. Alternatives have none.
    pub admin_access: Option<bool>,
    /// Taints that the devices may have.
    pub tolerations: Vec<DeviceToleration>,
    /// `capacity.requests`: so much of each device's capacity; `None` if `capacity` is absent.
    pub capacity: Option<BTreeMap<QualifiedName, Quantity>>,
    /// `derivedAttributes`: attributes by expression, for constraints.
    pub derived_attributes: Vec<DerivedAttribute>,
}

/// `allocationMode` and `count`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AllocationMode {
    /// `ExactCount`: so many. API servers let only positive numbers pass.
    ExactCount(i64),
    /// `All`: all devices that match. The number, which is not valid unless 0, is what was written as `count`.
    All(i64),
    /// What was written in place of these.
    Other {
        /// `allocationMode`.
        mode: String,
        /// `count`.
        count: i64,
    },
}

/// A selector of devices.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Selector {
    /// `cel.expression`; `None` if `cel` is absent, which is an unsupported type of selector.
    pub expression: Option<String>,
}

/// An attribute that a request gives each device by an expression.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DerivedAttribute {
    /// `domain/id`.
    pub name: QualifiedName,
    /// The expression.
    pub expression: String,
}

/// Which of the two forms of a request is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestForm<'a> {
    /// `exactly`.
    Exactly(&'a RequestedDevices),
    /// `firstAvailable`, in order.
    FirstAvailable(&'a [RequestedDevices]),
    /// Neither: of a newer API.
    Neither,
}

impl Default for AllocationMode {
    fn default() -> Self {
        Self::ExactCount(1)
    }
}

impl AllocationMode {
    /// The mode as it is stored: an empty one is `ExactCount`, whose count is 1 unless set.
    #[must_use]
    pub fn with_defaults(mode: &str, count: i64) -> Self {
        match mode {
            "" | "ExactCount" => Self::ExactCount(if count == 0 { 1 } else { count }),
            _ => Self::as_written(mode, count),
        }
    }

    /// The mode without defaults.
    #[must_use]
    pub fn as_written(mode: &str, count: i64) -> Self {
        match mode {
            "ExactCount" => Self::ExactCount(count),
            "All" => Self::All(count),
            _ => Self::Other { mode: mode.into(), count },
        }
    }

    /// Text of `allocationMode`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::ExactCount(_) => "ExactCount",
            Self::All(_) => "All",
            Self::Other { mode, .. } => mode,
        }
    }

    /// `count`.
    #[must_use]
    pub const fn count(&self) -> i64 {
        match self {
            Self::ExactCount(count) | Self::All(count) | Self::Other { count, .. } => *count,
        }
    }
}

impl Selector {
    /// A selector by expression.
    #[must_use]
    pub fn cel(expression: &str) -> Self {
        Self { expression: Some(expression.into()) }
    }
}

impl DeviceRequest {
    /// Which form it has: alternatives come first, as the allocator looks for them.
    #[must_use]
    pub fn form(&self) -> RequestForm<'_> {
        match &self.exactly {
            _ if !self.first_available.is_empty() => RequestForm::FirstAvailable(&self.first_available),
            Some(devices) => RequestForm::Exactly(devices),
            None => RequestForm::Neither,
        }
    }
}
