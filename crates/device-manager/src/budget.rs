//! How much each plugin may add to what a node keeps, so that the excess of one refuses only what is its own.
//!
//! The state file of devices has a largest size, which the lists and the answers of all plugins share. Each
//! resource has a part that no other can use; what is above comes from a pool. A resource takes at most half of
//! what the others leave of the pool, or what it has already. So a resource of some 300 devices finds room
//! whatever the others list, and however greedy they are, each that comes later finds half of the rest: three
//! that take all they can leave 2 of 16 MiB. What a resource has is never taken away, since pods may hold it.

use alloc::collections::BTreeMap;

use pod_spec::ResourceName;
use thiserror::Error;

use crate::device::{Device, Health};
use crate::device_ids::DeviceIds;

/// Bytes of a resource, whatever the others have.
const OWN: u64 = 12 << 10;
/// Bytes above [`OWN`], of all resources together.
const POOL: u64 = 16 << 20;
/// Bytes of one resource.
const LARGEST: u64 = POOL / 2;
/// Bytes that a device counts at least.
const DEVICE: u64 = 40;
/// Bytes of an entry of a container, without its names, devices and answer.
const ENTRY: u64 = 512;

/// The most devices that a plugin lists: a list of the kubelet's 4 MiB has no more, of 42 bytes each.
pub const MAX_DEVICES: usize = 100_000;
/// The most resources: more than 80 times those of the largest node that is known. Their own parts are reserved.
pub const MAX_RESOURCES: usize = 1000;

/// Why there is no room.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum OverBudget {
    /// More devices than [`MAX_DEVICES`].
    #[error("{0} devices, more than {MAX_DEVICES}")]
    Devices(usize),
    /// More than one resource may take.
    #[error("{0} bytes, more than the {LARGEST} of one resource")]
    Resource(u64),
    /// More than is left beside the others.
    #[error("{needed} bytes, and {left} are left beside other resources")]
    Pool {
        /// How many it would be.
        needed: u64,
        /// How many it may be.
        left: u64,
    },
}

/// What the resources take of one kind: lists, or answers. In bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Budget(BTreeMap<ResourceName, u64>);

impl Budget {
    /// Takes so much for a resource, instead of what it has.
    ///
    /// # Errors
    /// There is no room; then nothing is changed.
    pub fn set(&mut self, resource: &ResourceName, bytes: u64) -> Result<(), OverBudget> {
        if bytes > LARGEST {
            return Err(OverBudget::Resource(bytes));
        }
        let others = self.0.iter().filter(|(name, _)| *name != resource);
        let taken: u64 = others.map(|(_, bytes)| bytes.saturating_sub(OWN)).sum();
        let left = OWN + POOL.saturating_sub(taken) / 2;
        if bytes > left && bytes > self.of(resource) {
            return Err(OverBudget::Pool { needed: bytes, left });
        }
        self.0.insert(resource.clone(), bytes);
        Ok(())
    }

    /// Adds what is there already, be it too much.
    pub fn count(&mut self, resource: &ResourceName, bytes: u64) {
        let all = self.0.entry(resource.clone()).or_default();
        *all = all.saturating_add(bytes);
    }

    /// What a resource takes.
    #[must_use]
    pub fn of(&self, resource: &ResourceName) -> u64 {
        self.0.get(resource).copied().unwrap_or_default()
    }

    /// Nothing is taken for a resource any more.
    pub fn free(&mut self, resource: &ResourceName) {
        self.0.remove(resource);
    }
}

/// What a list of devices takes, in bytes.
///
/// # Errors
/// More than [`MAX_DEVICES`].
pub fn size_of_list(devices: &[Device]) -> Result<u64, OverBudget> {
    if devices.len() > MAX_DEVICES {
        return Err(OverBudget::Devices(devices.len()));
    }
    let size = |device: &Device| {
        let health = match &device.health {
            Health::Healthy => 0,
            Health::Unhealthy(word) => word.len() as u64,
        };
        let nodes = 8 * device.topology.ids().len() as u64;
        (quoted(device.id.as_str()) + nodes + health).max(DEVICE)
    };
    Ok(devices.iter().map(size).sum())
}

/// What a container's devices and the answer of their plugin take, in bytes.
#[must_use]
pub fn size_of_answer<'a>(devices: impl IntoIterator<Item = &'a str>, answer: &[u8]) -> u64 {
    // Bytes are written as base64.
    let answer = (answer.len() as u64).div_ceil(3) * 4;
    ENTRY + answer + devices.into_iter().map(quoted).sum::<u64>()
}

/// See [`size_of_answer`].
#[must_use]
pub fn size_of_answer_to(devices: &DeviceIds, answer: &[u8]) -> u64 {
    size_of_answer(devices.iter().map(crate::DeviceId::as_str), answer)
}

/// A text in JSON, with its quotes and a comma.
fn quoted(text: &str) -> u64 {
    let size = |c: char| match c {
        '"' | '\\' => 2,
        '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => 6,
        _ => c.len_utf8() as u64,
    };
    3 + text.chars().map(size).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn greedy_resources_leave_room_for_others() {
        let mut budget = Budget::default();
        let name = |at: u64| ResourceName::new(&format!("vendor.io/r{at}"));
        assert_eq!(budget.set(&name(0), LARGEST + 1), Err(OverBudget::Resource(LARGEST + 1)));
        for at in 0..MAX_RESOURCES as u64 {
            let _ = budget.set(&name(at), LARGEST);
            let is_small = budget.of(&name(at)) > 0 || budget.set(&name(at), OWN).is_ok();
            assert!(is_small, "there is room for {at}");
        }
        let all: u64 = budget.0.values().sum();
        assert!(all <= POOL + OWN * MAX_RESOURCES as u64, "{all}");
        budget.free(&name(0));
        assert_eq!(budget.set(&name(5), LARGEST), Ok(()), "what is freed can be taken");
    }

    #[test]
    fn whoever_comes_later_finds_half_of_the_rest() {
        let mut budget = Budget::default();
        let name = |at: u64| ResourceName::new(&format!("vendor.io/r{at}"));
        for at in 0..10 {
            let mut bytes = LARGEST;
            while budget.set(&name(at), bytes).is_err() {
                bytes -= 1 << 10;
            }
            assert!(bytes >= (POOL >> (at + 1)) - (1 << 10), "{at} finds {bytes} bytes");
        }
        // The first lists again what it has, and no more than that.
        assert_eq!(budget.set(&name(0), LARGEST), Ok(()));
        assert_eq!(budget.set(&name(0), LARGEST - 1), Ok(()));
        assert!(matches!(budget.set(&name(0), LARGEST), Err(OverBudget::Pool { .. })));
    }

    #[test]
    fn both_kinds_fit_into_the_largest_state_file() {
        const FILE: u64 = 64 << 20;
        const LONGEST_NAME: u64 = 317;
        let own = (OWN + LONGEST_NAME + 8) * MAX_RESOURCES as u64;
        assert!(2 * (POOL + own) < FILE);
    }

    #[test]
    fn lists_are_measured_as_they_are_written() {
        let rows = [("gpu-0", 40), ("a-device-with-a-name-of-forty-characters-", 44), ("\u{1}<\u{2028}", 40)];
        for (id, size) in rows {
            assert_eq!(size_of_list(&[Device::new(id, &[])]), Ok(size), "{id:?}");
        }
        assert_eq!(size_of_list(&[Device::new(&"<".repeat(10), &[])]), Ok(63));
        let many: Vec<Device> = (0..=MAX_DEVICES).map(|_| Device::new("", &[])).collect();
        assert_eq!(size_of_list(&many), Err(OverBudget::Devices(MAX_DEVICES + 1)));
    }
}
