//! Devices that no expression of the question can tell apart: one of them is asked for all.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use dra_cel::Reads;
use dra_model::{Attribute, AttributeValue};

use super::placed::Placed;

/// What expressions read, and the kinds of devices that differ in it.
#[derive(Default)]
pub(crate) struct Kinds<'a> {
    reads: Fields,
    first_of: Vec<Cell<Option<usize>>>,
    first: RefCell<BTreeMap<Kind<'a>, usize>>,
}

/// What all expressions together read of a device.
#[derive(Default)]
enum Fields {
    #[default]
    Nothing,
    /// Full names.
    These {
        attributes: BTreeSet<String>,
        capacity: BTreeSet<String>,
    },
    Everything,
}

/// What expressions see of a device.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Kind<'a> {
    driver: &'a str,
    is_shareable: bool,
    attributes: Vec<Option<&'a [AttributeValue]>>,
    /// As they are written.
    capacity: Vec<Option<String>>,
    /// Attributes that can fail every expression, whatever it reads.
    faulty: Vec<(&'a str, &'a [AttributeValue])>,
}

impl<'a> Kinds<'a> {
    /// Adds what an expression reads. Devices that were alike so far may differ in that.
    pub(crate) fn add(&mut self, reads: &Reads) {
        self.first.get_mut().clear();
        self.first_of.iter_mut().for_each(|first| first.set(None));
        let Reads::Fields { attributes, capacity, .. } = reads else {
            self.reads = Fields::Everything;
            return;
        };
        if matches!(self.reads, Fields::Nothing) {
            self.reads = Fields::These { attributes: BTreeSet::new(), capacity: BTreeSet::new() };
        }
        if let Fields::These { attributes: known_attributes, capacity: known_capacity } = &mut self.reads {
            let full = |(domain, id): &(String, String)| format!("{domain}/{id}");
            known_attributes.extend(attributes.iter().map(full));
            known_capacity.extend(capacity.iter().map(full));
        }
    }

    pub(crate) fn set_devices(&mut self, devices: usize) {
        self.first_of = vec![Cell::new(None); devices];
    }

    /// The first device that was asked for of those that expressions cannot tell from this one.
    pub(crate) fn first(&self, device: usize, placed: Placed<'a>) -> usize {
        if let Some(first) = self.first_of[device].get() {
            return first;
        }
        let first = match self.kind(placed) {
            Some(kind) => *self.first.borrow_mut().entry(kind).or_insert(device),
            None => device,
        };
        self.first_of[device].set(Some(first));
        first
    }

    fn kind(&self, placed: Placed<'a>) -> Option<Kind<'a>> {
        let Fields::These { attributes, capacity } = &self.reads else { return None };
        let Placed { slice, device } = placed;
        let driver = &*slice.driver;
        let values = |attribute: &'a Attribute| attribute.values.as_slice();
        let attributes = attributes.iter().map(|name| device.attribute(driver, name).map(values));
        let capacity = capacity.iter().map(|name| {
            let own = device.capacity.get(name.as_str()).or_else(|| {
                let id = name.strip_prefix(driver)?.strip_prefix('/')?;
                device.capacity.get(id)
            });
            own.map(|capacity| capacity.value.to_string())
        });
        let can_fail = |attribute: &Attribute| {
            matches!(attribute.value(), None | Some(AttributeValue::Version(_) | AttributeValue::Versions(_)))
        };
        let faulty = device.attributes.iter().filter(|(_, attribute)| can_fail(attribute));
        Some(Kind {
            driver,
            is_shareable: device.is_shareable(),
            attributes: attributes.collect(),
            capacity: capacity.collect(),
            faulty: faulty.map(|(name, attribute)| (name.as_str(), values(attribute))).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use dra_cel::{Environment, Program};
    use dra_model::{Device, ResourceSlice};

    use super::*;

    #[test]
    fn devices_are_of_one_kind_until_an_expression_reads_what_differs() {
        let slice = ResourceSlice { driver: "a.example.com".into(), ..ResourceSlice::default() };
        let device = |index: i64, model: &str| {
            let mut device = Device::new("a");
            device.attributes.insert("index".into(), index.into());
            device.attributes.insert("model".into(), model.into());
            device
        };
        let devices = [device(0, "x"), device(1, "x"), device(2, "y")];
        let mut kinds = Kinds::default();
        kinds.set_devices(devices.len());
        for (expression, expected) in [
            ("device.driver == 'a.example.com'", [0, 0, 0]),
            ("device.attributes['a.example.com'].model == 'x'", [0, 0, 2]),
            ("has(device.attributes['a.example.com'].index)", [0, 1, 2]),
        ] {
            let program = Program::compile(expression, &Environment::stored()).expect("it compiles");
            kinds.add(program.reads());
            let places = devices.iter().map(|device| Placed { slice: &slice, device });
            let first: Vec<usize> = places.enumerate().map(|(at, placed)| kinds.first(at, placed)).collect();
            assert_eq!(first, expected, "{expression}");
        }
    }
}
