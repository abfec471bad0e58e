//! What the file has of a claim.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use pod_spec::PodUid;

/// A claim that is prepared, or is being prepared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreparedClaim {
    /// The UID of the `ResourceClaim`.
    pub uid: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The pods that use it on the node.
    pub pods: BTreeSet<PodUid>,
    /// By driver of its allocation; one without devices has not answered yet, or gives none.
    pub drivers: BTreeMap<String, Vec<PreparedDevice>>,
}

/// A device of a claim, as its driver describes it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PreparedDevice {
    /// Its pool.
    pub pool: String,
    /// Its name there.
    pub device: String,
    /// The id of the claim's share, where several claims share the device.
    pub share: Option<String>,
    /// The requests that it serves; none: all of the claim.
    pub requests: Vec<String>,
}
