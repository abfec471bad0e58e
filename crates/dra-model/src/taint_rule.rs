//! Taints that an administrator puts on devices.

use crate::{DeviceId, DeviceName, DeviceTaint, DriverName, Metadata, PoolName};

/// A `DeviceTaintRule`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceTaintRule {
    /// `metadata`.
    pub metadata: Metadata,
    /// The devices; `None` selects no device.
    pub selector: Option<DeviceTaintSelector>,
    /// The taint that they get.
    pub taint: DeviceTaint,
}

/// Which devices: those to which all fields that are set apply.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceTaintSelector {
    /// Of this driver.
    pub driver: Option<DriverName>,
    /// In pools of this name.
    pub pool: Option<PoolName>,
    /// Of this name.
    pub device: Option<DeviceName>,
}

impl DeviceTaintRule {
    /// Whether the device gets the taint.
    #[must_use]
    pub fn selects(&self, id: &DeviceId) -> bool {
        self.selector.as_ref().is_some_and(|selector| {
            selector.driver.as_ref().is_none_or(|driver| *driver == id.driver)
                && selector.pool.as_ref().is_none_or(|pool| *pool == id.pool)
                && selector.device.as_ref().is_none_or(|device| *device == id.device)
        })
    }
}
