//! The devices of a cluster, and their attributes and capacities.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use dra_cel::DeviceVariable;
use dra_model::{Device, DeviceId, ResourceSlice};
use pod_claims::ClusterObjects;

/// The devices of the newest generation of each pool.
pub(crate) struct Devices<'a> {
    listed: Vec<Listed<'a>>,
    /// The attributes of all devices, as `domain/id`.
    pub(crate) attributes: BTreeSet<String>,
    /// The capacities of all devices, as `domain/id`.
    pub(crate) capacity: BTreeSet<String>,
}

/// One device.
pub(crate) struct Listed<'a> {
    pub(crate) slice: &'a ResourceSlice,
    pub(crate) device: &'a Device,
    pub(crate) variable: DeviceVariable,
}

impl Listed<'_> {
    pub(crate) fn id(&self) -> DeviceId {
        let (driver, pool) = (self.slice.driver.clone(), self.slice.pool.name.clone());
        DeviceId { driver, pool, device: self.device.name.clone() }
    }
}

impl<'a> Devices<'a> {
    pub(crate) fn of(objects: &'a ClusterObjects) -> Self {
        let mut listed = Vec::new();
        let (mut attributes, mut capacity) = (BTreeSet::new(), BTreeSet::new());
        for slice in objects.slices.iter().filter(|slice| is_newest(objects, slice)) {
            let full = |name: &str| match name.split_once('/') {
                Some(_) => name.to_string(),
                None => format!("{}/{name}", slice.driver),
            };
            for device in slice.devices() {
                attributes.extend(device.attributes.keys().map(|name| full(name)));
                capacity.extend(device.capacity.keys().map(|name| full(name)));
                listed.push(Listed { slice, device, variable: DeviceVariable::of(&slice.driver, device) });
            }
        }
        Self { listed, attributes, capacity }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Listed<'a>> {
        self.listed.iter()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = DeviceId> + '_ {
        self.listed.iter().map(Listed::id)
    }

    /// Whether a slice lists the device; true if no slices are given.
    pub(crate) fn has(&self, id: &DeviceId) -> bool {
        self.is_empty() || self.ids().any(|own| own == *id)
    }
}

/// Whether no slice of the same pool has a higher generation.
pub(crate) fn is_newest(objects: &ClusterObjects, slice: &ResourceSlice) -> bool {
    !objects
        .slices
        .iter()
        .any(|other| is_of_pool(slice, other) && other.pool.generation > slice.pool.generation)
}

pub(crate) fn is_of_pool(one: &ResourceSlice, other: &ResourceSlice) -> bool {
    one.driver == other.driver && one.pool.name == other.pool.name
}
