//! The counters of a pool, numbered.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use dra_model::{CounterName, CounterSet, CounterSetName, Device};

use crate::capacity::billionths;
use crate::search::Draw;

#[derive(Debug, Default)]
pub(crate) struct Counters {
    places: BTreeMap<(CounterSetName, CounterName), usize>,
    /// What each counter has in all.
    pub(crate) values: Vec<i128>,
}

impl Counters {
    pub(crate) fn of<'a>(sets: impl IntoIterator<Item = &'a CounterSet>) -> Self {
        let mut counters = Self::default();
        for set in sets {
            for (name, value) in &set.counters {
                counters.places.insert((set.name.clone(), name.clone()), counters.values.len());
                counters.values.push(billionths(value));
            }
        }
        counters
    }

    /// What a device draws. One that names a set and no counter of it draws nothing, but has all counters looked at.
    pub(crate) fn draws(&self, device: &Device) -> Vec<Draw> {
        let mut draws = Vec::new();
        for consumption in &device.consumes {
            for (name, amount) in &consumption.counters {
                let key = (consumption.set.clone(), name.clone());
                if let Some(&counter) = self.places.get(&key) {
                    draws.push(Draw { counter, amount: billionths(amount) });
                }
            }
        }
        if draws.is_empty() && !device.consumes.is_empty() && !self.values.is_empty() {
            draws.push(Draw { counter: 0, amount: 0 });
        }
        draws
    }
}
