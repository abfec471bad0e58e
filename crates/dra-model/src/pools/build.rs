//! A complete pool, checked and put together.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::{PoolDevices, PoolFault, PoolState, View};
use crate::{CounterSet, CounterSetName, Feature, Implementation, ResourceSlice};

impl<'a> View<'_, 'a> {
    /// The slices for a node, and if these are not all, all slices of the pool.
    pub(super) fn build(
        &self,
        mut of_node: Vec<&'a ResourceSlice>,
        all: &[&'a ResourceSlice],
    ) -> PoolState<'a> {
        if self.implementation != Implementation::Stable {
            of_node.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        }
        let others: Vec<_> = if of_node.len() < all.len() {
            all.iter()
                .copied()
                .filter(|slice| !of_node.iter().any(|own| own.metadata.name == slice.metadata.name))
                .collect()
        } else {
            Vec::new()
        };
        self.checked(of_node, others).map_or_else(PoolState::Invalid, PoolState::Complete)
    }

    fn checked(
        &self,
        of_node: Vec<&'a ResourceSlice>,
        others: Vec<&'a ResourceSlice>,
    ) -> Result<PoolDevices<'a>, PoolFault> {
        if !self.features.has(Feature::PartitionableDevices) {
            unique_devices(&of_node)?;
            return Ok(PoolDevices { slices: of_node, ..PoolDevices::default() });
        }
        let has_counters = |slice: &&ResourceSlice| !slice.shared_counters().is_empty();
        let (mut with_counters, slices): (Vec<_>, Vec<_>) = of_node.into_iter().partition(has_counters);
        let (more, elsewhere): (Vec<_>, Vec<_>) = others.into_iter().partition(has_counters);
        with_counters.extend(more);
        unique_devices(&slices)?;
        let counter_sets = counter_sets(&with_counters)?;
        known_counters(&slices, &counter_sets)?;
        known_counters(&elsewhere, &counter_sets)?;
        Ok(PoolDevices { slices, elsewhere, counter_sets })
    }
}

fn unique_devices(slices: &[&ResourceSlice]) -> Result<(), PoolFault> {
    let mut names = BTreeSet::new();
    let again = slices.iter().flat_map(|slice| slice.devices()).find(|device| !names.insert(&device.name));
    again.map_or(Ok(()), |device| Err(PoolFault::DuplicateDevice(device.name.clone())))
}

type Sets<'a> = BTreeMap<&'a CounterSetName, &'a CounterSet>;

fn counter_sets<'a>(slices: &[&'a ResourceSlice]) -> Result<Sets<'a>, PoolFault> {
    let mut sets = Sets::new();
    for set in slices.iter().flat_map(|slice| slice.shared_counters()) {
        if sets.insert(&set.name, set).is_some() {
            return Err(PoolFault::DuplicateCounterSet(set.name.clone()));
        }
    }
    Ok(sets)
}

/// Of several counters that there are not, the first by name is reported; the allocator reports any of them.
fn known_counters(slices: &[&ResourceSlice], sets: &Sets<'_>) -> Result<(), PoolFault> {
    let devices = slices.iter().flat_map(|slice| slice.devices());
    for consumption in devices.flat_map(|device| &device.consumes) {
        let set = sets.get(&consumption.set);
        let set = set.ok_or_else(|| PoolFault::NoCounterSet(consumption.set.clone()))?;
        if let Some(counter) =
            consumption.counters.keys().find(|counter| !set.counters.contains_key(*counter))
        {
            return Err(PoolFault::NoCounter { counter: counter.clone(), set: set.name.clone() });
        }
    }
    Ok(())
}
