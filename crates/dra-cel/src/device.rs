//! What an expression sees of a device.

use alloc::borrow::ToOwned as _;
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
            // By name.
            let fields = [
                ("allowMultipleAllocations", Value::Bool(multiple_allocations)),
                ("attributes", by_domain(driver, attributes)),
                ("capacity", by_domain(driver, capacity.collect())),
                ("driver", Value::text(driver)),
            ];
            let fields = fields.map(|(name, value)| (Key::String(name.into()), value));
            Value::Map(Arc::new(Map::of_sorted(fields.into())))
        });
        Self { value }
    }
}

/// A map by domain of maps by id, in which an unknown domain is an empty map. Where a name with its domain has the same id as
/// one without, it counts.
fn by_domain(driver: &str, values: Vec<(&str, Value)>) -> Value {
    let named = values.into_iter().map(|(name, value)| match name.split_once('/') {
        Some((domain, id)) => ((domain, id), Written::InFull, value),
        None => ((driver, name), Written::ByIdAlone, value),
    });
    let mut named: Vec<_> = named.collect();
    named.sort_by_key(|(name, written, _)| (*name, *written));
    named.dedup_by_key(|(name, ..)| *name);
    let mut domains: Vec<(Key, Value)> = Vec::new();
    let mut rest = named.into_iter().peekable();
    while let Some(((domain, id), _, value)) = rest.next() {
        let mut ids = Vec::from([(Key::String(id.into()), value)]);
        while let Some(((_, id), _, value)) = rest.next_if(|((other, _), ..)| *other == domain) {
            ids.push((Key::String(id.into()), value));
        }
        domains.push((Key::String(domain.into()), Value::Map(Arc::new(Map::of_sorted(ids)))));
    }
    Value::Map(Arc::new(Map::of_sorted(domains).with_default(Value::Map(Arc::default()))))
}

/// How the name of an attribute is written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Written {
    InFull,
    ByIdAlone,
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
