//! Devices of pools as the search has them.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use dra_model::{CounterConsumption, Feature, NodePool, PoolDevices, PoolState};

use super::Prepared;
use super::counters::Counters;
use super::placed::Placed;
use crate::capacity::billionths;
use crate::search::{Device, Groups, Held, Sharing};

impl<'a> Prepared<'a> {
    pub(crate) fn add_pools(&mut self, pools: &[NodePool<'a>]) {
        for pool in pools {
            let PoolState::Complete(pool) = &pool.state else { continue };
            let counters = Counters::of(pool.counter_sets.values().copied());
            let here = self.problem.pools.len();
            let mut available = counters.values.clone();
            for placed in all(pool) {
                if self.state.is_allocated(&placed.id()) {
                    for draw in counters.draws(placed.device) {
                        available[draw.counter] -= draw.amount;
                    }
                }
            }
            let groups = self.add_groups(pool);
            for (slice, device) in pool.devices() {
                let placed = Placed { slice, device };
                let device = self.device(&placed, here, &counters, &groups);
                self.problem.devices.push(device);
                self.devices.push(placed);
            }
            self.problem.pools.push(crate::search::Pool { available });
        }
    }

    /// The places of the pool's counter sets in the states of compatibility groups, with the names of groups numbered.
    fn add_groups(&mut self, pool: &PoolDevices<'a>) -> GroupPlaces<'a> {
        let mut places = GroupPlaces::default();
        if !self.has(Feature::DeviceCompatibilityGroups) {
            return places;
        }
        for placed in all(pool) {
            for consumption in &placed.device.consumes {
                let next = self.problem.group_states.len();
                let place = *places.sets.entry(consumption.set.as_str()).or_insert(next);
                if place == next {
                    self.problem.group_states.push(Groups::default());
                }
                let groups = places.numbers(consumption);
                if self.state.is_allocated(&placed.id()) {
                    let state = &mut self.problem.group_states[place];
                    *state = state.with(&groups);
                }
            }
        }
        places
    }

    fn device(
        &self,
        placed: &Placed<'a>,
        pool: usize,
        counters: &Counters,
        groups: &GroupPlaces<'a>,
    ) -> Device {
        let id = placed.id();
        let held = if self.state.is_whole(&id) { Held::Allocated } else { Held::Free };
        let sharing = if self.shares_devices() && placed.device.is_shareable() {
            Sharing::Shared { in_use: self.state.has_shares(&id), room: self.room(placed) }
        } else {
            Sharing::Alone
        };
        let mut known = groups.clone();
        let groups = placed.device.consumes.iter().filter_map(|consumption| {
            Some((*known.sets.get(consumption.set.as_str())?, known.numbers(consumption)))
        });
        let groups: Vec<_> = groups.collect();
        Device { pool, held, sharing, draws: counters.draws(placed.device), groups }
    }

    /// What is left of each capacity.
    pub(crate) fn room(&self, placed: &Placed<'a>) -> Vec<i128> {
        let id = placed.id();
        let capacities = placed.device.capacity.iter();
        capacities
            .map(|(name, capacity)| billionths(&capacity.value) - self.state.consumed(&id, name))
            .collect()
    }
}

/// The devices of a pool, on this node and on others.
fn all<'p, 'a>(pool: &'p PoolDevices<'a>) -> impl Iterator<Item = Placed<'a>> + 'p {
    let slices = pool.slices.iter().chain(&pool.elsewhere);
    slices.flat_map(|&slice| slice.devices().iter().map(move |device| Placed { slice, device }))
}

/// Counter sets with compatibility groups.
#[derive(Clone, Debug, Default)]
struct GroupPlaces<'a> {
    sets: BTreeMap<&'a str, usize>,
    names: BTreeMap<String, u32>,
}

impl GroupPlaces<'_> {
    fn numbers(&mut self, consumption: &CounterConsumption) -> Vec<u32> {
        let mut numbers = vec![];
        for name in &consumption.compatibility_groups {
            let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
            numbers.push(*self.names.entry(name.clone()).or_insert(next));
        }
        numbers.sort_unstable();
        numbers
    }
}
