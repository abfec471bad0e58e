//! What an expression sees of a device.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use k8s_quantity::Quantity;
use thiserror::Error;

/// The value of a device attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Attribute {
    /// An integer.
    Int(i64),
    /// A bool.
    Bool(bool),
    /// A text.
    String(String),
    /// A semantic version, as text.
    Version(String),
    /// Integers.
    Ints(Vec<i64>),
    /// Bools.
    Bools(Vec<bool>),
    /// Texts.
    Strings(Vec<String>),
    /// Semantic versions, as texts.
    Versions(Vec<String>),
    /// No value, or one of a type that is not known: every expression fails on such a device.
    Missing,
}

/// A device as an expression sees it. Build it once and evaluate many programs on it.
#[derive(Clone, Debug)]
pub struct Device {
    driver: String,
    attributes: BTreeMap<String, Attribute>,
    capacity: BTreeMap<String, Quantity>,
    multiple_allocations: bool,
}

/// Why every expression fails on a device. The texts are Kubernetes'.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DeviceFault {
    /// An attribute has no value.
    #[error("attribute {0}: unsupported attribute value")]
    Missing(String),
    /// A version is not a strict semantic version.
    #[error("attribute {attribute}: parse semantic version: {reason}")]
    Version {
        /// The attribute's name, as it is written.
        attribute: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Device {
    /// A device of `driver` without attributes and capacity.
    #[must_use]
    pub fn new(driver: &str) -> Self {
        Self {
            driver: driver.to_owned(),
            attributes: BTreeMap::new(),
            capacity: BTreeMap::new(),
            multiple_allocations: false,
        }
    }

    /// With an attribute. `name` is `id`, which belongs to the driver's domain, or `domain/id`.
    #[must_use]
    pub fn with_attribute(mut self, name: &str, value: Attribute) -> Self {
        self.attributes.insert(name.to_owned(), value);
        self
    }

    /// With a capacity. `name` is as for attributes.
    #[must_use]
    pub fn with_capacity(mut self, name: &str, value: Quantity) -> Self {
        self.capacity.insert(name.to_owned(), value);
        self
    }

    /// With `allowMultipleAllocations: true`.
    #[must_use]
    pub const fn allowing_multiple_allocations(mut self) -> Self {
        self.multiple_allocations = true;
        self
    }

    /// Why every expression fails on it, if it does. Of several faults it is that of the first attribute by name;
    /// Kubernetes reports a random one.
    #[must_use]
    pub fn fault(&self) -> Option<DeviceFault> {
        self.attributes.iter().find_map(|(name, attribute)| {
            (*attribute == Attribute::Missing).then(|| DeviceFault::Missing(name.clone()))
        })
    }

    /// Names (`id` without its domain) that it has both as `id` and as `driver/id`. Kubernetes shows expressions a random
    /// one of the two, this crate that of `driver/id`.
    pub fn doubled(&self) -> impl Iterator<Item = &str> {
        let qualified = |id: &str| alloc::format!("{}/{id}", self.driver);
        let has_both = move |id: &&String| self.attributes.contains_key(&qualified(id));
        self.attributes.keys().filter(has_both).map(String::as_str)
    }
}
