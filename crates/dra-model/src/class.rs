//! A class of devices.

use alloc::string::String;
use alloc::vec::Vec;

use crate::{Metadata, OpaqueConfig, Selector};

/// A `DeviceClass`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceClass {
    /// `metadata`.
    pub metadata: Metadata,
    /// Expressions that must all hold for a device of the class.
    pub selectors: Vec<Selector>,
    /// Configuration that goes with each allocation; an entry without parameters is not valid.
    pub config: Vec<Option<OpaqueConfig>>,
    /// `extendedResourceName`: the resource of pods that devices of the class serve.
    pub extended_resource: Option<String>,
}
