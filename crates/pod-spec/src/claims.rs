//! Claims of devices (Dynamic Resource Allocation). A scheduler allocates them and a driver prepares them, so that nothing
//! about them is decided with a pod's other resources.

use alloc::string::String;
use alloc::vec::Vec;

use crate::ContainerName;

/// A claim of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodClaim {
    /// What the pod calls it.
    pub name: String,
    /// The object that it is, or is made of; `None`: the manifest names none.
    pub object: Option<ClaimObject>,
    /// The `ResourceClaim` that it is, where it was made of a template: by `status.resourceClaimStatuses` of the pod.
    pub made: Option<String>,
    /// The containers that use it.
    pub containers: Vec<ContainerName>,
    /// Of containers that use some of its requests alone, each with the request; the other containers use all.
    pub requests: Vec<(ContainerName, String)>,
    /// The device classes that the object asks for; empty where the object is not known.
    pub classes: Vec<String>,
}

impl PodClaim {
    /// Whether a container has the devices of a request, or `request/alternative`, of the claim.
    #[must_use]
    pub fn serves(&self, container: &ContainerName, request: &str) -> bool {
        let request = request.split_once('/').map_or(request, |(request, _)| request);
        let mut some = self.requests.iter().filter(|(user, _)| user == container).peekable();
        self.containers.contains(container)
            && (some.peek().is_none() || some.any(|(_, served)| served == request))
    }
}

/// An object that claims devices, in the namespace of its pods.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ClaimObject {
    /// A `ResourceClaim` of this name, which several pods may share.
    Claim(String),
    /// A `ResourceClaimTemplate` of this name, of which each pod has a claim made.
    Template(String),
}

/// On which NUMA nodes of its node the devices of a pod's claims are. Filled in where CPUs and memory follow them; elsewhere, and
/// as long as nothing is known, it is empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct ClaimPlaces {
    /// The devices whose NUMA node is known.
    pub known: Vec<PlacedDevice>,
    /// What is not known: of devices, or of claims as a whole.
    pub unknown: Vec<UnknownPlace>,
}

/// A device of a claim on a NUMA node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PlacedDevice {
    /// What the pod calls the claim.
    pub claim: String,
    /// The containers that have the device.
    pub containers: Vec<ContainerName>,
    /// The id of the NUMA node with CPUs that the device belongs to.
    pub node: i64,
}

/// Devices of a claim whose NUMA node is not known.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct UnknownPlace {
    /// What the pod calls the claim.
    pub claim: String,
    /// Why, as a sentence without a full stop.
    pub why: String,
}
