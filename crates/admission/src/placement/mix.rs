//! The mix: for which units a node keeps room. It is given, or it is what the units on the node hold of what has a place, and
//! who could come for its devices.
//!
//! The latter is read off the holdings and not off the pods, so a [lean ledger](Ledger::lean) and one that was restored have
//! the same.

use alloc::vec::Vec;

use memory_manager::Block;
use node_config::{MixUnit, Scope};
use pod_spec::{ContainerName, PodUid};

use crate::ledger::Ledger;
use crate::placement::rows::{Amounts, Rows};

/// How often each kind of unit is there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Mix {
    kinds: Vec<(Amounts, u32)>,
}

impl Mix {
    /// The mix that a configuration gives; what no row is of has no place.
    pub(crate) fn given(rows: &Rows, units: &[MixUnit]) -> Self {
        let mut mix = Self::default();
        for MixUnit { count, requests } in units {
            let mut unit = rows.nothing();
            for (resource, amount) in requests {
                if let Some(cell) = rows.position(resource).and_then(|row| unit.get_mut(row)) {
                    *cell = u64::try_from(amount.value()).unwrap_or(0);
                }
            }
            mix.add(&unit, *count);
        }
        mix
    }

    /// Kinds in their order, each with how often it is there.
    pub(crate) const fn of(kinds: Vec<(Amounts, u32)>) -> Self {
        Self { kinds }
    }

    /// What each unit of the ledger holds: each container, or under scope `pod` all of a pod together. Pods that hold CPUs or
    /// memory as a whole are one unit in any case.
    pub(crate) fn held(rows: &Rows, ledger: &Ledger, scope: Scope) -> Self {
        let lists = Holdings::new(ledger, scope).lists(rows);
        // Each list is in the order of its units, so that units are put together as lists are merged.
        let mut heads = lists.each_ref().map(Vec::as_slice);
        let mut mix = Self::default();
        let mut amounts = rows.nothing();
        while let Some(unit) = heads.iter().filter_map(|head| head.first()).map(|part| part.unit).min() {
            amounts.fill(0);
            for head in &mut heads {
                while let Some((part, rest)) = head.split_first().filter(|(part, _)| part.unit == unit) {
                    if let Some(cell) = amounts.get_mut(part.row) {
                        *cell = cell.saturating_add(part.amount);
                    }
                    *head = rest;
                }
            }
            mix.add(&amounts, 1);
        }
        // In an order that does not depend on names.
        mix.kinds.sort_unstable();
        mix
    }

    /// Adds units of a kind; one that has no place counts nothing.
    pub(crate) fn add(&mut self, unit: &Amounts, count: u32) {
        if unit.iter().all(|amount| *amount == 0) {
            return;
        }
        match self.kinds.iter_mut().find(|(kind, _)| kind == unit) {
            Some((_, known)) => *known = known.saturating_add(count),
            None => self.kinds.push((unit.clone(), count)),
        }
    }

    /// The kinds, each with how often it is there.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (&Amounts, u32)> {
        self.kinds.iter().map(|(kind, count)| (kind, *count))
    }

    /// Assumed users of devices: for each resource of devices a unit of one device, with as many CPUs and as
    /// much memory as the units of the mix have on the average. Free devices are there for future pods, and a
    /// pod that is refused for lack of them is never in the mix.
    pub(crate) fn device_users(&self, rows: &Rows) -> impl Iterator<Item = Amounts> {
        let units: u128 = self.kinds.iter().map(|(_, count)| u128::from(*count)).sum();
        let mut beside = rows.nothing();
        for row in ["cpu", "memory"].iter().filter_map(|name| rows.position(name)) {
            let amount = |(kind, count): &(Amounts, u32)| {
                u128::from(kind.get(row).copied().unwrap_or(0)) * u128::from(*count)
            };
            let mean = self.kinds.iter().map(amount).sum::<u128>().div_ceil(units.max(1));
            if let Some(cell) = beside.get_mut(row) {
                *cell = u64::try_from(mean).unwrap_or(u64::MAX);
            }
        }
        let devices = rows.rows.iter().enumerate().filter(|(_, row)| row.is_device());
        devices.map(move |(row, _)| {
            let mut unit = beside.clone();
            if let Some(cell) = unit.get_mut(row) {
                *cell = 1;
            }
            unit
        })
    }
}

/// A unit: a container, or a pod as a whole.
type UnitId<'l> = (&'l PodUid, Option<&'l ContainerName>);

/// What a unit holds of one row.
struct Part<'l> {
    unit: UnitId<'l>,
    row: usize,
    amount: u64,
}

/// Who holds what.
struct Holdings<'l> {
    ledger: &'l Ledger,
    scope: Scope,
    /// Whether any pod holds CPUs or memory as a whole.
    has_whole: bool,
}

impl<'l> Holdings<'l> {
    fn new(ledger: &'l Ledger, scope: Scope) -> Self {
        let has_whole = ledger.cpus().is_some_and(|held| held.whole_pods().next().is_some())
            || ledger.memory().is_some_and(|held| held.whole_pods().next().is_some());
        Self { ledger, scope, has_whole }
    }

    /// What is held of CPUs, memory and devices; CPUs and memory of whole pods apart, which are few.
    fn lists(&self, rows: &Rows) -> [Vec<Part<'l>>; 5] {
        let mut whole_cpus = Vec::new();
        let mut whole_memory = Vec::new();
        let pods = self.ledger.pod_count();
        let mut cpus = Vec::with_capacity(pods);
        let mut memory = Vec::with_capacity(pods);
        let mut devices = Vec::with_capacity(pods);
        if let Some(held) = self.ledger.cpus() {
            let row = rows.position("cpu");
            for (pod, cpus) in held.whole_pods() {
                self.add(&mut whole_cpus, pod, None, row, cpus.len() as u64);
            }
            // Those of containers lie inside the pod's.
            for (pod, container, own) in held.iter().filter(|(pod, ..)| held.whole_pod(pod).is_none()) {
                self.add(&mut cpus, pod, Some(container), row, own.len() as u64);
            }
        }
        if let Some(held) = self.ledger.memory() {
            for (pod, blocks) in held.whole_pods() {
                self.blocks(&mut whole_memory, rows, pod, None, blocks);
            }
            for (pod, container, blocks) in held.iter().filter(|(pod, ..)| held.whole_pod(pod).is_none()) {
                self.blocks(&mut memory, rows, pod, Some(container), blocks);
            }
        }
        for (pod, container, resource, held) in self.ledger.devices().iter() {
            let row = rows.position(resource.as_str());
            self.add(&mut devices, pod, Some(container), row, held.count() as u64);
        }
        [whole_cpus, whole_memory, cpus, memory, devices]
    }

    fn blocks(
        &self,
        list: &mut Vec<Part<'l>>,
        rows: &Rows,
        pod: &'l PodUid,
        container: Option<&'l ContainerName>,
        blocks: &'l [Block],
    ) {
        for Block { resource, size, .. } in blocks {
            self.add(list, pod, container, rows.position(resource.as_str()), *size);
        }
    }

    fn add(
        &self,
        list: &mut Vec<Part<'l>>,
        pod: &'l PodUid,
        container: Option<&'l ContainerName>,
        row: Option<usize>,
        amount: u64,
    ) {
        let Some(row) = row.filter(|_| amount > 0) else { return };
        let is_alone = self.scope == Scope::Container && !(self.has_whole && self.is_whole(pod));
        list.push(Part { unit: (pod, container.filter(|_| is_alone)), row, amount });
    }

    fn is_whole(&self, pod: &PodUid) -> bool {
        self.ledger.cpus().is_some_and(|held| held.whole_pod(pod).is_some())
            || self.ledger.memory().is_some_and(|held| held.whole_pod(pod).is_some())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::placement::rows::Row;

    #[test]
    fn somebody_may_come_for_every_device() {
        let row = |name: &str| Row { name: name.into(), free: vec![1], allocatable: vec![1] };
        let rows =
            Rows { rows: ["cpu", "memory", "acme.com/card", "acme.com/gpu"].map(row).into(), nodes: 1 };
        // 3 times 2 CPUs and once 8: 3.5 on the average, rounded up.
        let mut mix = Mix::default();
        mix.add(&vec![2, 64, 0, 0], 3);
        mix.add(&vec![8, 0, 0, 1], 1);
        mix.add(&vec![0, 0, 0, 0], 5);
        let users: Vec<Amounts> = mix.device_users(&rows).collect();
        assert_eq!(users, [vec![4, 48, 1, 0], vec![4, 48, 0, 1]]);
    }
}
