//! Sets of devices, small ones without allocation: most containers hold one device of a resource.

use core::cmp::Ordering;
use core::ops::SubAssign;

use smallvec::SmallVec;

use crate::device::DeviceId;

/// Device names in byte order, each once.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DeviceIds(SmallVec<[DeviceId; 1]>);

impl DeviceIds {
    /// No device.
    #[must_use]
    pub const fn new() -> Self {
        Self(SmallVec::new_const())
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The devices in byte order.
    pub fn iter(&self) -> core::slice::Iter<'_, DeviceId> {
        self.0.iter()
    }

    /// Whether the device is among them.
    #[must_use]
    pub fn contains(&self, id: &DeviceId) -> bool {
        self.0.binary_search(id).is_ok()
    }

    /// Adds a device; whether it was missing before.
    pub fn insert(&mut self, id: DeviceId) -> bool {
        let place = self.0.binary_search(&id);
        if let Err(at) = place {
            self.0.insert(at, id);
        }
        place.is_err()
    }

    /// Takes a device out; whether it was there before.
    pub fn remove(&mut self, id: &DeviceId) -> bool {
        let place = self.0.binary_search(id);
        if let Ok(at) = place {
            self.0.remove(at);
        }
        place.is_ok()
    }

    /// Whether all of them are among `others`.
    #[must_use]
    pub fn is_subset(&self, others: &Self) -> bool {
        self.iter().all(|id| others.contains(id))
    }

    /// To ask, of devices in byte order, whether each is among them.
    pub(crate) fn walk(&self) -> Walk<'_> {
        Walk { rest: &self.0 }
    }

    fn sort(&mut self) {
        if !self.0.is_sorted_by(|a, b| a < b) {
            self.0.sort_unstable();
            self.0.dedup();
        }
    }
}

/// One walk through two lists that ascend.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk<'a> {
    /// Those that have not been passed.
    rest: &'a [DeviceId],
}

impl Walk<'_> {
    /// Whether `id`, which is not before the last one asked for, is in the set.
    pub(crate) fn contains(&mut self, id: &DeviceId) -> bool {
        while let Some((next, rest)) = self.rest.split_first() {
            match next.cmp(id) {
                Ordering::Less => self.rest = rest,
                Ordering::Equal => return true,
                Ordering::Greater => return false,
            }
        }
        false
    }
}

impl Extend<DeviceId> for DeviceIds {
    fn extend<I: IntoIterator<Item = DeviceId>>(&mut self, ids: I) {
        let before = self.0.len();
        self.0.extend(ids);
        let new = self.0.len() - before;
        if new.saturating_mul(16) > before {
            return self.sort();
        }
        // A few among many.
        let new: SmallVec<[DeviceId; 1]> = self.0.drain(before..).collect();
        for id in new {
            self.insert(id);
        }
    }
}

impl FromIterator<DeviceId> for DeviceIds {
    fn from_iter<I: IntoIterator<Item = DeviceId>>(ids: I) -> Self {
        let mut all = Self(ids.into_iter().collect());
        all.sort();
        all
    }
}

impl<const N: usize> From<[DeviceId; N]> for DeviceIds {
    fn from(ids: [DeviceId; N]) -> Self {
        ids.into_iter().collect()
    }
}

impl SubAssign<&Self> for DeviceIds {
    fn sub_assign(&mut self, others: &Self) {
        if let [id] = others.0.as_slice() {
            self.remove(id);
        } else {
            self.0.retain(|id| !others.contains(id));
        }
    }
}

impl IntoIterator for DeviceIds {
    type Item = DeviceId;
    type IntoIter = smallvec::IntoIter<[DeviceId; 1]>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a DeviceIds {
    type Item = &'a DeviceId;
    type IntoIter = core::slice::Iter<'a, DeviceId>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use alloc::collections::BTreeSet;
    use alloc::format;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    /// Names in any order, some of them twice.
    fn names() -> impl Strategy<Value = Vec<DeviceId>> {
        proptest::collection::vec((0..12_u8).prop_map(|at| DeviceId::new(&format!("gpu-{at}"))), 0..12)
    }

    proptest! {
        #[test]
        fn they_are_a_sorted_set(first in names(), second in names(), one in names()) {
            let mut ids: DeviceIds = first.iter().cloned().collect();
            let mut plain: BTreeSet<DeviceId> = first.into_iter().collect();
            let other: DeviceIds = second.iter().cloned().collect();
            prop_assert_eq!(other.is_subset(&ids), second.iter().all(|id| plain.contains(id)));
            ids.extend(second.iter().cloned());
            plain.extend(second);
            prop_assert!(ids.iter().eq(&plain));
            let mut walk = other.walk();
            prop_assert!(ids.iter().all(|id| walk.contains(id) == other.contains(id)));
            for id in one {
                prop_assert_eq!(ids.contains(&id), plain.contains(&id));
                prop_assert_eq!(ids.remove(&id), plain.remove(&id));
                prop_assert_eq!(ids.insert(id.clone()), plain.insert(id.clone()));
                ids.remove(&id);
                plain.remove(&id);
            }
            ids -= &other;
            plain.retain(|id| !other.contains(id));
            prop_assert!(ids.iter().eq(&plain));
        }
    }
}
