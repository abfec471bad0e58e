//! Node files: everything that a decision was made from, in one archive.
//!
//! A node file is a captured machine (`sys`, `proc`) with a folder `node` beside it: the kubelet's state files, the
//! fields of its configuration that decide, names and UIDs of the pods, and the devices. What a plugin answered
//! (environment, mounts) is left out of the state, and devices that are named by a UUID or an address of a network
//! card get other names in the same order.

mod packed;
mod device_names;
mod gather;
mod this_node;

use device_manager::Device;
use pod_spec::ResourceName;

pub(crate) use gather::{CONFIGS, Elsewhere, Gathered, Given};
pub(crate) use packed::{Contents, Gap, Packed, Packing, Source};

/// The devices of each resource.
type Devices = Vec<(ResourceName, Vec<Device>)>;
