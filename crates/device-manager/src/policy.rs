//! The rules, as one object beside those of the other managers.

use kubelet_release::{DeviceHintNodes, Rules};

/// The kubelet's device manager: hints and device choice over an [`Inventory`](crate::Inventory) and
/// [`Holdings`](crate::Holdings), both handed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Devices {
    pub(crate) blocked_devices: BlockedDevices,
    pub(crate) hint_nodes: DeviceHintNodes,
}

/// What becomes of devices that had been chosen for a container when its allocation failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BlockedDevices {
    /// After some failures (a failing `GetPreferredAllocation`, an answer to `Allocate` without container
    /// responses, too few devices) they stay blocked until some other pod goes away, as in the kubelet.
    UntilPodGoes,
    /// They are free at once.
    #[default]
    FreeAtOnce,
}

impl Devices {
    /// The rules of a release, with that difference from the kubelet, or none.
    #[must_use]
    pub const fn new(rules: &Rules, blocked_devices: BlockedDevices) -> Self {
        Self { blocked_devices, hint_nodes: rules.device_hint_nodes }
    }
}

/// The rules of the default release, without a difference from the product.
impl Default for Devices {
    fn default() -> Self {
        Self::new(&Rules::default(), BlockedDevices::default())
    }
}
