//! What an expression sees of a device.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use k8s_quantity::Quantity;
use thiserror::Error;

use crate::value::{Key, Map, Value, Version};

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
    faults: BTreeMap<String, DeviceFault>,
    capacity: BTreeMap<String, Quantity>,
    multiple_allocations: bool,
    /// What the variable `device` is.
    pub(crate) value: Value,
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
        Self::of(driver, [], [])
    }

    /// A device of `driver` with attributes and capacities by name. A name is `id`, which belongs to the driver's domain, or
    /// `domain/id`.
    #[must_use]
    pub fn of<'n>(
        driver: &str,
        attributes: impl IntoIterator<Item = (&'n str, Attribute)>,
        capacity: impl IntoIterator<Item = (&'n str, Quantity)>,
    ) -> Self {
        let mut device = Self {
            driver: driver.to_owned(),
            attributes: attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            faults: BTreeMap::new(),
            capacity: capacity.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            multiple_allocations: false,
            value: Value::Null,
        };
        device.prepare();
        device
    }

    /// With an attribute. `name` is `id`, which belongs to the driver's domain, or `domain/id`.
    #[must_use]
    pub fn with_attribute(mut self, name: &str, value: Attribute) -> Self {
        self.attributes.insert(name.to_owned(), value);
        self.prepare();
        self
    }

    /// With a capacity. `name` is as for attributes.
    #[must_use]
    pub fn with_capacity(mut self, name: &str, value: Quantity) -> Self {
        self.capacity.insert(name.to_owned(), value);
        self.prepare();
        self
    }

    /// With `allowMultipleAllocations: true`.
    #[must_use]
    pub fn allowing_multiple_allocations(mut self) -> Self {
        self.multiple_allocations = true;
        self.prepare();
        self
    }

    /// Why every expression fails on it, if it does. Of several faults it is that of the first attribute by name;
    /// Kubernetes reports a random one.
    #[must_use]
    pub fn fault(&self) -> Option<&DeviceFault> {
        self.faults.values().next()
    }

    /// Names (`id` without its domain) that it has both as `id` and as `driver/id`. Kubernetes shows expressions a random
    /// one of the two, this crate that of `driver/id`.
    pub fn doubled(&self) -> impl Iterator<Item = &str> {
        let qualified = |id: &str| alloc::format!("{}/{id}", self.driver);
        let has_both = move |id: &&String| self.attributes.contains_key(&qualified(id));
        self.attributes.keys().filter(has_both).map(String::as_str)
    }

    fn prepare(&mut self) {
        self.faults.clear();
        let mut attributes = Domains::default();
        for (name, attribute) in &self.attributes {
            match value_of(name, attribute) {
                Ok(value) => attributes.insert(&self.driver, name, value),
                Err(fault) => {
                    self.faults.insert(name.clone(), fault);
                }
            }
        }
        let mut capacity = Domains::default();
        for (name, quantity) in &self.capacity {
            capacity.insert(&self.driver, name, Value::Quantity(Arc::new(quantity.clone())));
        }
        let mut device = Map::default();
        let mut set = |name: &str, value| device.insert(Key::String(name.into()), value);
        set("driver", Value::text(&self.driver));
        set("allowMultipleAllocations", Value::Bool(self.multiple_allocations));
        set("attributes", attributes.value());
        set("capacity", capacity.value());
        self.value = Value::Map(Arc::new(device));
    }
}

/// Values by domain and id.
#[derive(Default)]
struct Domains(BTreeMap<String, Map>);

impl Domains {
    /// Names are inserted in their order. A name with its domain stays where one without it has the same id.
    fn insert(&mut self, driver: &str, name: &str, value: Value) {
        let (domain, id) = name.split_once('/').unwrap_or((driver, name));
        let domain = self.0.entry(domain.to_owned()).or_default();
        let key = Key::String(id.into());
        if name.contains('/') || domain.entry(&key).is_none() {
            domain.insert(key, value);
        }
    }

    /// A map of maps, in which an unknown domain is an empty map.
    fn value(self) -> Value {
        let mut map = Map::default().with_default(Value::Map(Arc::new(Map::default())));
        for (domain, values) in self.0 {
            map.insert(Key::String(domain.into()), Value::Map(Arc::new(values)));
        }
        Value::Map(Arc::new(map))
    }
}

fn value_of(name: &str, attribute: &Attribute) -> Result<Value, DeviceFault> {
    let version = |text: &String| {
        let read = Version::parse(text);
        let read = read.map_err(|reason| DeviceFault::Version { attribute: name.to_owned(), reason })?;
        Ok(Value::Version(Arc::new(read)))
    };
    Ok(match attribute {
        Attribute::Int(value) => Value::Int(*value),
        Attribute::Bool(value) => Value::Bool(*value),
        Attribute::String(value) => Value::text(value),
        Attribute::Version(value) => version(value)?,
        Attribute::Ints(values) => Value::List(values.iter().copied().map(Value::Int).collect()),
        Attribute::Bools(values) => Value::List(values.iter().copied().map(Value::Bool).collect()),
        Attribute::Strings(values) => Value::List(values.iter().map(|value| Value::text(value)).collect()),
        Attribute::Versions(values) => {
            Value::List(values.iter().map(version).collect::<Result<Vec<_>, _>>()?.into())
        }
        Attribute::Missing => return Err(DeviceFault::Missing(name.to_owned())),
    })
}
