//! Amounts of bytes that are next to nothing, and probably lack a unit.
//!
//! `memory: 500m` is half a byte to Kubernetes, and `memory: 500` is 500 bytes.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use k8s_quantity::Quantity;

/// An amount of less than 1Mi that is written without a unit, or with a decimal one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SmallAmount {
    /// Such as `memory`.
    pub resource: String,
    /// As it is written.
    pub text: String,
    /// What is probably meant: the same number of mebibytes.
    pub meant: String,
}

/// Resources that are counted in bytes.
fn is_of_bytes(resource: &str) -> bool {
    matches!(resource, "memory" | "ephemeral-storage")
        || resource.starts_with("hugepages-")
        || matches!(
            resource,
            "memory.available" | "nodefs.available" | "imagefs.available" | "containerfs.available"
        )
}

/// Those amounts of a map of reserved resources, or of thresholds of eviction.
pub(crate) fn too_small(amounts: &BTreeMap<String, String>) -> Vec<SmallAmount> {
    amounts.iter().filter_map(|(resource, text)| small(resource, text)).collect()
}

fn small(resource: &str, text: &str) -> Option<SmallAmount> {
    const MEBI: i64 = 1 << 20;
    let amount: Quantity = text.parse().ok()?;
    let is_next_to_nothing = !amount.is_zero() && (1..MEBI).contains(&amount.value());
    if !is_of_bytes(resource) || !is_next_to_nothing {
        return None;
    }
    let number = text.strip_suffix(['m', 'u', 'n', 'k']).unwrap_or(text);
    let is_bare = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_bare.then(|| SmallAmount {
        resource: resource.into(),
        text: text.into(),
        meant: format!("{number}Mi"),
    })
}

impl fmt::Display for SmallAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, text, meant } = self;
        let suffix = text.chars().last().filter(char::is_ascii_alphabetic);
        let part = match (text.as_str(), suffix) {
            ("500m", _) => "half a byte",
            (_, Some('m')) => "thousandths of a byte",
            (_, Some('k')) => "thousands of bytes",
            (_, Some('u')) => "millionths of a byte",
            (_, Some(_)) => "billionths of a byte",
            (_, None) => "bytes",
        };
        write!(f, "{resource} {text} is {part}; {meant}?")
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn amounts_without_a_unit_of_bytes_are_told() {
        for (resource, text, expected) in [
            ("memory", "500m", Some("memory 500m is half a byte; 500Mi?")),
            ("memory", "1500m", Some("memory 1500m is thousandths of a byte; 1500Mi?")),
            ("memory", "512", Some("memory 512 is bytes; 512Mi?")),
            ("memory", "500k", Some("memory 500k is thousands of bytes; 500Mi?")),
            ("ephemeral-storage", "5u", Some("ephemeral-storage 5u is millionths of a byte; 5Mi?")),
            ("hugepages-2Mi", "1.5", Some("hugepages-2Mi 1.5 is bytes; 1.5Mi?")),
            ("memory.available", "100m", Some("memory.available 100m is thousandths of a byte; 100Mi?")),
            ("nodefs.available", "10%", None),
            ("nodefs.inodesFree", "500", None),
            ("memory", "500Mi", None),
            ("memory", "512Ki", None),
            ("memory", "536870912", None),
            ("memory", "0", None),
            ("cpu", "500m", None),
            ("pid", "1000", None),
            ("memory", "lots", None),
        ] {
            let found = small(resource, text).map(|own| own.to_string());
            assert_eq!(found.as_deref(), expected, "{resource} {text}");
        }
    }
}
