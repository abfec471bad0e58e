//! What the cluster's claims hold.

use alloc::collections::{BTreeMap, BTreeSet};

use dra_model::{DeviceId, DeviceResult, Feature, QualifiedName};

use crate::capacity::billionths;
use crate::question::Question;

/// Devices and shares that are allocated.
#[derive(Debug, Default)]
pub(crate) struct State {
    whole: BTreeSet<DeviceId>,
    shared: BTreeSet<DeviceId>,
    consumed: BTreeMap<DeviceId, BTreeMap<QualifiedName, i128>>,
}

impl State {
    pub(crate) fn of(question: &Question<'_>) -> Self {
        let mut state = Self::default();
        let has_shares = question.features.has(Feature::ConsumableCapacity);
        let allocations = question.allocated.iter().filter_map(|claim| claim.status.allocation.as_ref());
        for result in allocations.flat_map(|allocation| &allocation.results) {
            if result.is_admin_access() {
                continue;
            }
            if has_shares && result.share.is_some() {
                state.add_share(result);
            } else {
                state.whole.insert(result.device.clone());
            }
        }
        state
    }

    fn add_share(&mut self, result: &DeviceResult) {
        self.shared.insert(result.device.clone());
        let consumed = self.consumed.entry(result.device.clone()).or_default();
        for (name, amount) in result.consumed_capacity.iter().flatten() {
            *consumed.entry(name.clone()).or_default() += billionths(amount);
        }
    }

    pub(crate) fn is_whole(&self, device: &DeviceId) -> bool {
        self.whole.contains(device)
    }

    pub(crate) fn has_shares(&self, device: &DeviceId) -> bool {
        self.shared.contains(device)
    }

    /// Whether it draws on counters already.
    pub(crate) fn is_allocated(&self, device: &DeviceId) -> bool {
        self.is_whole(device) || self.has_shares(device)
    }

    pub(crate) fn consumed(&self, device: &DeviceId, capacity: &str) -> i128 {
        self.consumed.get(device).and_then(|amounts| amounts.get(capacity)).copied().unwrap_or(0)
    }
}
