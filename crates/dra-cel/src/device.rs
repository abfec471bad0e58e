//! What an expression sees of a device.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use dra_model::{Attribute, AttributeValue, Device};
use thiserror::Error;

use crate::value::{Key, Map, Value, Version};

/// What the variable `device` is for one device. Build it once and evaluate many programs on it.
#[derive(Clone, Debug)]
pub struct DeviceVariable {
    pub(crate) value: Result<Value, DeviceFault>,
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

impl DeviceVariable {
    /// A device of a driver. Where it has an attribute by two names ([`Device::doubled_attributes`]), Kubernetes shows
    /// expressions a random one of the two, and this is that of `driver/id`.
    #[must_use]
    pub fn of(driver: &str, device: &Device) -> Self {
        Self::seen(driver, device, device.is_shareable())
    }

    /// A device for which `device.allowMultipleAllocations` is false in any case, as kube-scheduler's allocator `stable`
    /// shows it.
    #[must_use]
    pub fn unshareable(driver: &str, device: &Device) -> Self {
        Self::seen(driver, device, false)
    }

    /// Why every expression fails on it, if it does. Of several faults it is that of the first attribute by name;
    /// Kubernetes reports a random one.
    #[must_use]
    pub fn fault(&self) -> Option<&DeviceFault> {
        self.value.as_ref().err()
    }

    fn seen(driver: &str, device: &Device, multiple_allocations: bool) -> Self {
        let attributes = device.attributes.iter();
        let attributes = attributes.map(|(name, attribute)| Ok((&**name, value_of(name, attribute)?)));
        let value = attributes.collect::<Result<Vec<_>, _>>().map(|attributes| {
            let capacity = device.capacity.iter();
            let capacity =
                capacity.map(|(name, capacity)| (&**name, Value::Quantity(Arc::new(capacity.value.clone()))));
            let mut variable = Map::default();
            let mut set = |name: &str, value| variable.insert(Key::String(name.into()), value);
            set("driver", Value::text(driver));
            set("allowMultipleAllocations", Value::Bool(multiple_allocations));
            set("attributes", Domains::of(driver, attributes).value());
            set("capacity", Domains::of(driver, capacity).value());
            Value::Map(Arc::new(variable))
        });
        Self { value }
    }
}

/// Values by domain and id.
#[derive(Default)]
struct Domains(BTreeMap<String, Map>);

impl Domains {
    fn of<'n>(driver: &str, values: impl IntoIterator<Item = (&'n str, Value)>) -> Self {
        let mut domains = Self::default();
        values.into_iter().for_each(|(name, value)| domains.insert(driver, name, value));
        domains
    }

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
    let Some(value) = attribute.value() else { return Err(DeviceFault::Missing(name.to_owned())) };
    Ok(match value {
        AttributeValue::Int(value) => Value::Int(*value),
        AttributeValue::Bool(value) => Value::Bool(*value),
        AttributeValue::String(value) => Value::text(value),
        AttributeValue::Version(value) => version(value)?,
        AttributeValue::Ints(values) => Value::List(values.iter().copied().map(Value::Int).collect()),
        AttributeValue::Bools(values) => Value::List(values.iter().copied().map(Value::Bool).collect()),
        AttributeValue::Strings(values) => {
            Value::List(values.iter().map(|value| Value::text(value)).collect())
        }
        AttributeValue::Versions(values) => {
            Value::List(values.iter().map(version).collect::<Result<Vec<_>, _>>()?.into())
        }
    })
}
