//! What is in the file.

use alloc::string::String;
use alloc::vec::Vec;

use pod_spec::{ContainerName, PodUid, ResourceName};

use crate::{List, Map};

/// What the device manager holds, as it is written. The kubelet's order of entries and devices is random; here it is
/// that of the lists.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceState {
    /// Who has what.
    pub entries: List<DeviceEntry>,
    /// The healthy devices of each registered resource. Only the names count when the file is read.
    pub registered: Map<ResourceName, List<String>>,
}

/// What a container holds of one resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceEntry {
    /// UID of the pod.
    pub pod: PodUid,
    /// The container.
    pub container: ContainerName,
    /// The resource.
    pub resource: ResourceName,
    /// Devices by the id of the node under which they were recorded, -1 for none.
    pub devices: Map<i64, List<String>>,
    /// What the plugin answered: a serialized `ContainerAllocateResponse`.
    pub reply: Option<Vec<u8>>,
}

impl Default for DeviceEntry {
    fn default() -> Self {
        Self {
            pod: PodUid::new(""),
            container: ContainerName::new(""),
            resource: ResourceName::new(""),
            devices: None,
            reply: None,
        }
    }
}
