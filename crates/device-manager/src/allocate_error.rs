//! Why a container is not served.

use pod_spec::{ContainerName, PodUid, ResourceName};
use thiserror::Error;

use crate::question::PluginError;

/// Why a container could not be served. The texts are the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum AllocateError {
    /// It holds devices and now asks for another number.
    #[error(
        "pod {:?} container {:?} changed request for resource {:?} from {held} to {asked}",
        pod.as_str(), container.as_str(), resource.as_str()
    )]
    ChangedRequest {
        /// UID of the pod.
        pod: PodUid,
        /// Name of the container.
        container: ContainerName,
        /// Of which resource.
        resource: ResourceName,
        /// How many it holds.
        held: usize,
        /// How many it asks for.
        asked: u64,
    },
    /// Devices of the resource are held, but it has been forgotten since.
    #[error("cannot allocate unregistered device {0}")]
    Unregistered(ResourceName),
    /// Not one is healthy; fails even those who ask for none.
    #[error("no healthy devices present; cannot allocate unhealthy devices {0}")]
    NoHealthyDevices(ResourceName),
    /// One that the container holds is not healthy.
    #[error("previously allocated devices are no longer healthy; cannot allocate unhealthy devices {0}")]
    NoLongerHealthy(ResourceName),
    /// Too few are free.
    #[error(
        "requested number of devices unavailable for {resource}. Requested: {requested}, Available: {available}"
    )]
    Unavailable {
        /// Of which resource.
        resource: ResourceName,
        /// How many are missing after those that init containers left.
        requested: u64,
        /// How many are healthy and free.
        available: usize,
    },
    /// The plugin was forgotten, though a list of it came in afterwards; its preference is needed.
    #[error("endpoint not found in cache for a registered resource: {0}")]
    NoEndpoint(ResourceName),
    /// The same, and devices have been chosen.
    #[error("unknown Device Plugin {0}")]
    UnknownPlugin(ResourceName),
    /// The plugin's preference could not be had.
    #[error("device plugin GetPreferredAllocation rpc failed with err: {0}")]
    Preferred(#[source] PluginError),
    /// The plugin did not give the devices out.
    #[error(transparent)]
    Allocate(PluginError),
    /// It answered without saying anything about the container.
    #[error("no containers return in allocation response ")]
    NoContainerResponse,
}
