//! Pods that are not decided on for want of knowledge.

use alloc::vec::Vec;
use core::fmt;

use device_manager::Endpoint;

use crate::container::ContainerReport;
use crate::facts::Facts;
use crate::resource::Resource;
use crate::words::joined;

/// Why a pod is not decided on. Displays as a sentence without a full stop.
#[derive(Clone, Debug)]
pub enum Undecided {
    /// A device plugin must be asked first.
    Plugin,
    /// Only the kubelet's checkpoint names devices of a resource.
    Devices(UnlistedDevices),
}

/// Devices that only the kubelet's checkpoint names. There may be fewer than the pod asks for that are healthy and near
/// its NUMA nodes.
#[derive(Clone, Debug)]
pub struct UnlistedDevices {
    /// The resources that the pod asks for.
    pub resources: Vec<Resource>,
    /// What the containers are given if there are enough.
    pub containers: Vec<ContainerReport>,
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plugin => f.write_str("a device plugin must be asked first"),
            Self::Devices(UnlistedDevices { resources, .. }) => write!(
                f,
                "not decided: only the kubelet's checkpoint names devices of {}, and not which of those that nothing holds are \
                 healthy, nor their NUMA nodes",
                joined(resources, ", ")
            ),
        }
    }
}

impl Facts<'_> {
    /// The resources that the pod asks for of which only the kubelet's checkpoint names devices.
    pub(crate) fn unlisted(&self) -> Vec<Resource> {
        let inventory = self.before.inventory();
        let asked = self.asked().into_iter();
        let unlisted = asked.filter(|resource| inventory.endpoint(resource) == Some(Endpoint::Checkpoint));
        unlisted.map(Resource::from).collect()
    }
}
