//! Capacity of devices, and how requests for a part of it are rounded and refused.

use alloc::vec::Vec;

use k8s_quantity::Quantity;

/// So much of something in a device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Capacity {
    /// In all.
    pub value: Quantity,
    /// What a request of a shareable device may take; `None`: any amount, and everything if it names none.
    pub policy: Option<RequestPolicy>,
}

/// `requestPolicy`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestPolicy {
    /// What a request takes that names no amount.
    pub default: Option<Quantity>,
    /// `validValues`: the amounts that can be taken, ascending; a request is rounded up to one of them.
    pub values: Vec<Quantity>,
    /// `validRange`.
    pub range: Option<ValidRange>,
}

/// `validRange`: amounts from `min` in steps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ValidRange {
    /// The least that is taken.
    pub min: Option<Quantity>,
    /// The most that can be asked for; `None`: all of the capacity.
    pub max: Option<Quantity>,
    /// A request is rounded up to the minimum and a multiple of this; `None`: it is taken as it is.
    pub step: Option<Quantity>,
}
