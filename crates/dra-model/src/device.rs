//! A device of a slice.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use k8s_quantity::Quantity;

use crate::{
    Attribute, Capacity, CounterName, CounterSetName, DeviceName, DeviceTaint, NodeSelection, QualifiedName,
};

/// A device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Device {
    /// Its name in the pool.
    pub name: DeviceName,
    /// Its properties, which expressions and constraints read.
    pub attributes: BTreeMap<QualifiedName, Attribute>,
    /// What it has of something.
    pub capacity: BTreeMap<QualifiedName, Capacity>,
    /// `consumesCounters`: what it draws from counters of its pool.
    pub consumes: Vec<CounterConsumption>,
    /// On which nodes it is, where the slice leaves that to its devices.
    pub nodes: NodeSelection,
    /// Taints.
    pub taints: Vec<DeviceTaint>,
    /// `bindsToNode`: a claim that gets it is bound to the node for which it was allocated.
    pub binds_to_node: Option<bool>,
    /// `bindingConditions`: what must hold after its allocation before the pod is bound; `None` if the field is absent.
    pub binding_conditions: Option<Vec<String>>,
    /// `bindingFailureConditions`: what ends the wait for them; `None` if the field is absent.
    pub binding_failure_conditions: Option<Vec<String>>,
    /// `allowMultipleAllocations`: whether several requests can share it.
    pub allow_multiple_allocations: Option<bool>,
}

/// An entry of `consumesCounters`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CounterConsumption {
    /// From which set.
    pub set: CounterSetName,
    /// So much of each counter.
    pub counters: BTreeMap<CounterName, Quantity>,
    /// `compatibilityGroups`: devices that draw on the set together must have one in common.
    pub compatibility_groups: Vec<String>,
}

impl Device {
    /// A device without properties.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Whether several requests can share it.
    #[must_use]
    pub fn is_shareable(&self) -> bool {
        self.allow_multiple_allocations == Some(true)
    }

    /// Whether it is ready only some time after its allocation.
    #[must_use]
    pub fn has_binding_conditions(&self) -> bool {
        !self.conditions().is_empty()
    }

    /// What must hold after its allocation before the pod is bound.
    #[must_use]
    pub fn conditions(&self) -> &[String] {
        self.binding_conditions.as_deref().unwrap_or_default()
    }

    /// What ends the wait for that.
    #[must_use]
    pub fn failure_conditions(&self) -> &[String] {
        self.binding_failure_conditions.as_deref().unwrap_or_default()
    }

    /// The attribute that a constraint names in full, `domain/id`: under that name, or under `id` alone if the domain is
    /// the driver of the device.
    #[must_use]
    pub fn attribute(&self, driver: &str, name: &str) -> Option<&Attribute> {
        self.attributes.get(name).or_else(|| {
            let (domain, id) = name.split_once('/')?;
            (domain == driver).then(|| self.attributes.get(id)).flatten()
        })
    }

    /// The ids of attributes that it has both as `id` and as `driver/id`. Kubernetes shows expressions a random one of the
    /// two.
    pub fn doubled_attributes(&self, driver: &str) -> impl Iterator<Item = &QualifiedName> {
        let has_both =
            move |id: &&QualifiedName| self.attributes.contains_key(format!("{driver}/{id}").as_str());
        self.attributes.keys().filter(has_both)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_is_found_by_its_full_name_first_and_by_its_id_only_for_its_own_driver() {
        let mut device = Device::new("a");
        device.attributes.insert("id".into(), 1.into());
        device.attributes.insert("both".into(), 2.into());
        device.attributes.insert("a.example.com/both".into(), 3.into());
        for (driver, name, found) in [
            ("a.example.com", "a.example.com/id", Some(1)),
            ("a.example.com", "a.example.com/both", Some(3)),
            ("a.example.com", "b.example.com/id", None),
            ("b.example.com", "a.example.com/id", None),
            ("b.example.com", "a.example.com/both", Some(3)),
            ("b.example.com", "b.example.com/both", Some(2)),
        ] {
            let expected = found.map(Attribute::from);
            assert_eq!(device.attribute(driver, name), expected.as_ref(), "{driver} {name}");
        }
        let doubled =
            |driver| device.doubled_attributes(driver).map(QualifiedName::as_str).collect::<Vec<_>>();
        assert_eq!((doubled("a.example.com"), doubled("b.example.com")), (alloc::vec!["both"], Vec::new()));
    }
}
