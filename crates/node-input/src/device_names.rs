//! Names of devices that do not identify the card.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pod_spec::ResourceName;

/// Other names by resource, for those resources of which some device is named by its serial number.
#[derive(Debug, Default)]
pub(crate) struct DeviceNames(BTreeMap<ResourceName, BTreeMap<String, String>>);

impl DeviceNames {
    /// `ids` is everything that a device of a resource is called anywhere. Other names sort as their originals do,
    /// since the kubelet goes by the order of names.
    pub(crate) fn new(ids: &BTreeMap<ResourceName, BTreeSet<String>>) -> Self {
        let identifying = ids.iter().filter(|(_, ids)| ids.iter().any(|id| identifies(id)));
        let renamed = identifying.map(|(resource, ids)| {
            let short = resource.as_str().rsplit('/').next().unwrap_or_default();
            let width = ids.len().to_string().len();
            let names = ids.iter().enumerate().map(|(at, id)| (id.clone(), format!("{short}-{at:0width$}")));
            (resource.clone(), names.collect())
        });
        Self(renamed.collect())
    }

    pub(crate) fn name(&self, resource: &ResourceName, id: &str) -> String {
        let renamed = self.0.get(resource).and_then(|names| names.get(id));
        renamed.map_or_else(|| id.to_owned(), Clone::clone)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether a name has a UUID or the address of a network card in it.
fn identifies(id: &str) -> bool {
    serial_numbers(id).next().is_some()
}

/// Where a text has UUIDs and addresses of network cards: groups of digits between separators, wherever they begin.
pub(crate) fn serial_numbers(text: &str) -> impl Iterator<Item = Range<usize>> {
    const FORMS: [(&[usize], u8); 3] =
        [(&[8, 4, 4, 4, 12], b'-'), (&[2, 2, 2, 2, 2, 2], b':'), (&[2, 2, 2, 2, 2, 2], b'-')];
    let mut from = 0;
    std::iter::from_fn(move || {
        while from < text.len() {
            let rest = text.as_bytes().get(from..).unwrap_or_default();
            let length = FORMS.iter().find_map(|(groups, separator)| has_form(rest, groups, *separator));
            let start = from;
            from += length.unwrap_or(1);
            if length.is_some() {
                return Some(start..from);
            }
        }
        None
    })
}

/// How long the groups of hexadecimal digits are that a text begins with.
fn has_form(text: &[u8], groups: &[usize], separator: u8) -> Option<usize> {
    let length = groups.iter().sum::<usize>() + groups.len() - 1;
    let mut parts = text.get(..length)?.split(|byte| *byte == separator);
    let are_digits = groups.iter().all(|digits| {
        parts.next().is_some_and(|part| part.len() == *digits && part.iter().all(u8::is_ascii_hexdigit))
    });
    are_digits.then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_numbers_are_told_from_places() {
        for (id, expected) in [
            ("GPU-8f6c1c1a-0a1b-4c2d-9e8f-001122334455", true),
            ("MIG-GPU-8F6C1C1A-0A1B-4C2D-9E8F-001122334455/1/0", true),
            ("3c:ec:ef:12:34:56", true),
            ("eth-3c-ec-ef-12-34-56", true),
            ("0000:18:01.0", false),
            ("0000:18:01.0-0000:3b:00.1", false),
            ("card-0", false),
            ("", false),
        ] {
            assert_eq!(identifies(id), expected, "{id}");
        }
    }

    #[test]
    fn other_names_keep_the_order() {
        let gpus = (0..12).rev().map(|at| format!("GPU-8f6c1c1a-0a1b-4c2d-9e8f-0011223344{at:02}"));
        let all: BTreeMap<ResourceName, BTreeSet<String>> = [
            ("nvidia.com/gpu".into(), gpus.collect()),
            ("intel.com/vf".into(), ["0000:18:01.0".to_owned()].into()),
        ]
        .into();
        let names = DeviceNames::new(&all);
        let renamed: Vec<String> = all[&ResourceName::new("nvidia.com/gpu")]
            .iter()
            .map(|id| names.name(&"nvidia.com/gpu".into(), id))
            .collect();
        assert_eq!(renamed.first().unwrap(), "gpu-00");
        assert!(renamed.is_sorted());
        assert_eq!(names.name(&"intel.com/vf".into(), "0000:18:01.0"), "0000:18:01.0");
    }
}
