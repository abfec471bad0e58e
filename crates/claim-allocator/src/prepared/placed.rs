//! Where a device is.

use dra_model::{Device, DeviceId, ResourceSlice};

/// A device with its slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'a> {
    pub(crate) slice: &'a ResourceSlice,
    pub(crate) device: &'a Device,
}

impl Placed<'_> {
    pub(crate) fn id(&self) -> DeviceId {
        DeviceId {
            driver: self.slice.driver.clone(),
            pool: self.slice.pool.name.clone(),
            device: self.device.name.clone(),
        }
    }
}
