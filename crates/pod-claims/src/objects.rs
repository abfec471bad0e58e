//! The objects of a cluster that decide on claims.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::string::String;
use alloc::vec::Vec;

use dra_model::{
    DeviceClass, DeviceId, DeviceTaintRule, Metadata, ResourceClaim, ResourceClaimTemplate, ResourceSlice,
};

/// The objects of a cluster that decide on claims.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClusterObjects {
    /// All slices, in any order: kube-scheduler has them in the order of a Go map.
    pub slices: Vec<ResourceSlice>,
    /// All classes.
    pub classes: Vec<DeviceClass>,
    /// All claims; those with an allocation hold devices. One without a namespace is in `default`.
    pub claims: Vec<ResourceClaim>,
    /// All templates of claims. One without a namespace is in `default`.
    pub templates: Vec<ResourceClaimTemplate>,
    /// All rules for taints.
    pub taint_rules: Vec<DeviceTaintRule>,
}

impl ClusterObjects {
    /// Appends the objects of another source. An object with the same kind, namespace and name is replaced.
    pub fn extend(&mut self, others: Self) {
        let Self { slices, classes, claims, templates, taint_rules } = others;
        merge(&mut self.slices, slices, |slice| &slice.metadata);
        merge(&mut self.classes, classes, |class| &class.metadata);
        merge(&mut self.claims, claims, |claim| &claim.metadata);
        merge(&mut self.templates, templates, |template| &template.metadata);
        merge(&mut self.taint_rules, taint_rules, |rule| &rule.metadata);
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The slices with the taints of `DeviceTaintRule`s added to their devices, as kube-scheduler uses them.
    #[must_use]
    pub(crate) fn tainted_slices(&self) -> Vec<ResourceSlice> {
        let mut slices = self.slices.clone();
        if self.taint_rules.is_empty() {
            return slices;
        }
        for slice in &mut slices {
            for device in slice.devices.iter_mut().flatten() {
                let id = DeviceId {
                    driver: slice.driver.clone(),
                    pool: slice.pool.name.clone(),
                    device: device.name.clone(),
                };
                let added = self.taint_rules.iter().filter(|rule| rule.selects(&id));
                device.taints.extend(added.map(|rule| rule.taint.clone()));
            }
        }
        slices
    }

    pub(crate) fn claim(&self, namespace: &str, name: &str) -> Option<&ResourceClaim> {
        self.claims.iter().find(|claim| is_called(&claim.metadata, namespace, name))
    }

    pub(crate) fn template(&self, namespace: &str, name: &str) -> Option<&ResourceClaimTemplate> {
        self.templates.iter().find(|template| is_called(&template.metadata, namespace, name))
    }

    pub(crate) fn class(&self, name: &str) -> Option<&DeviceClass> {
        self.classes.iter().find(|class| class.metadata.name == name)
    }

    /// Whether a slice of the pool's highest generation lists the device.
    pub(crate) fn lists(&self, id: &DeviceId) -> bool {
        let of_pool =
            || self.slices.iter().filter(|slice| slice.driver == id.driver && slice.pool.name == id.pool);
        let newest = of_pool().map(|slice| slice.pool.generation).max();
        let mut newest = of_pool().filter(|slice| Some(slice.pool.generation) == newest);
        newest.any(|slice| slice.devices().iter().any(|device| device.name == id.device))
    }
}

fn merge<T>(own: &mut Vec<T>, others: Vec<T>, metadata: impl Fn(&T) -> &Metadata) {
    let key = |one: &T| {
        let metadata = metadata(one);
        (String::from(namespace_of(metadata)), metadata.name.clone())
    };
    let mut places: BTreeMap<(String, String), usize> =
        own.iter().enumerate().map(|(at, one)| (key(one), at)).collect();
    for other in others {
        match places.entry(key(&other)) {
            Entry::Occupied(place) => own[*place.get()] = other,
            Entry::Vacant(place) => {
                place.insert(own.len());
                own.push(other);
            }
        }
    }
}

/// The namespace of an object; manifests may omit it, and `kubectl` fills in `default`.
pub(crate) fn namespace_of(metadata: &Metadata) -> &str {
    if metadata.namespace.is_empty() { "default" } else { &metadata.namespace }
}

fn is_called(metadata: &Metadata, namespace: &str, name: &str) -> bool {
    namespace_of(metadata) == namespace && metadata.name == name
}
