//! The devices of one resource that a container holds.

#[cfg(feature = "schema")]
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use device_manager::DeviceId;
use serde::Serialize;

use crate::json;
use crate::resource::Resource;
use crate::words::joined;

/// Devices of one resource; shown as `nvidia.com/gpu gpu-0 gpu-1`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeviceSet {
    /// Which resource.
    pub resource: Resource,
    /// The ids that the plugin gave them.
    #[serde(serialize_with = "json::texts")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub ids: Vec<DeviceId>,
}

impl fmt::Display for DeviceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.resource, joined(&self.ids, " "))
    }
}
