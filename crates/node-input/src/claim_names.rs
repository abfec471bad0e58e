//! Other texts for what tells which card a device of a slice is: UUIDs, serial numbers and network addresses.
//!
//! The same text becomes the same other one in names of devices and pools, attributes, expressions, results of allocations and
//! taint rules, so that what was equal stays so and what was found is found; only an expression that looks for a part of such a
//! text finds other devices. Other UUIDs have the form of their originals, and sort as these do. UIDs of objects stay: pods are
//! known by theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use dra_model::{AttributeValue, DeviceName, PoolName, ResourceClaimSpec, ResourceSlice};
use pod_claims::ClusterObjects;

use crate::device_names::serial_numbers;

/// Parts of names of attributes whose whole value is a serial number.
const SERIAL: [&str; 4] = ["serial", "guid", "wwn", "wwid"];

/// What becomes of such texts.
#[derive(Debug, Default)]
pub(crate) struct ClaimNames {
    /// Parts of texts: UUIDs and addresses of network cards, in small letters.
    parts: BTreeMap<String, String>,
    /// Whole values of attributes.
    values: BTreeMap<String, String>,
}

impl ClaimNames {
    /// For everything that names something in these objects.
    pub(crate) fn of(objects: &ClusterObjects) -> Self {
        let mut parts = BTreeSet::new();
        let mut values = BTreeSet::new();
        let mut seen = objects.clone();
        let mut see = |text: &str| {
            parts.extend(serial_numbers(text).map(|at| text[at].to_ascii_lowercase()));
            text.to_owned()
        };
        each_text(&mut seen, &mut see);
        for (name, value) in objects.slices.iter().flat_map(ResourceSlice::devices).flat_map(|device| {
            let attributes = device.attributes.iter();
            attributes.flat_map(|(name, attribute)| attribute.values.iter().map(move |value| (name, value)))
        }) {
            let id = name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
            let is_serial = SERIAL.iter().any(|part| id.contains(part));
            let texts = match value {
                AttributeValue::String(text) => std::slice::from_ref(text),
                AttributeValue::Strings(texts) => texts,
                _ => continue,
            };
            let is_telling = |text: &&String| is_serial || address(text).is_some();
            values.extend(texts.iter().filter(is_telling).filter(|text| !text.is_empty()).cloned());
        }
        // Each form is numbered separately, so that a node file that is packed again stays the same.
        let mut count = BTreeMap::new();
        let mut next = |form: usize| {
            let number: &mut usize = count.entry(form).or_default();
            *number += 1;
            *number - 1
        };
        let mut parts_of = BTreeMap::new();
        for part in parts {
            let other = numbered(&part, next(part.len() + part.matches(':').count()));
            parts_of.insert(part, other);
        }
        let mut values_of = BTreeMap::new();
        for value in values {
            let other = match address(&value) {
                Some((IpAddr::V4(_), rest)) => {
                    let number = next(4);
                    format!("198.18.{}.{}{rest}", number / 256 % 256, number % 256)
                }
                Some((IpAddr::V6(_), rest)) => format!("2001:db8::{:x}{rest}", next(6)),
                None => format!("serial-{:05}", next(0)),
            };
            values_of.insert(value, other);
        }
        Self { parts: parts_of, values: values_of }
    }

    /// The objects with the other texts.
    pub(crate) fn rename(&self, objects: &mut ClusterObjects) {
        if !self.parts.is_empty() || !self.values.is_empty() {
            each_text(objects, &mut |text| self.text(text));
        }
    }

    fn text(&self, text: &str) -> String {
        if let Some(other) = self.values.get(text) {
            return other.clone();
        }
        let mut renamed = String::with_capacity(text.len());
        let mut rest = 0;
        for at in serial_numbers(text) {
            renamed.push_str(&text[rest..at.start]);
            let part = &text[at.clone()];
            renamed.push_str(self.parts.get(&part.to_ascii_lowercase()).map_or(part, String::as_str));
            rest = at.end;
        }
        renamed.push_str(&text[rest..]);
        // Expressions compare with values in quotes.
        for quote in ['"', '\''] {
            if renamed.contains(quote) {
                for (value, other) in &self.values {
                    renamed =
                        renamed.replace(&format!("{quote}{value}{quote}"), &format!("{quote}{other}{quote}"));
                }
            }
        }
        renamed
    }
}

/// An IP address and what follows it: nothing, or the length of a prefix.
fn address(text: &str) -> Option<(IpAddr, &str)> {
    let (address, rest) = text.split_at(text.find('/').unwrap_or(text.len()));
    Some((address.parse().ok()?, rest))
}

/// A text of the same form with zeros in place of digits, and the number at its end.
fn numbered(part: &str, number: usize) -> String {
    let mut number = number;
    let mut letters: Vec<char> = part.chars().collect();
    for letter in letters.iter_mut().rev().filter(|letter| letter.is_ascii_hexdigit()) {
        *letter = char::from_digit(u32::try_from(number % 16).unwrap_or_default(), 16).unwrap_or('0');
        number /= 16;
    }
    letters.into_iter().collect()
}

/// Replaces every text that names a device or a property of one, or looks for one.
fn each_text(objects: &mut ClusterObjects, change: &mut impl FnMut(&str) -> String) {
    let ClusterObjects { slices, classes, claims, templates, taint_rules } = objects;
    for slice in slices {
        slice.pool.name = PoolName::from(change(&slice.pool.name));
        for device in slice.devices.iter_mut().flatten() {
            device.name = DeviceName::from(change(&device.name));
            for value in device.attributes.values_mut().flat_map(|attribute| &mut attribute.values) {
                match value {
                    AttributeValue::String(text) => *text = change(text),
                    AttributeValue::Strings(texts) => {
                        for text in texts {
                            *text = change(text);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    for expression in classes.iter_mut().flat_map(|class| &mut class.selectors) {
        if let Some(text) = &mut expression.expression {
            *text = change(text);
        }
    }
    for claim in claims {
        each_expression(&mut claim.spec, change);
        for result in claim.status.allocation.iter_mut().flat_map(|allocation| &mut allocation.results) {
            result.device.pool = PoolName::from(change(&result.device.pool));
            result.device.device = DeviceName::from(change(&result.device.device));
        }
    }
    for template in templates {
        each_expression(&mut template.spec, change);
    }
    for selector in taint_rules.iter_mut().filter_map(|rule| rule.selector.as_mut()) {
        if let Some(pool) = &mut selector.pool {
            *pool = PoolName::from(change(pool));
        }
        if let Some(device) = &mut selector.device {
            *device = DeviceName::from(change(device));
        }
    }
}

fn each_expression(spec: &mut ResourceClaimSpec, change: &mut impl FnMut(&str) -> String) {
    let devices = spec
        .requests
        .iter_mut()
        .flat_map(|request| request.exactly.iter_mut().chain(&mut request.first_available));
    for devices in devices {
        for selector in &mut devices.selectors {
            if let Some(text) = &mut selector.expression {
                *text = change(text);
            }
        }
        for derived in &mut devices.derived_attributes {
            derived.expression = change(&derived.expression);
        }
    }
}

#[cfg(test)]
mod tests {
    use dra_model::{Device, DeviceId, DeviceResult, ResourceClaim, Selector};

    use super::*;

    const FIRST: &str = "GPU-1f6c1c1a-0a1b-4c2d-9e8f-001122334455";
    const SECOND: &str = "GPU-8f6c1c1a-0a1b-4c2d-9e8f-001122334455";

    fn objects() -> ClusterObjects {
        let device = |uuid: &str, mac: &str, ip: &str| {
            let mut device = Device::new(&uuid.to_ascii_lowercase());
            device.attributes.insert("uuid".into(), uuid.into());
            device.attributes.insert("mac".into(), mac.into());
            device.attributes.insert("ipv4".into(), ip.into());
            device.attributes.insert("serialNumber".into(), format!("S{ip}").as_str().into());
            device.attributes.insert("pciBusID".into(), "0000:18:00.0".into());
            device
        };
        let devices = vec![
            device(SECOND, "3c:ec:ef:12:34:56", "10.1.2.3/24"),
            device(FIRST, "3c:ec:ef:12:34:57", "10.1.2.4/24"),
        ];
        let mut slice =
            ResourceSlice { driver: "d".into(), devices: Some(devices), ..ResourceSlice::default() };
        slice.pool.name = "worker-1".into();
        slice.nodes.node_name = Some("worker-1".to_owned());
        let mut claim = ResourceClaim::default();
        let device = DeviceId {
            driver: "d".into(),
            pool: "worker-1".into(),
            device: SECOND.to_ascii_lowercase().into(),
        };
        claim.status.allocation = Some(dra_model::AllocationResult {
            results: vec![DeviceResult { device, ..DeviceResult::default() }],
            ..dra_model::AllocationResult::default()
        });
        let expression = format!(
            "device.attributes['d'].uuid == '{SECOND}' && device.attributes['d'].serialNumber == \"S10.1.2.3/24\""
        );
        claim.spec.requests.push(dra_model::DeviceRequest {
            exactly: Some(dra_model::RequestedDevices {
                selectors: vec![Selector::cel(&expression)],
                ..dra_model::RequestedDevices::default()
            }),
            ..dra_model::DeviceRequest::default()
        });
        ClusterObjects { slices: vec![slice], claims: vec![claim], ..ClusterObjects::default() }
    }

    #[test]
    fn what_was_equal_stays_equal_and_nothing_tells_which_card_it_is() {
        let before = objects();
        let mut after = before.clone();
        ClaimNames::of(&before).rename(&mut after);
        let text = format!("{after:?}");
        for secret in ["1c1a", "3c:ec", "10.1.2", "ef:12"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        let devices = after.slices[0].devices();
        let uuid = "GPU-00000000-0000-0000-0000-000000000001";
        assert_eq!(devices[0].attribute("d", "uuid"), Some(&uuid.into()));
        assert_eq!(devices[0].name, uuid.to_ascii_lowercase().as_str());
        assert!(devices[0].name > devices[1].name);
        assert_eq!(devices[0].attribute("d", "pciBusID"), Some(&"0000:18:00.0".into()));
        let Some(AttributeValue::String(serial)) =
            devices[0].attribute("d", "serialNumber").and_then(dra_model::Attribute::value)
        else {
            panic!("{text}");
        };
        let claim = &after.claims[0];
        let result = &claim.status.allocation.as_ref().unwrap().results[0];
        assert_eq!(result.device.device, devices[0].name);
        let expression = claim.spec.requests[0].exactly.as_ref().unwrap().selectors[0].expression.clone();
        let expected = format!(
            "device.attributes['d'].uuid == '{uuid}' && device.attributes['d'].serialNumber == \"{serial}\""
        );
        assert_eq!(expression, Some(expected));
        assert_eq!(after.slices[0].nodes, before.slices[0].nodes);
        let mut again = after.clone();
        ClaimNames::of(&after).rename(&mut again);
        assert_eq!(again, after, "a node file that is packed again is the same");
    }
}
