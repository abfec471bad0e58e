//! Configuration for drivers, which Kubernetes passes on unread.

use alloc::string::String;
use alloc::vec::Vec;

use crate::{DriverName, RequestName};

/// `opaque`: parameters for one driver.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpaqueConfig {
    /// For which driver.
    pub driver: DriverName,
    /// A JSON object as text, as it is stored.
    pub parameters: String,
}

/// An entry of `config` in a claim.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClaimConfig {
    /// The requests, or `request/alternative`, that it is for; none: all.
    pub requests: Vec<RequestName>,
    /// The parameters; `None` is not valid.
    pub opaque: Option<OpaqueConfig>,
}
